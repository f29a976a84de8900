//! The sessions of all rounds, one by one.

use basecase_model::{SessionRecord, Trial};

use crate::results::Results;

/// A session of a candidate on a step.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredSession<'a> {
    /// Its round, from 0.
    pub round: u32,
    /// What is known about it.
    pub record: &'a SessionRecord,
    /// The geometric mean of the rates of its slices, operations per second; `None` if it did nothing in one.
    pub rate: Option<f64>,
}

impl<'a> Results<'a> {
    /// The sessions of a candidate on a step in the order of the rounds; none if they were not told apart.
    pub fn measured_sessions(&self, step: usize, candidate: usize) -> Vec<MeasuredSession<'a>> {
        let place = self.experiment.steps.get(step).zip(self.experiment.candidates.get(candidate));
        let (Some(rounds), Some((step, candidate))) = (self.rounds, place) else { return Vec::new() };
        let is_own = |trial: &Trial| trial.step == step.name && trial.candidate == candidate.name.0;
        let own = rounds.pooled.iter().filter(|pooled| is_own(&pooled.trial));
        let of_trial = |trial: &'a Trial| {
            let session = |record: &'a SessionRecord| MeasuredSession {
                round: trial.place.round,
                record,
                rate: rate(trial, record),
            };
            trial.sessions.iter().map(session)
        };
        own.flat_map(|pooled| pooled.rounds.iter().copied()).flat_map(of_trial).collect()
    }
}

fn rate(trial: &Trial, record: &SessionRecord) -> Option<f64> {
    let slices = trial.slices.iter().filter(|slice| record.has_pass(slice.pass));
    let logarithms: Vec<f64> = slices.map(|slice| slice.rate.ln()).collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    Some(mean.exp()).filter(|rate| rate.is_finite() && *rate > 0.0)
}
