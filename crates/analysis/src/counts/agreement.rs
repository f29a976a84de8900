//! How a change of work and a change of time agree.

use basecase_stats::{JudgedMetric, Verdict};

use super::judgement::{Work, WorkVerdict};
use crate::effect::Effect;
use crate::results::Results;

/// A change of time is the work's if it is at most this many times as large.
const EXPLAINED: f64 = 1.5;

/// The times of a step beside its counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeChange {
    /// The contender's rate divided by the base case's.
    pub effect: Effect,
    /// The verdict on it; `None` of single runs.
    pub verdict: Option<Verdict>,
}

/// What work and time together say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Both changed alike: more work and slower, or less and faster.
    Explained,
    /// Both changed alike, and the time by much more.
    PartlyExplained,
    /// The time changed, the work did not: waiting, caches or the kernel.
    NotWork,
    /// The work changed one way, the time the other.
    Opposed,
    /// The work changed, the time did not.
    NotInTime,
    /// Neither changed.
    Unchanged,
    /// One of the two is not decided.
    Open,
}

impl Agreement {
    /// The identifier in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Agreement::Explained => "explained",
            Agreement::PartlyExplained => "partly_explained",
            Agreement::NotWork => "not_work",
            Agreement::Opposed => "opposed",
            Agreement::NotInTime => "not_in_time",
            Agreement::Unchanged => "unchanged",
            Agreement::Open => "open",
        }
    }

    /// Of work and of time as decided in rounds.
    fn of(work: &Work, time: &Effect, verdict: Verdict) -> Self {
        let more = |verdict| verdict == WorkVerdict::More;
        match (work.verdict, verdict) {
            (WorkVerdict::NotEnoughData, _) | (_, Verdict::NotEnoughData) => Agreement::Open,
            (WorkVerdict::Same, Verdict::NoChange) => Agreement::Unchanged,
            (WorkVerdict::Same, _) => Agreement::NotWork,
            (_, Verdict::NoChange) => Agreement::NotInTime,
            (work_verdict, time_verdict) if more(work_verdict) != (time_verdict == Verdict::Regression) => {
                Agreement::Opposed
            }
            _ if time.ratio.ln().abs() > EXPLAINED * work.effect.ratio.ln().abs() => {
                Agreement::PartlyExplained
            }
            _ => Agreement::Explained,
        }
    }
}

impl Results<'_> {
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
        let TimeChange { effect, verdict } = self.time_change(step, candidate)?;
        Some(Agreement::of(&self.work(step, candidate)?, &effect, verdict?))
    }
}
