//! Whether a change that was found holds: its two commits again, compiled anew.

use std::collections::BTreeSet;

use basecase_stats::{Decision, JudgedMetric, Verdict};

use super::BisectedCounts;
use crate::effect::Effect;

/// What became of a change when it was confirmed.
#[derive(Default)]
pub struct Confirmation<'a> {
    /// The files that the commit changes.
    pub files: Vec<String>,
    /// The functions whose instructions changed and in which the commit changes lines.
    pub touched: BTreeSet<String>,
    /// What both commits counted, as the candidates 0 and 1.
    pub work: Option<BisectedCounts<'a>>,
    /// What rounds of both say.
    pub time: Option<ConfirmedTime>,
    /// What the end of the range is like without the commit.
    pub reversal: Option<Reversal>,
}

/// What rounds of both commits say.
pub struct ConfirmedTime {
    /// The decision on throughput.
    pub decision: Decision,
    /// How long one round takes, seconds.
    pub round_s: Option<f64>,
}

impl ConfirmedTime {
    /// Throughput of the commit, divided by that of the one before.
    pub fn effect(&self) -> Option<Effect> {
        Effect::of_decision(JudgedMetric::Throughput, &self.decision)
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.decision.verdict
    }
}

/// What the end of the range is like without the commit.
pub enum Reversal {
    /// It cannot be taken back there alone: why.
    Impossible(String),
    /// It is taken back.
    Done {
        /// Instructions of the end of the range without it, divided by those with it.
        work: Option<Effect>,
    },
}
