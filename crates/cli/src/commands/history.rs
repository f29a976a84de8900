//! `history`: at which version a step changed.

use anyhow::Result;
use basecase_report::{Format, Options};

use super::store::load;
use crate::arguments::History;
use crate::output;

pub(crate) fn run(arguments: &History) -> Result<()> {
    let (experiment, trials) = load(&arguments.store, arguments.experiment.as_deref())?;
    let options = Options { ansi: output::may_colour(), ..Options::default() };
    let format = if arguments.json { Format::Json } else { Format::Text };
    output::print(&basecase_report::history(
        &experiment,
        &trials,
        arguments.step.as_deref(),
        format,
        &options,
    )?)
}
