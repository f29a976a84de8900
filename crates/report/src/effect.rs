//! How far a contender is from the base case, in the words and digits of a reader.

use basecase_stats::{Decision, Estimate, Interval, Metric, RunNoise, Suite};

/// A rate or a cost divided by that of the base case, with the ratios that the rounds do not contradict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effect {
    /// Above 1 is more than the base case's.
    pub(crate) ratio: f64,
    /// The smallest and the largest ratio; absent where there are too few rounds, or none tells it.
    pub(crate) interval: Option<[f64; 2]>,
}

/// What stands in the place of an interval that is not known.
pub(crate) const UNKNOWN: &str = "(?)";

impl Effect {
    /// Of logarithms, which are above 0 where the contender is better: of a cost less is.
    fn of(metric: Metric, effect: f64, interval: Option<Interval>) -> Effect {
        let ends = interval.map(|Interval { lower, upper }| [lower, upper]);
        match metric {
            Metric::Throughput => {
                Effect { ratio: effect.exp(), interval: ends.map(|ends| ends.map(f64::exp)) }
            }
            Metric::ServerCpu => Effect {
                ratio: (-effect).exp(),
                interval: ends.map(|[lower, upper]| [(-upper).exp(), (-lower).exp()]),
            },
        }
    }

    /// What a decision says; `None` without a round.
    pub(crate) fn of_decision(metric: Metric, decision: &Decision) -> Option<Effect> {
        Some(Effect::of(metric, decision.estimate?, decision.interval))
    }

    /// Of logarithms of a ratio that is more where they are larger, as of a cost.
    pub(crate) fn of_estimate(estimate: Estimate) -> Effect {
        Effect::of(Metric::Throughput, estimate.effect, estimate.interval)
    }

    /// A ratio of two single runs that differ by luck as well.
    pub(crate) fn of_single_runs(ratio: f64, noise: RunNoise) -> Effect {
        Effect { ratio, ..Effect::of(Metric::Throughput, ratio.ln(), Some(noise.interval(ratio.ln()))) }
    }

    /// The geometric mean ratio of a suite; `None` without a round that all its steps have.
    pub(crate) fn of_suite(metric: Metric, suite: &Suite) -> Option<Effect> {
        Some(Effect::of(metric, suite.effect?, suite.interval))
    }

    /// The same against another base case, to which this one's base case is as `other`. The errors of independent ratios add as squares of
    /// their logarithms.
    pub(crate) fn times(&self, other: Effect) -> Effect {
        let ratio = self.ratio * other.ratio;
        let ends = self.interval.zip(other.interval).map(|(own, others)| {
            let error = |end: usize| (own[end] / self.ratio).ln().hypot((others[end] / other.ratio).ln());
            [ratio * (-error(0)).exp(), ratio * error(1).exp()]
        });
        Effect { ratio, interval: ends }
    }

    /// The base case's rate divided by this one.
    pub(crate) fn inverse(&self) -> Effect {
        let interval = self.interval.map(|[lower, upper]| [upper.recip(), lower.recip()]);
        Effect { ratio: self.ratio.recip(), interval }
    }

    /// E.g. `0.76`, with as many digits as its interval allows.
    pub(crate) fn ratio_text(&self) -> String {
        format!("{:.*}", self.ratio_digits(), self.ratio)
    }

    /// E.g. `(0.74–0.78)`.
    pub(crate) fn ratio_interval(&self) -> String {
        let digits = self.ratio_digits();
        let text = |[low, high]: [f64; 2]| format!("({low:.digits$}–{high:.digits$})");
        self.interval.map_or_else(|| UNKNOWN.to_owned(), text)
    }

    /// E.g. `0.76 (0.74–0.78)`.
    pub(crate) fn ratio_line(&self) -> String {
        format!("{} {}", self.ratio_text(), self.ratio_interval())
    }

    /// The difference in per cent, e.g. `-24.9`.
    pub(crate) fn percent_text(&self) -> String {
        percent_text(self.ratio, self.percent_digits())
    }

    /// Its interval, e.g. `(-26.4 to -23.1)`.
    pub(crate) fn percent_interval(&self) -> String {
        let digits = self.percent_digits();
        let text = |[low, high]: [f64; 2]| {
            format!("({} to {})", percent_text(low, digits), percent_text(high, digits))
        };
        self.interval.map_or_else(|| UNKNOWN.to_owned(), text)
    }

    /// E.g. `24.9 % slower (23.1–26.4 %)`, of a change.
    pub(crate) fn difference(&self) -> String {
        let digits = self.percent_digits();
        let size = |ratio: f64| percent(ratio).abs();
        let word = if self.ratio < 1.0 { "slower" } else { "faster" };
        let interval = match self.interval {
            Some([low, high]) => {
                let (least, most) = (size(low).min(size(high)), size(low).max(size(high)));
                format!("({least:.digits$}–{most:.digits$} %)")
            }
            None => UNKNOWN.to_owned(),
        };
        format!("{:.digits$} % {word} {interval}", size(self.ratio))
    }

    fn width(&self) -> f64 {
        self.interval.map_or(f64::INFINITY, |[low, high]| high - low)
    }

    fn ratio_digits(&self) -> usize {
        if self.width() < 0.02 { 3 } else { 2 }
    }

    fn percent_digits(&self) -> usize {
        if self.width() < 0.002 { 2 } else { 1 }
    }
}

/// The difference of a ratio to 1 in per cent.
fn percent(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

/// The size in per cent of an effect that is a logarithm, e.g. `2` of a margin of ln 1.02.
pub(crate) fn percent_of_logarithm(effect: f64) -> f64 {
    percent(effect.exp())
}

/// The difference of a ratio to 1 in per cent with its sign, which nothing has that is shown as 0, e.g. `-24.9`.
pub(crate) fn percent_text(ratio: f64, digits: usize) -> String {
    let text = format!("{:+.digits$}", percent(ratio));
    if text.chars().any(|letter| ('1'..='9').contains(&letter)) { text } else { format!("{:.digits$}", 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_interval() {
        let effect = |ratio, interval| Effect { ratio, interval };
        let wide = effect(0.751, Some([0.736, 0.769]));
        assert_eq!((wide.ratio_text(), wide.ratio_interval()), ("0.75".into(), "(0.74–0.77)".into()));
        assert_eq!(
            (wide.percent_text(), wide.percent_interval()),
            ("-24.9".into(), "(-26.4 to -23.1)".into())
        );
        assert_eq!(wide.difference(), "24.9 % slower (23.1–26.4 %)");
        let narrow = effect(1.0002, Some([0.9996, 1.0007]));
        assert_eq!((narrow.ratio_text(), narrow.ratio_interval()), ("1.000".into(), "(1.000–1.001)".into()));
        assert_eq!(
            (narrow.percent_text(), narrow.percent_interval()),
            ("+0.02".into(), "(-0.04 to +0.07)".into())
        );
        let unknown = effect(1.00004, None);
        assert_eq!((unknown.ratio_interval(), unknown.percent_text()), ("(?)".into(), "0.0".into()));
    }
}
