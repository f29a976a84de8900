//! `count`: the instructions that operations take.

use anyhow::{Context, Result, bail};
use basecase_lab::{Event, Protocol};
use basecase_store::Store;

use super::experiment::request;
use super::perform::{make_folder, prepare};
use crate::Outcome;
use crate::arguments::Count;
use crate::output;
use crate::reporter::Reporter;

/// Rows of each table, unless the user says otherwise: counts do not depend on noise, and callgrind is slow.
const ROWS: u64 = 20_000;

pub(crate) fn run(arguments: &Count, reporter: &Reporter) -> Result<Outcome> {
    refuse_times(arguments)?;
    let mut compare = arguments.compare.clone();
    compare.sizes.rows.get_or_insert(ROWS);
    let mut request = request(&compare)?;
    request.protocol = Protocol::Counts;
    let places = &compare.places;
    let command = output::command_line();
    let mut store = Store::create_or_open(&places.store)?;
    let _lock = store.lock_for_run(&command)?;
    let mut observer = reporter.observer();
    let plan = prepare(&request, places, &command, observer.as_mut())?;
    for note in &plan.notes {
        observer.notice(Event::Note(note));
    }
    make_folder(&places.out)?;
    let summary = {
        let _catching = basecase_stop::catch_signals().context("cannot watch for signals")?;
        basecase_lab::count(&plan, &mut store, places.keep_data, basecase_stop::flag(), observer.as_mut())?
    };
    reporter.summary(&summary, &places.store, &places.store);
    let is_whole = !summary.interrupted && summary.failed.is_empty();
    Ok(if is_whole { Outcome::Done } else { Outcome::CouldNotRun })
}

/// Refuses options that only times have.
fn refuse_times(arguments: &Count) -> Result<()> {
    let compare = &arguments.compare;
    let given = [
        ("detect", compare.detect.is_some()),
        ("rounds", compare.rounds.is_some()),
        ("slice", compare.slice.is_some()),
        ("budget", compare.places.budget.is_some()),
        ("memory", compare.places.memory.is_some()),
        ("profile", !compare.places.profile.is_empty()),
    ];
    if let Some((word, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        bail!(
            "--{word} is for times, and basecase count takes none\nhint: leave it out, or use basecase compare with --counts for both"
        );
    }
    Ok(())
}
