//! The verdict on a step.

use std::fmt;

use crate::interval::Interval;

/// The verdict on a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The contender is slower.
    Regression,
    /// The contender is faster.
    Improvement,
    /// Any difference lies within the margin.
    NoChange,
    /// Nothing can be said yet. This does not mean that there is no regression.
    NotEnoughData,
}

/// What a verdict leaves open or adds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Qualifier {
    /// A change: it is larger than the margin.
    Clear,
    /// A change: it is at least this large (a logarithm above 0), and may be smaller than the margin.
    AtLeast(f64),
    /// No change: there is a difference, but it is within the margin.
    TinyShift,
    /// Not enough data: by itself the step has changed, but among this many steps it may be chance.
    Suggestive,
    /// Background writers missed their rate in more than half of the rounds: the contender's alone for a regression, the base case's alone
    /// for an improvement, both for not enough data.
    MissedRate,
    /// Not enough data: it was measured with shortened times, which are for testing the program.
    ShortTiming,
}

/// What more rounds would bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// Nothing: the verdict is settled.
    Settled,
    /// Probably, after this many more rounds, a verdict, or the size of a change that has a verdict.
    MoreRounds(usize),
    /// It is a change, but so close to the margin that ten times the rounds would not tell on which side it is.
    OnTheMargin,
}

impl Verdict {
    /// The words for it: `regression`, `improvement`, `no change`, `not enough data`.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Regression => "regression",
            Verdict::Improvement => "improvement",
            Verdict::NoChange => "no change",
            Verdict::NotEnoughData => "not enough data",
        }
    }

    /// Whether it reports a change.
    pub fn is_change(self) -> bool {
        matches!(self, Verdict::Regression | Verdict::Improvement)
    }

    /// Applies the rules: `discovery` tells whether the comparison passes the family's control of false discoveries.
    pub(crate) fn of(interval: Interval, margin: f64, discovery: bool) -> (Self, Option<Qualifier>) {
        let Interval { lower, upper } = interval;
        let size = |nearest: f64| {
            Some(if nearest > margin { Qualifier::Clear } else { Qualifier::AtLeast(nearest) })
        };
        let differs = !interval.contains(0.0);
        if interval.is_contradiction() {
            (Verdict::NotEnoughData, None)
        } else if -margin < lower && upper < margin {
            (Verdict::NoChange, differs.then_some(Qualifier::TinyShift))
        } else if upper < 0.0 && discovery {
            (Verdict::Regression, size(-upper))
        } else if lower > 0.0 && discovery {
            (Verdict::Improvement, size(lower))
        } else {
            (Verdict::NotEnoughData, differs.then_some(Qualifier::Suggestive))
        }
    }

    /// Whether more rounds would not change it: the step leaves the rotation.
    pub(crate) fn is_settled(self, qualifier: Option<Qualifier>) -> bool {
        self == Verdict::NoChange || qualifier == Some(Qualifier::Clear)
    }

    /// How many rounds in total would probably lead to a verdict, or settle the size of a change, judging by the interval after `rounds`
    /// and an effect that stays as it is; `None` if the size of a change is on the margin.
    pub(crate) fn rounds_needed(
        self,
        interval: Interval,
        effect: f64,
        margin: f64,
        rounds: usize,
    ) -> Option<f64> {
        let size = effect.abs();
        // A comparison without a verdict may become a change or turn out to be none, whichever is nearer.
        let distance = if self.is_change() { (margin - size).abs() } else { size.max(margin - size) };
        let ratio = interval.half_width() / distance;
        (!self.is_change() || ratio * ratio < ON_THE_MARGIN).then_some(rounds as f64 * ratio * ratio)
    }
}

/// How many times the rounds so far may be needed before the effect counts as on the margin.
const ON_THE_MARGIN: f64 = 10.0;

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(lower: f64, upper: f64, discovery: bool) -> (Verdict, Option<Qualifier>) {
        Verdict::of(Interval { lower, upper }, 0.02, discovery)
    }

    #[test]
    fn verdicts_follow_interval_margin_and_discovery() {
        use Qualifier::{AtLeast, Clear, Suggestive, TinyShift};
        use Verdict::{Improvement, NoChange, NotEnoughData, Regression};
        assert_eq!(judged(-0.01, 0.015, false), (NoChange, None));
        assert_eq!(judged(-0.015, -0.005, true), (NoChange, Some(TinyShift)));
        assert_eq!(judged(-0.05, -0.03, true), (Regression, Some(Clear)));
        assert_eq!(judged(-0.05, -0.01, true), (Regression, Some(AtLeast(0.01))));
        assert_eq!(judged(0.03, 0.05, true), (Improvement, Some(Clear)));
        assert_eq!(judged(0.01, 0.05, true), (Improvement, Some(AtLeast(0.01))));
        assert_eq!(judged(0.01, 0.05, false), (NotEnoughData, Some(Suggestive)));
        assert_eq!(judged(-0.05, 0.01, true), (NotEnoughData, None));
        assert_eq!(judged(-0.02, 0.01, true), (NotEnoughData, None));
        assert_eq!(judged(0.02, 0.01, true), (NotEnoughData, None));
    }

    #[test]
    fn rounds_needed_grow_near_the_margin() {
        let needed = |verdict: Verdict, effect: f64| {
            verdict.rounds_needed(Interval::around(effect, 0.02), effect, 0.02, 10)
        };
        assert_eq!(needed(Verdict::NotEnoughData, 0.0), Some(10.0));
        assert!((needed(Verdict::NotEnoughData, 0.01).unwrap() - 40.0).abs() < 1e-9);
        assert!((needed(Verdict::NotEnoughData, 0.04).unwrap() - 2.5).abs() < 1e-9);
        assert_eq!(needed(Verdict::Regression, -0.021), None);
        assert_eq!(needed(Verdict::Regression, -0.019), None);
        assert!((needed(Verdict::Regression, -0.04).unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn words_are_padded_like_text() {
        assert_eq!(format!("{:>12}", Verdict::NoChange), "   no change");
    }
}
