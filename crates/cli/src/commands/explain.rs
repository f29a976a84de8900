//! `explain`: where the time went.

use anyhow::Result;

use super::store::load;
use crate::arguments::Explain;
use crate::output;

pub(crate) fn run(arguments: &Explain) -> Result<()> {
    let (experiment, trials) = load(&arguments.store, arguments.experiment.as_deref())?;
    let thresholds = arguments.thresholds;
    let found = basecase_report::explain(&experiment, &trials, arguments.cell.as_deref(), thresholds)?;
    let text = if arguments.markdown { found.markdown() } else { found.text(output::may_colour()) };
    output::print_report(&text)
}
