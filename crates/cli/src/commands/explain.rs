//! `explain`: where the time went.

use anyhow::Result;
use basecase_store::Store;

use super::store::load_with_counts;
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
    let ((experiment, trials), counted) = load_with_counts(&store, arguments.experiment.as_deref())?;
    if let Some(node) = experiment.node.as_ref().filter(|_| experiment.schedule.is_some()) {
        output::print_message(&format!(
            "explained is node {} alone; basecase report judges all nodes",
            node.number
        ));
    }
    let (cell, thresholds) = (arguments.cell.as_deref(), arguments.thresholds);
    let found = basecase_report::explain(&experiment, &trials, cell, thresholds, &counted)?;
    let text = if arguments.markdown { found.markdown() } else { found.text(output::may_colour()) };
    output::print_report(&text)?;
    Ok(Outcome::Done)
}
