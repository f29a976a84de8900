//! `explain`: where the time went.

use anyhow::Result;
use basecase_store::Store;

use super::store::{counted, load_from};
use super::try_setting;
use crate::Outcome;
use crate::arguments::Explain;
use crate::output;
use crate::reporter::Reporter;

pub(crate) fn run(arguments: &Explain, reporter: &Reporter) -> Result<Outcome> {
    if let Some(asked) = &arguments.tried {
        return try_setting::run(arguments, asked, reporter);
    }
    let store = Store::open_read_only(&arguments.store)?;
    let (experiment, trials) = load_from(&store, arguments.experiment.as_deref())?;
    let (cell, thresholds) = (arguments.cell.as_deref(), arguments.thresholds);
    let counted = counted(&store, &experiment)?;
    let found = basecase_report::explain(&experiment, &trials, cell, thresholds, &counted)?;
    let text = if arguments.markdown { found.markdown() } else { found.text(output::may_colour()) };
    output::print_report(&text)?;
    Ok(Outcome::Done)
}
