//! `report`: renders a report from a store.

use anyhow::Result;
use basecase_analysis::fleet_of;
use basecase_report::{Options, kept_apart};
use basecase_store::Store;

use super::fleet;
use super::store::{counted, find, known_noise};
use crate::arguments::Report;
use crate::output;

pub(crate) fn run(arguments: &Report) -> Result<()> {
    let store = Store::open_read_only(&arguments.store)?;
    let experiment = find(&store, arguments.experiment.as_deref())?;
    if let Some(id) = fleet_of(&experiment).filter(|_| arguments.experiment.is_none()) {
        return fleet::report(&store, id, arguments, options(arguments));
    }
    let trials = store.trials(&experiment.id)?;
    for note in kept_apart(&experiment, &store.experiments()?) {
        output::print_message(&note);
    }
    let options = Options {
        noise: known_noise(&store, &experiment)?,
        counted: counted(&store, &experiment)?,
        ..options(arguments)
    };
    if let Some(folder) = &arguments.raw {
        let count = basecase_report::write_raw(&experiment, &trials, folder)?;
        output::print_message(&format!("{count} files in {}", folder.display()));
    }
    let written = basecase_report::write(&experiment, &trials, arguments.format, &options, &arguments.out)?;
    output::print_written(written)
}

/// What the arguments say of the report.
fn options(arguments: &Report) -> Options {
    Options {
        thresholds: arguments.thresholds,
        ansi: output::may_colour(),
        columns: output::columns(),
        steps: arguments.full,
        percentile: arguments.percentile,
        history: arguments.history.clone(),
        ..Options::default()
    }
}
