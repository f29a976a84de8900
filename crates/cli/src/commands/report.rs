//! `report`: renders a store again.

use anyhow::Result;
use basecase_report::{Format, Options, kept_apart};
use basecase_store::Store;

use super::store::{known_noise, load_from};
use crate::arguments::{FormatArgument, Report};
use crate::output;

pub(crate) fn run(arguments: &Report) -> Result<()> {
    let store = Store::open_read_only(&arguments.store)?;
    let (experiment, trials) = load_from(&store, arguments.experiment.as_deref())?;
    for note in kept_apart(&experiment, &store.experiments()?) {
        output::complain(&note);
    }
    let options = Options {
        thresholds: arguments.thresholds.thresholds(),
        ansi: output::may_colour(),
        steps: arguments.full,
        percentile: arguments.percentile,
        noise: known_noise(&store, &experiment)?,
    };
    let format = match arguments.format {
        FormatArgument::Html => {
            let page = basecase_report::write_pages(&experiment, &trials, &options, &arguments.out)?;
            return output::print(&format!("{}\n", page.display()));
        }
        FormatArgument::Text => Format::Text,
        FormatArgument::Md => Format::Markdown,
        FormatArgument::Blog => Format::Blog,
        FormatArgument::Csv => Format::Csv,
        FormatArgument::Json => Format::Json,
    };
    output::print_report(&basecase_report::render(&experiment, &trials, format, &options))
}
