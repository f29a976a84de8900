//! What a search by work counted: the candidates of all its experiments together.

use basecase_model::{CountEngine, Experiment, OperationClass};
use basecase_stats::{WorkCourse, WorkDecision, WorkKind, WorkPlan};

use crate::counts::{Causes, CellCount, Counted, Counts};
use crate::effect::Effect;

/// What was counted of a step on the candidates of a search.
pub struct BisectedCounts<'a> {
    kind: WorkKind,
    margin: f64,
    engine: Option<CountEngine>,
    cells: Vec<Option<CellCount<'a>>>,
}

impl<'a> BisectedCounts<'a> {
    /// Nothing yet of so many candidates; `margin` is the smallest change from first to last that matters, as a logarithm.
    pub fn new(candidates: usize, margin: f64) -> Self {
        let cells = (0..candidates).map(|_| None).collect();
        BisectedCounts { kind: WorkKind::Read, margin, engine: None, cells }
    }

    /// Adds what an experiment counted on the step of this name. `numbers` are those that its candidates have in the search. What another
    /// engine counted before is left out.
    pub fn add(&mut self, step: &str, numbers: &[usize], experiment: &Experiment, counted: &'a Counted) {
        let place = experiment.steps.iter().position(|facts| facts.name == step);
        let Some((place, counts)) = place.zip(Counts::of(experiment, counted)) else { return };
        self.kind = WorkKind::of_step(experiment.steps[place].writes);
        if self.engine.replace(counts.engine).is_some_and(|before| before != counts.engine) {
            self.cells.fill(None);
        }
        for (candidate, number) in numbers.iter().enumerate() {
            if let Some((own, cell)) = self.cells.get_mut(*number).zip(counts.cell(place, candidate)) {
                *own = Some(cell.clone());
            }
        }
    }

    /// Takes what was counted of a candidate as that of another one, whose code and data are the same.
    pub fn share(&mut self, candidate: usize, other: usize) {
        let cell = self.cells.get(candidate).cloned().flatten();
        if let Some((own, cell)) = self.cells.get_mut(other).zip(cell) {
            *own = Some(cell);
        }
    }

    /// The windows of each candidate.
    pub fn course(&self) -> WorkCourse {
        let windows = |cell: &Option<CellCount<'a>>| cell.as_ref().map(CellCount::work_windows);
        let versions = self.cells.iter().map(|cell| windows(cell).unwrap_or_default()).collect();
        WorkCourse { kind: self.kind, versions }
    }

    /// The smallest change from first to last that matters, as a logarithm.
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// What was counted of a candidate; `None` if nothing was tried.
    pub fn cell(&self, candidate: usize) -> Option<&CellCount<'a>> {
        self.cells.get(candidate)?.as_ref()
    }

    /// Instructions per operation.
    pub fn instructions(&self, candidate: usize) -> Option<f64> {
        self.cell(candidate)?.instructions()
    }

    /// What one operation is.
    pub fn operation(&self) -> Option<OperationClass> {
        self.cells.iter().flatten().find_map(CellCount::operation)
    }

    /// What is decided of the work of a candidate compared with an earlier one; `None` if one of them was not counted.
    pub fn decision(&self, before: usize, candidate: usize) -> Option<WorkDecision> {
        let comparison = self.course().comparison(before, candidate);
        let plan = WorkPlan { margin: self.margin, ..WorkPlan::default() };
        let decision = plan.decide(&[comparison]).ok()?.pop()?;
        decision.effect.is_some().then_some(decision)
    }

    /// The work of a candidate divided by that of an earlier one.
    pub fn effect(&self, before: usize, candidate: usize) -> Option<Effect> {
        self.decision(before, candidate).as_ref().map(Effect::of_work)
    }

    /// The functions that account for the difference of two candidates; `None` if those of one are not known.
    pub fn causes(&self, before: usize, candidate: usize) -> Option<Causes<'a>> {
        Causes::of(self.cell(before)?, self.cell(candidate)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_another_engine_counted_before_is_compared_with_nothing() {
        let (experiment, by_callgrind) = fixture::counted();
        let mut by_hardware = by_callgrind.clone();
        by_hardware.starts.iter_mut().for_each(|start| start.engine = CountEngine::Hardware);
        let step = &experiment.steps.iter().find(|step| step.name.starts_with("point-query")).unwrap().name;
        let mut counts = BisectedCounts::new(3, by_callgrind.margin);
        counts.add(step, &[0, 2], &experiment, &by_callgrind);
        counts.add(step, &[0, 1], &experiment, &by_callgrind);
        assert!((0..3).all(|candidate| counts.cell(candidate).is_some()));
        counts.add(step, &[0, 1], &experiment, &by_hardware);
        assert!(counts.cell(2).is_none() && counts.decision(0, 2).is_none());
        assert!(counts.decision(0, 1).is_some());
    }
}
