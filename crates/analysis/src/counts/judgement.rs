//! Whether a contender needs more or less work than the base case.

use basecase_model::{Experiment, StepFacts};

use super::cell::CellCount;
use crate::effect::Effect;

/// The verdict on a contender's work. It says nothing about time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkVerdict {
    /// It executes more instructions for an operation.
    More,
    /// It executes fewer.
    Less,
    /// Any difference lies within the margin.
    Same,
    /// Nothing can be said yet.
    NotEnoughData,
}

impl WorkVerdict {
    /// The words for it.
    pub fn as_str(self) -> &'static str {
        match self {
            WorkVerdict::More => "more work",
            WorkVerdict::Less => "less work",
            WorkVerdict::Same => "the same work",
            WorkVerdict::NotEnoughData => "not enough data",
        }
    }

    /// Whether it reports a change.
    pub fn is_change(self) -> bool {
        matches!(self, WorkVerdict::More | WorkVerdict::Less)
    }
}

/// The work of a contender on a step, compared with that of the base case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// The step, by number.
    pub step: usize,
    /// The contender, by number.
    pub candidate: usize,
    /// Its instructions per operation divided by the base case's.
    pub effect: Effect,
    /// What is decided.
    pub verdict: WorkVerdict,
}

/// One row per step, one entry per candidate.
pub(super) fn works(
    experiment: &Experiment,
    cells: &[Vec<CellCount<'_>>],
    margin: f64,
) -> Vec<Vec<Option<Work>>> {
    let sd = [false, true].map(|writes| pooled_sd(experiment, cells, writes));
    let row = |(step, (facts, row)): (usize, (&StepFacts, &Vec<CellCount<'_>>))| {
        let work = |candidate: usize| {
            let (base, contender) = (row.first()?, row.get(candidate).filter(|_| candidate > 0)?);
            let effect = (contender.instructions()? / base.instructions()?).ln();
            let half = sd[usize::from(facts.writes)].map(|sd| {
                let error = |cell: &CellCount<'_>| sd / (cell.windows().len() as f64).sqrt();
                2.5 * error(base).hypot(error(contender))
            });
            let verdict = match half {
                None => WorkVerdict::NotEnoughData,
                Some(half) if effect.abs() + half < margin => WorkVerdict::Same,
                Some(half) if effect - half > 0.0 => WorkVerdict::More,
                Some(half) if effect + half < 0.0 => WorkVerdict::Less,
                Some(_) => WorkVerdict::NotEnoughData,
            };
            let interval = half.map(|half| [(effect - half).exp(), (effect + half).exp()]);
            Some(Work { step, candidate, effect: Effect { ratio: effect.exp(), interval }, verdict })
        };
        (0..row.len()).map(work).collect()
    };
    experiment.steps.iter().zip(cells).enumerate().map(row).collect()
}

fn pooled_sd(experiment: &Experiment, cells: &[Vec<CellCount<'_>>], writes: bool) -> Option<f64> {
    let of_kind = experiment.steps.iter().zip(cells).filter(|(facts, _)| facts.writes == writes);
    let spreads: Vec<f64> = of_kind
        .flat_map(|(_, row)| row)
        .filter_map(CellCount::spread)
        .map(|spread| spread * spread)
        .collect();
    let mean = (!spreads.is_empty()).then(|| spreads.iter().sum::<f64>() / spreads.len() as f64)?;
    Some(mean.sqrt().max(0.0002))
}
