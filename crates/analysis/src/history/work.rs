//! The work of an operation over the candidates of an experiment in their order, and at which of them it changed.

use basecase_stats::{WorkCourse, WorkError, WorkPlan, WorkShift};

use crate::counts::{Causes, Counts};
use crate::effect::Effect;
use crate::results::Results;

/// The work of one step over all candidates.
pub struct WorkHistory<'a> {
    /// The step, by number.
    pub step: usize,
    /// The step's name.
    pub label: &'a str,
    /// Instructions per operation of each candidate.
    pub instructions: Vec<Option<f64>>,
    /// The work of each candidate, compared with that of the first.
    pub ratios: Vec<Option<Effect>>,
    /// Its changes, in the order of candidates.
    pub changes: Vec<WorkChange<'a>>,
    /// Neighbours of which nothing can be said yet.
    pub open: usize,
}

/// A change of work at a candidate.
pub struct WorkChange<'a> {
    /// Where it is, and what is decided.
    pub shift: WorkShift,
    /// The functions that account for it, if they are known.
    pub causes: Option<Causes<'a>>,
}

impl WorkChange<'_> {
    /// The new level divided by the one before.
    pub fn effect(&self) -> Effect {
        Effect::of_work(&self.shift.decision)
    }
}

/// The course of work on each of these steps that was counted on at least two candidates. Their changes are one family.
///
/// # Errors
/// When the margin is impossible.
pub(super) fn of_counts<'a>(
    results: &Results<'a>,
    steps: &[usize],
) -> Result<Vec<WorkHistory<'a>>, WorkError> {
    let Some(counts) = results.counts else { return Ok(Vec::new()) };
    let facts = |step: &usize| Some((*step, results.experiment.steps.get(*step)?));
    let courses = steps.iter().filter_map(facts).map(|(step, facts)| (step, counts.course(step, facts)));
    let is_counted_twice = |(_, course): &(usize, WorkCourse)| {
        course.versions.iter().filter(|windows| !windows.is_empty()).count() > 1
    };
    let (steps, courses): (Vec<usize>, Vec<WorkCourse>) = courses.filter(is_counted_twice).unzip();
    let plan = WorkPlan { margin: counts.margin, ..WorkPlan::default() };
    let history = |(step, found): (usize, basecase_stats::WorkShifts)| {
        let numbers = || results.candidates().map(|(candidate, _)| candidate);
        let ratio = |candidate| match candidate {
            0 => counts.instructions(step, 0).map(|_| Effect { ratio: 1.0, interval: None }),
            _ => counts.work(step, candidate).map(|work| Effect::of_work(&work.decision)),
        };
        WorkHistory {
            step,
            label: &results.experiment.steps[step].label,
            instructions: numbers().map(|candidate| counts.instructions(step, candidate)).collect(),
            ratios: numbers().map(ratio).collect(),
            changes: found.shifts.into_iter().map(|shift| change(counts, step, shift)).collect(),
            open: found.open,
        }
    };
    Ok(steps.into_iter().zip(plan.shifts(&courses)?).map(history).collect())
}

fn change<'a>(counts: &Counts<'a>, step: usize, shift: WorkShift) -> WorkChange<'a> {
    let causes = counts.causes_between(step, shift.before, shift.version);
    WorkChange { shift, causes }
}
