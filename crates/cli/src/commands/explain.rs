//! `explain`: where the time went.

use anyhow::Result;
use basecase_report::{Format, Options};
use basecase_store::Store;

use super::store::find;
use crate::arguments::Explain;
use crate::output;

pub(crate) fn run(arguments: &Explain) -> Result<()> {
    let store = Store::open_read_only(&arguments.store)?;
    let experiment = find(&store, arguments.experiment.as_deref())?;
    let trials = store.trials(&experiment.id)?;
    let options = Options {
        thresholds: arguments.thresholds.thresholds(),
        ansi: output::may_colour(),
        ..Options::default()
    };
    let format = if arguments.markdown { Format::Markdown } else { Format::Text };
    output::print(&basecase_report::explain(
        &experiment,
        &trials,
        arguments.cell.as_deref(),
        format,
        &options,
    )?)
}
