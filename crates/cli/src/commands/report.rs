//! `report`: renders a report from a store.

use anyhow::Result;
use basecase_report::{Options, Written, kept_apart};
use basecase_store::Store;

use super::store::{counted, known_noise, load_from};
use crate::arguments::Report;
use crate::output;

pub(crate) fn run(arguments: &Report) -> Result<()> {
    let store = Store::open_read_only(&arguments.store)?;
    let (experiment, trials) = load_from(&store, arguments.experiment.as_deref())?;
    for note in kept_apart(&experiment, &store.experiments()?) {
        output::print_message(&note);
    }
    let options = Options {
        thresholds: arguments.thresholds,
        ansi: output::may_colour(),
        columns: output::columns(),
        steps: arguments.full,
        percentile: arguments.percentile,
        noise: known_noise(&store, &experiment)?,
        counted: counted(&store, &experiment)?,
        history: arguments.history.clone(),
    };
    if let Some(folder) = &arguments.raw {
        let count = basecase_report::write_raw(&experiment, &trials, folder)?;
        output::print_message(&format!("{count} files in {}", folder.display()));
    }
    match basecase_report::write(&experiment, &trials, arguments.format, &options, &arguments.out)? {
        Written::Text(text) => output::print_report(&text),
        Written::Export(export) => output::print_export(&export),
        Written::Page(page) => output::print(&format!("{}\n", page.display())),
    }
}
