//! An experiment in rounds: what all of them come to.

use basecase_model::{Experiment, Trial};

use crate::pool::{Pooled, pooled};

/// What a report knows of an experiment in rounds.
pub(crate) struct Rounds {
    /// Every step on every candidate, out of all rounds.
    pub(crate) pooled: Vec<Pooled>,
}

impl Rounds {
    /// Of an experiment and all its trials; `None` when it is not in rounds.
    pub(crate) fn of(experiment: &Experiment, trials: &[Trial]) -> Option<Rounds> {
        experiment.schedule.is_some().then(|| Rounds { pooled: pooled(experiment, trials) })
    }
}
