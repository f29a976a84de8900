//! An experiment that is one of many in a history.

use basecase_model::{Experiment, Trial};

use crate::Stored;
use crate::counts::{Counted, Counts};
use crate::results::Results;
use crate::rounds::{RoundVerdicts, Rounds};

/// An experiment with its verdicts and its trials, but without the slices that it was judged by: those of hundreds of nights take gigabytes.
#[derive(Debug, Clone)]
pub struct JudgedExperiment {
    /// The experiment.
    pub experiment: Experiment,
    /// How much work an operation is, as far as that was counted.
    pub counted: Counted,
    trials: Vec<Trial>,
    /// `None` if it is not in rounds.
    verdicts: Option<RoundVerdicts>,
}

impl JudgedExperiment {
    /// Judges an experiment.
    pub fn of((experiment, mut trials): Stored) -> Self {
        let verdicts = RoundVerdicts::of(&experiment, &trials);
        for trial in &mut trials {
            // One stays, which tells that the trial had turns. A copy, because what is cut off a list is too short for the next one.
            trial.slices = trial.slices.first().copied().into_iter().collect();
        }
        JudgedExperiment { experiment, counted: Counted::default(), trials, verdicts }
    }

    /// Adds how much work an operation is.
    pub fn counting(self, counted: Counted) -> Self {
        JudgedExperiment { counted, ..self }
    }

    /// What its results refer to.
    pub fn basis(&self) -> Basis<'_> {
        let JudgedExperiment { experiment, trials, .. } = self;
        let rounds = self.verdicts.clone().map(|verdicts| Rounds::judged(experiment, trials, verdicts));
        Basis { judged: self, rounds, counts: Counts::of(experiment, &self.counted) }
    }
}

impl From<(Stored, Counted)> for JudgedExperiment {
    fn from((stored, counted): (Stored, Counted)) -> Self {
        JudgedExperiment::of(stored).counting(counted)
    }
}

/// What the results of a judged experiment refer to.
pub struct Basis<'a> {
    judged: &'a JudgedExperiment,
    rounds: Option<Rounds<'a>>,
    counts: Option<Counts<'a>>,
}

impl<'a> Basis<'a> {
    /// Its results.
    pub fn results(&'a self) -> Results<'a> {
        let JudgedExperiment { experiment, trials, .. } = self.judged;
        Results::of(experiment, trials, self.rounds.as_ref()).counting(self.counts.as_ref())
    }
}
