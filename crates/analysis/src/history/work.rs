//! The work of an operation over the candidates of an experiment in their order, and at which of them it changed.

use basecase_model::{Experiment, StepFacts};
use basecase_stats::{WorkCourse, WorkError, WorkKind, WorkPlan, WorkShift, WorkShifts};

use super::anchors::Anchors;
use super::version::DatedVersion;
use crate::counts::{Causes, CellCount, Counts};
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
    let (steps, courses): (Vec<usize>, Vec<WorkCourse>) =
        courses.filter(|(_, course)| is_counted_twice(course)).unzip();
    let plan = WorkPlan { margin: counts.margin, ..WorkPlan::default() };
    let history = |(step, found): (usize, WorkShifts)| {
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

fn is_counted_twice(course: &WorkCourse) -> bool {
    course.versions.iter().filter(|windows| !windows.is_empty()).count() > 1
}

/// The same of versions that several experiments have. Experiments with one base case share what was counted of it, and with that the
/// size of windows. Versions whose windows have another size executed other operations, and are passed over.
///
/// # Errors
/// When the margin is impossible.
pub(super) fn over_dates<'a>(
    experiment: &'a Experiment,
    anchors: &Anchors<'_, 'a>,
    versions: &[DatedVersion<'_, 'a>],
    steps: &[usize],
    margin: f64,
) -> Result<Vec<WorkHistory<'a>>, WorkError> {
    let dated = |step: &usize| Dated::of(*step, experiment.steps.get(*step)?, anchors, versions);
    let dated: Vec<Dated<'a>> = steps.iter().filter_map(dated).collect();
    let plan = WorkPlan { margin, ..WorkPlan::default() };
    let courses: Vec<WorkCourse> = dated.iter().map(Dated::course).collect();
    let from_base = courses
        .iter()
        .flat_map(|course| (1..course.versions.len()).map(|version| course.comparison(0, version)));
    let mut decisions = plan.decide(&from_base.collect::<Vec<_>>())?.into_iter();
    let shifts = plan.shifts(&courses)?;
    let history = |(dated, found): (Dated<'a>, WorkShifts)| {
        let base = dated.instructions(0).map(|_| Effect { ratio: 1.0, interval: None });
        let later = decisions.by_ref().take(dated.cells.len() - 1);
        let later = later.map(|decision| decision.effect.map(|_| Effect::of_work(&decision)));
        let ratios = [base].into_iter().chain(later).collect();
        let change = |shift: WorkShift| WorkChange { causes: dated.causes(&shift), shift };
        WorkHistory {
            step: dated.step,
            label: &dated.facts.label,
            instructions: (0..dated.cells.len()).map(|version| dated.instructions(version)).collect(),
            ratios,
            changes: found.shifts.into_iter().map(change).collect(),
            open: found.open,
        }
    };
    Ok(dated.into_iter().zip(shifts).map(history).collect())
}

/// What was counted on one step of versions that several experiments have, where it can be compared.
struct Dated<'a> {
    step: usize,
    facts: &'a StepFacts,
    cells: Vec<Option<&'a CellCount<'a>>>,
}

impl<'a> Dated<'a> {
    /// `None` if fewer than two versions can be compared.
    fn of(
        step: usize,
        facts: &'a StepFacts,
        anchors: &Anchors<'_, 'a>,
        versions: &[DatedVersion<'_, 'a>],
    ) -> Option<Self> {
        let counted = |version: &DatedVersion<'_, 'a>| version.counted(anchors, &facts.name);
        let size = versions.iter().flat_map(counted).find_map(CellCount::window_size)?;
        let comparable = |version: &DatedVersion<'_, 'a>| {
            version.counted(anchors, &facts.name).into_iter().find(|cell| cell.window_size() == Some(size))
        };
        let dated = Dated { step, facts, cells: versions.iter().map(comparable).collect() };
        is_counted_twice(&dated.course()).then_some(dated)
    }

    fn course(&self) -> WorkCourse {
        let windows = |cell: &Option<&CellCount<'_>>| cell.map(CellCount::work_windows).unwrap_or_default();
        WorkCourse {
            kind: WorkKind::of_step(self.facts.writes),
            versions: self.cells.iter().map(windows).collect(),
        }
    }

    fn instructions(&self, version: usize) -> Option<f64> {
        (*self.cells.get(version)?)?.instructions()
    }

    fn causes(&self, shift: &WorkShift) -> Option<Causes<'a>> {
        let cell = |version: usize| *self.cells.get(version)?;
        Causes::of(cell(shift.before)?, cell(shift.version)?)
    }
}
