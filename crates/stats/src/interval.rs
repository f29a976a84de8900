//! Intervals of an effect.

use crate::distribution::t_critical;
use crate::sample::Sample;
use crate::signed_rank::{SignedRank, of_rank};

/// A range of effects: logarithms of the ratio of contender to base, above 0 where the contender is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The smallest effect that the data do not contradict.
    pub lower: f64,
    /// The largest.
    pub upper: f64,
}

/// How effect and interval were computed from the effects of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimator {
    /// The mean with Student's t interval: below ten rounds, and in open-ended runs.
    Mean,
    /// The median of all averages of pairs, with the interval of the signed-rank test (Hodges & Lehmann 1963).
    HodgesLehmann,
}

impl Estimator {
    /// The word for it: `mean` or `Hodges-Lehmann`.
    pub fn as_str(self) -> &'static str {
        match self {
            Estimator::Mean => "mean",
            Estimator::HodgesLehmann => "Hodges-Lehmann",
        }
    }
}

impl Interval {
    /// Every effect.
    pub(crate) const ALL: Interval = Interval { lower: f64::NEG_INFINITY, upper: f64::INFINITY };

    /// The range of `half_width` on both sides of a point.
    pub(crate) fn around(point: f64, half_width: f64) -> Self {
        Interval { lower: point - half_width, upper: point + half_width }
    }

    /// Student's t interval for the mean, at a two-sided level.
    pub(crate) fn of_mean(sample: &Sample, level: f64) -> Self {
        let critical = t_critical(level, sample.freedom());
        Interval::around(sample.mean, critical * sample.standard_error())
    }

    /// The signed-rank interval from the averages of all pairs, at a two-sided level: exact for values symmetric about the effect (Hodges &
    /// Lehmann 1963). It contains every effect if there are too few values for the level.
    pub(crate) fn of_signed_ranks(averages: &mut [f64], exact: &SignedRank, level: f64) -> Self {
        exact.left_out(level).map_or(Interval::ALL, |left_out| {
            let last = averages.len() - 1;
            // Not beyond the middle, however lax the level.
            let left_out = left_out.min(last / 2);
            Interval { lower: of_rank(averages, left_out), upper: of_rank(averages, last - left_out) }
        })
    }

    /// The intersection of both ranges; if it is empty, the lower end is above the upper.
    pub(crate) fn and(self, other: Interval) -> Self {
        Interval { lower: self.lower.max(other.lower), upper: self.upper.min(other.upper) }
    }

    /// Whether the range is not empty and has two finite ends.
    pub(crate) fn is_bounded(self) -> bool {
        self.half_width() >= 0.0 && self.half_width().is_finite()
    }

    /// Whether the range is empty.
    pub(crate) fn is_contradiction(self) -> bool {
        self.lower > self.upper
    }

    /// Whether `effect` is within the range, ends included.
    pub fn contains(self, effect: f64) -> bool {
        self.lower <= effect && effect <= self.upper
    }

    /// Half of the distance between the ends.
    pub fn half_width(self) -> f64 {
        0.5 * (self.upper - self.lower)
    }

    /// The largest absolute effect in the range.
    pub fn reach(self) -> f64 {
        self.lower.abs().max(self.upper.abs())
    }
}
