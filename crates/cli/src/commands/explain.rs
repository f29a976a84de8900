//! `explain`: where the time went.

use anyhow::Result;
use basecase_report::{Format, Options};

use super::store::load;
use crate::arguments::Explain;
use crate::output;

pub(crate) fn run(arguments: &Explain) -> Result<()> {
    let (experiment, trials) = load(&arguments.store, arguments.experiment.as_deref())?;
    let options = Options {
        thresholds: arguments.thresholds.thresholds(),
        ansi: output::may_colour(),
        ..Options::default()
    };
    let format = if arguments.markdown { Format::Markdown } else { Format::Text };
    output::print_report(&basecase_report::explain(
        &experiment,
        &trials,
        arguments.cell.as_deref(),
        format,
        &options,
    )?)
}
