//! An experiment as it goes on: what was agreed when it began holds.

use anyhow::{Result, bail};
use basecase_model::{CalendarTime, CandidateFacts, Experiment, Schedule, StepCount};
use basecase_store::Store;

use super::RunOptions;
use crate::plan::Plan;

/// The experiment of a plan as it is run: with the margins that it was begun with, where those are kept.
///
/// # Errors
/// When it was begun with other margins or interim analyses: changing them after seeing results voids what the verdicts promise.
pub(super) fn experiment(plan: &Plan, store: &Store, options: &RunOptions) -> Result<Experiment> {
    let begun = store.experiment(&plan.experiment.id)?;
    let recalled = recalled(&plan.experiment, begun.as_ref());
    let schedule = schedule(recalled.schedule.clone(), begun.as_ref(), options)?;
    let work_margin = work_margin(begun.as_ref(), store, options)?;
    let calendar_time = calendar_time(&plan.experiment, begun.as_ref(), store, options)?;
    Ok(Experiment { schedule, work_margin, calendar_time, ..recalled })
}

/// The calendar of rounds with a budget: from the first round on, how their error is spent is fixed.
fn calendar_time(
    planned: &Experiment,
    begun: Option<&Experiment>,
    store: &Store,
    options: &RunOptions,
) -> Result<Option<CalendarTime>> {
    let before = begun.and_then(|begun| begun.calendar_time);
    let Some(budget) = options.budget.filter(|_| planned.schedule.is_some()) else { return Ok(before) };
    if before.is_some_and(|before| before.passed_seconds > 0.0) || has_rounds(planned, store)? {
        return Ok(before);
    }
    Ok(Some(CalendarTime { budget_seconds: budget.as_secs_f64().max(1.0), passed_seconds: 0.0 }))
}

/// Whether an experiment has a trial of a round already.
fn has_rounds(experiment: &Experiment, store: &Store) -> Result<bool> {
    let compared = experiment.steps.iter().filter(|step| step.is_compared());
    let compared: Vec<&str> = compared.map(|step| step.name.as_str()).collect();
    Ok(store.has_measured(&experiment.id, &compared)?)
}

/// The planned experiment with what servers reported of themselves when it was run before: one of which nothing is missing is not asked
/// again. A version that only the server knows may be another by now.
fn recalled(planned: &Experiment, before: Option<&Experiment>) -> Experiment {
    let mut experiment = planned.clone();
    for facts in &mut experiment.candidates {
        let is_same = |one: &&CandidateFacts| {
            one.name == facts.name && one.build.version == facts.build.version && !one.running.is_empty()
        };
        if let Some(same) = before.and_then(|before| before.candidates.iter().find(is_same)) {
            *facts = same.clone();
        }
    }
    experiment
}

/// How rounds are decided.
fn schedule(
    planned: Option<Schedule>,
    begun: Option<&Experiment>,
    options: &RunOptions,
) -> Result<Option<Schedule>> {
    let Some(mut schedule) = planned else { return Ok(None) };
    if options.profile.is_some() {
        bail!(
            "--profile: rounds cannot be profiled, because a profiler would disturb their slices\nhint: profile the same candidates without --detect, --rounds, --slice and --budget"
        );
    }
    let begun = begun.and_then(|experiment| experiment.schedule.as_ref());
    if let Some(begun) = begun.filter(|_| options.keeps_margins) {
        (schedule.read_margin, schedule.write_margin) = (begun.read_margin, begun.write_margin);
    }
    match begun.filter(|begun| **begun != schedule) {
        None => Ok(Some(schedule)),
        Some(begun) => bail!(
            "these rounds began with margins of {:.3} % for steps that read and {:.3} % for steps that write, and at most {} rounds; these are fixed before the first round\nhint: give the same --detect and --rounds as before, or another --store",
            begun.read_margin * 100.0,
            begun.write_margin * 100.0,
            begun.interim_analyses.last().unwrap_or(&0)
        ),
    }
}

/// The margin of work. A run that does not count leaves it as it is.
fn work_margin(begun: Option<&Experiment>, store: &Store, options: &RunOptions) -> Result<Option<f64>> {
    let begun = begun.and_then(|experiment| Some((experiment.work_margin?, &experiment.id)));
    let (wanted, margin, id) = match (options.work_margin, begun) {
        (Some(wanted), Some((margin, id))) if wanted != margin => (wanted, margin, id),
        (wanted, begun) => return Ok(wanted.or(begun.map(|(margin, _)| margin))),
    };
    if options.keeps_margins {
        return Ok(Some(margin));
    }
    if store.counts(id)?.iter().any(StepCount::is_complete) {
        bail!(
            "these counts began with a margin of {:.3} %; it is fixed before the first count\nhint: give the same --counts-detect as before, or another --store",
            margin * 100.0
        );
    }
    Ok(Some(wanted))
}
