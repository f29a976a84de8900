//! How a contender compares with the base case.

use basecase_stats::{Decision, Estimate, Interval, JudgedMetric, RunNoise, Suite, WorkDecision};

/// A rate or a cost divided by that of the base case, with the interval of the ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// The ratio; above 1 is more than the base case.
    pub ratio: f64,
    /// The ends of its interval; absent if there are too few rounds, or nothing tells it.
    pub interval: Option<[f64; 2]>,
}

impl Effect {
    /// From logarithms that are above 0 where the contender is better; for a cost, less is better.
    fn of(metric: JudgedMetric, effect: f64, interval: Option<Interval>) -> Effect {
        let ends = interval.map(|Interval { lower, upper }| [lower, upper]);
        match metric {
            JudgedMetric::Throughput => {
                Effect { ratio: effect.exp(), interval: ends.map(|ends| ends.map(f64::exp)) }
            }
            JudgedMetric::ServerCpu => Effect {
                ratio: (-effect).exp(),
                interval: ends.map(|[lower, upper]| [(-upper).exp(), (-lower).exp()]),
            },
        }
    }

    /// From a decision; `None` without a round.
    pub fn of_decision(metric: JudgedMetric, decision: &Decision) -> Option<Effect> {
        Some(Effect::of(metric, decision.estimate?, decision.interval))
    }

    /// Instructions per operation divided by those of the base case; above 1 is more work.
    pub fn of_work(decision: &WorkDecision) -> Effect {
        Effect::of(JudgedMetric::Throughput, decision.effect.unwrap_or(0.0), decision.interval)
    }

    /// From logarithms of a ratio that increase with it, as for a cost.
    pub fn of_estimate(estimate: Estimate) -> Effect {
        Effect::of(JudgedMetric::Throughput, estimate.effect, estimate.interval)
    }

    /// The ratio of two single runs, which also differ by chance.
    pub fn of_single_runs(ratio: f64, noise: RunNoise) -> Effect {
        Effect { ratio, ..Effect::of(JudgedMetric::Throughput, ratio.ln(), Some(noise.interval(ratio.ln()))) }
    }

    /// The geometric mean ratio of a suite; `None` without a round that all its steps have.
    pub fn of_suite(metric: JudgedMetric, suite: &Suite) -> Option<Effect> {
        Some(Effect::of(metric, suite.effect?, suite.interval))
    }

    /// The same relative to another base case, to which this one's base case is as `other`. The errors of independent ratios add as squares
    /// of their logarithms.
    pub fn times(&self, other: Effect) -> Effect {
        let ratio = self.ratio * other.ratio;
        let ends = self.interval.zip(other.interval).map(|(own, others)| {
            let error = |end: usize| (own[end] / self.ratio).ln().hypot((others[end] / other.ratio).ln());
            [ratio * (-error(0)).exp(), ratio * error(1).exp()]
        });
        Effect { ratio, interval: ends }
    }

    /// The base case's rate divided by this one.
    pub fn inverse(&self) -> Effect {
        let interval = self.interval.map(|[lower, upper]| [upper.recip(), lower.recip()]);
        Effect { ratio: self.ratio.recip(), interval }
    }
}

/// The difference of a ratio to 1 in per cent.
pub fn percent(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

/// The size in per cent of an effect given as a logarithm, e.g. `2` for a margin of ln 1.02.
pub fn percent_of_logarithm(effect: f64) -> f64 {
    percent(effect.exp())
}
