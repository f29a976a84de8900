//! Everything known about a comparison.

use std::fmt;

use crate::interval::{Estimator, Interval};
use crate::missed_rate::MissedRate;
use crate::modes::Modes;
use crate::verdict::{Outlook, Qualifier, Verdict};

/// Everything that the rounds of one comparison tell. Effects are logarithms of the ratio of contender to base, above 0 where the contender
/// is better. Values that could not be computed are `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict leaves open or adds.
    pub qualifier: Option<Qualifier>,
    /// The effect at the last interim analysis, clamped to the interval; before the first analysis, the mean of the rounds so far.
    pub estimate: Option<f64>,
    /// How estimate and interval were computed.
    pub estimator: Estimator,
    /// The interval at the planned error over all interim analyses; if these contradict each other, that of the last one alone.
    pub interval: Option<Interval>,
    /// For a reported change: the wider interval that accounts for its selection among many (Benjamini & Yekutieli 2005).
    pub selected_interval: Option<Interval>,
    /// The two-sided level of the last interim analysis on its own.
    pub level: Option<f64>,
    /// The smallest error at which some interim analysis so far excludes 0; 1 before the first analysis, never below 1e-8.
    pub repeated_p: f64,
    /// The same, adjusted for the number of comparisons: it is a discovery if at most the false discovery rate.
    pub adjusted_p: f64,
    /// How many rounds count.
    pub rounds: usize,
    /// Further rounds that were measured but do not count.
    pub rounds_dropped: usize,
    /// Rounds in which background writers missed their rate; they are among those that do not count.
    pub missed_rate: MissedRate,
    /// How many rounds the last interim analysis used; 0 before the first.
    pub rounds_used: usize,
    /// How many rounds are merged into one because neighbours correlate: 1, 2, 4 ….
    pub rounds_merged: usize,
    /// Between-round standard deviation: of the effects of rounds, after merging.
    pub between_round_sd: Option<f64>,
    /// The part of it due to the luck of starts (τ).
    pub start_sd: Option<f64>,
    /// Standard deviation of the effects of passes within rounds.
    pub pass_sd: Option<f64>,
    /// Standard deviation of mean ln throughput over fresh starts of one candidate.
    pub run_sd: Option<f64>,
    /// The effect that this many rounds detect with a probability of 80 %.
    pub detectable: Option<f64>,
    /// The smallest effect that matters.
    pub margin: f64,
    /// The smallest margin at which the verdict would now be "no change".
    pub smallest_margin: Option<f64>,
    /// Anything odd about the data.
    pub flags: Vec<Flag>,
    /// The two modes of the base's starts, if there are two. Where sessions were told apart, their modes stand instead.
    pub base_modes: Option<Modes>,
    /// The two modes of the contender's starts, if there are two.
    pub contender_modes: Option<Modes>,
    /// Whether the step leaves the rotation: its verdict is settled, or the last interim analysis is over.
    pub leaves: bool,
    /// What more rounds would bring.
    pub outlook: Outlook,
}

impl Decision {
    /// How far the nearer end of the interval is from 0, a logarithm; 0 without an interval, or if it holds 0.
    pub fn nearest(&self) -> f64 {
        match self.interval {
            Some(Interval { lower, .. }) if lower > 0.0 => lower,
            Some(Interval { upper, .. }) if upper < 0.0 => -upper,
            _ => 0.0,
        }
    }

    /// Withdraws the verdict of a trial measured with shortened times. Whether and when it leaves the rotation stays as it was.
    pub(crate) fn withhold(&mut self) {
        self.verdict = Verdict::NotEnoughData;
        self.qualifier = Some(Qualifier::ShortTiming);
        self.selected_interval = None;
    }

    /// Where sessions were told apart, they and not starts tell of modes.
    pub(crate) fn replace_modes(&mut self, is_bimodal: bool) {
        (self.base_modes, self.contender_modes) = (None, None);
        self.flags.retain(|flag| *flag != Flag::Bimodal);
        self.flags.extend(is_bimodal.then_some(Flag::Bimodal));
    }

    /// Whether both have a verdict and the verdicts differ.
    pub(crate) fn contradicts(&self, other: &Decision) -> bool {
        let is_known = |decision: &Decision| decision.verdict != Verdict::NotEnoughData;
        is_known(self) && is_known(other) && self.verdict != other.verdict
    }
}

/// Something odd about the data. It is reported and changes no verdict; only `Unstable` comes with "not enough data".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// Intervals of different interim analyses have nothing in common.
    Unstable,
    /// Mean and ranks differ in whether there is a change.
    Contested,
    /// Neighbouring rounds correlate and count as one.
    MergedRounds,
    /// The starts of a candidate, or its sessions where they were told apart, fall into a slow and a fast group.
    Bimodal,
    /// Throughput moves within rounds by more than half of the margin.
    NotSteady,
    /// One side stalls more than the other, so means are compared instead of typical values.
    Stalls,
    /// A candidate's first slices differ from its last in another way than the other candidate's.
    OrderEffect,
    /// One side leaves more of its work for later.
    DebtShift,
    /// Background writers missed their rate in some rounds, which do not count.
    InvalidSla,
}

impl Flag {
    /// The word for it, e.g. `merged_rounds`.
    pub fn as_str(self) -> &'static str {
        match self {
            Flag::Unstable => "unstable",
            Flag::Contested => "contested",
            Flag::MergedRounds => "merged_rounds",
            Flag::Bimodal => "bimodal",
            Flag::NotSteady => "not_steady",
            Flag::Stalls => "stalls",
            Flag::OrderEffect => "order_effect",
            Flag::DebtShift => "debt_shift",
            Flag::InvalidSla => "invalid_sla",
        }
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
