//! Whether a contender needs more or less work than the base case.

use basecase_model::{Experiment, StepFacts};
use basecase_stats::{WorkComparison, WorkDecision, WorkError, WorkKind, WorkPlan, WorkVerdict};

use super::cell::CellCount;
use crate::effect::Effect;

/// The work of a contender on a step, compared with that of the base case.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// The step, by number.
    pub step: usize,
    /// The contender, by number.
    pub candidate: usize,
    /// What is decided.
    pub decision: WorkDecision,
}

impl Work {
    /// The verdict.
    pub fn verdict(&self) -> WorkVerdict {
        self.decision.verdict
    }

    /// Instructions per operation divided by the base case's; of more work above 1.
    pub fn effect(&self) -> Effect {
        Effect::of_work(&self.decision)
    }
}

/// The contenders on all steps as one family: one row per step, one entry per candidate.
///
/// # Errors
/// If the margin is impossible.
pub(super) fn works(
    experiment: &Experiment,
    cells: &[Vec<CellCount<'_>>],
    margin: f64,
) -> Result<Vec<Vec<Option<Work>>>, WorkError> {
    let (mut places, mut family) = (Vec::new(), Vec::new());
    for (step, (facts, row)) in experiment.steps.iter().zip(cells).enumerate() {
        let Some((base, contenders)) = row.split_first().filter(|(base, _)| base.is_counted()) else {
            continue;
        };
        let counted = contenders.iter().zip(1..).filter(|(contender, _)| contender.is_counted());
        for (contender, candidate) in counted {
            places.push((step, candidate));
            family.push(comparison(facts, base, contender));
        }
    }
    let decisions = WorkPlan { margin, ..WorkPlan::default() }.decide(&family)?;
    let mut works: Vec<Vec<Option<Work>>> = cells.iter().map(|row| vec![None; row.len()]).collect();
    for ((step, candidate), decision) in places.into_iter().zip(decisions) {
        works[step][candidate] = Some(Work { step, candidate, decision });
    }
    Ok(works)
}

fn comparison(facts: &StepFacts, base: &CellCount<'_>, contender: &CellCount<'_>) -> WorkComparison {
    let kind = WorkKind::of_step(facts.writes);
    WorkComparison { kind, base: base.work_windows(), contender: contender.work_windows() }
}
