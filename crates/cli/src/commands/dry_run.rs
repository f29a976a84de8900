//! `--dry-run`: prints what a run would measure instead of running it.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use basecase_analysis::{DryRun, Planned, Stored};
use basecase_lab::{Event, Phase, Request, RunOptions};
use basecase_model::Trial;
use basecase_store::Store;

use super::perform::{counted_beside, places};
use crate::Outcome;
use crate::arguments::PlaceArguments;
use crate::output;
use crate::reporter::Reporter;

/// Prints the plan of a request.
pub(crate) fn show(
    request: &Request,
    arguments: &PlaceArguments,
    options: &RunOptions,
    reporter: &Reporter,
) -> Result<Outcome> {
    let options = RunOptions { budget: arguments.budget, ..options.clone() };
    let measured = of_request(request, arguments, &options, reporter)?;
    let counted = (arguments.counts && !request.protocol.is_counts())
        .then(|| of_request(&counted_beside(request, arguments), arguments, &options, reporter))
        .transpose()?;
    output::print_answer(basecase_report::dry_run(&measured, counted.as_ref()), arguments.json)?;
    Ok(Outcome::Done)
}

fn of_request(
    request: &Request,
    arguments: &PlaceArguments,
    options: &RunOptions,
    reporter: &Reporter,
) -> Result<DryRun> {
    let command = output::command_line();
    let mut observer = reporter.observer();
    let planned = basecase_lab::outlook(request, &places(arguments)?, options, &command, &mut |words| {
        observer.notice(Event::Phase { candidate: None, phase: Phase::Prepare(words) });
    })?;
    let known = Known::of(&planned, arguments)?;
    Ok(DryRun::of(planned, &known.alike, &known.own, &known.counted))
}

/// Refuses `--dry-run` for a command each of whose experiments depends on what the one before it found.
pub(crate) fn refuse(arguments: &PlaceArguments, command: &str) -> Result<()> {
    if arguments.dry_run {
        bail!(
            "--dry-run: basecase {command} chooses what it measures by what it finds\nhint: leave it out, or see by basecase compare --dry-run what two of the candidates take"
        );
    }
    Ok(())
}

/// What a store knows of a plan.
#[derive(Default)]
struct Known {
    /// Experiments with the same work on this machine.
    alike: Vec<Stored>,
    /// Trials of the plan's cells.
    own: Vec<Trial>,
    /// Cells whose instructions are counted.
    counted: BTreeSet<String>,
}

impl Known {
    /// Reads the store, if there is one.
    fn of(planned: &Planned, arguments: &PlaceArguments) -> Result<Known> {
        if !arguments.store.exists() {
            return Ok(Known::default());
        }
        let store = Store::open_read_only(&arguments.store)?;
        let mut known = Known { own: store.trials_for_cells(&planned.cells())?, ..Known::default() };
        let cells: BTreeSet<String> = planned.cells().into_iter().collect();
        for experiment in store.experiments()? {
            let counts = store.counts(&experiment.id)?;
            let counts =
                counts.into_iter().filter(|count| count.is_complete() && cells.contains(&count.cell));
            known.counted.extend(counts.map(|count| count.cell));
            if planned.is_like(&experiment) {
                let trials = store.trials(&experiment.id)?;
                known.alike.push((experiment, trials));
            }
        }
        Ok(known)
    }
}
