//! Work beside time: how a change of one agrees with a change of the other.

use basecase_stats::{Agreement, JudgedMetric, Verdict};

use crate::counts::Work;
use crate::effect::Effect;
use crate::results::Results;

/// The times of a step beside its counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeChange {
    /// The contender's rate divided by the base case's.
    pub effect: Effect,
    /// The verdict on it; `None` of single runs.
    pub verdict: Option<Verdict>,
}

impl<'a> Results<'a> {
    /// Whether there are counts, and no trial at all.
    pub fn has_counts_only(&self) -> bool {
        self.counts.is_some() && self.trials.is_empty()
    }

    /// The work of a contender compared with that of the base case.
    pub fn work(&self, step: usize, candidate: usize) -> Option<&'a Work> {
        self.counts?.work(step, candidate)
    }

    /// The change in time of a contender; `None` without times.
    pub fn time_change(&self, step: usize, candidate: usize) -> Option<TimeChange> {
        if self.rounds.is_none() {
            let effect = Effect { ratio: self.relative(step, candidate)?, interval: None };
            return Some(TimeChange { effect, verdict: None });
        }
        let decision = self.judged(step, candidate)?.throughput;
        let effect = Effect::of_decision(JudgedMetric::Throughput, decision)?;
        Some(TimeChange { effect, verdict: Some(decision.verdict) })
    }

    /// How the work of a contender and its times in rounds agree; `None` unless it has both.
    pub fn agreement(&self, step: usize, candidate: usize) -> Option<Agreement> {
        let work = &self.work(step, candidate)?.decision;
        let time = self.judged(step, candidate)?.throughput;
        Some(Agreement::of((time.verdict, time.interval), (work.verdict, work.interval)))
    }
}
