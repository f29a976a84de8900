//! Latencies of contenders relative to the base case, in rounds.

use basecase_model::OperationClass;

use crate::effect::Effect;
use crate::latencies::{Clock, PERCENTILES, latencies};
use crate::results::{Measured, Results};

/// How many statements of a round must exceed a percentile: with fewer it is chance.
pub const LEAST_BEYOND: f64 = 200.0;

/// A percentile of a contender's latency divided by the base case's.
pub struct LatencyRatio {
    /// What the percentile is called, e.g. `p99`.
    pub percentile: &'static str,
    /// The mean ratio of a round with its interval; `None` if a round has too few statements beyond it.
    pub effect: Option<Effect>,
}

impl Results<'_> {
    /// Every percentile of a class by a clock; empty if there are no rounds.
    pub fn latency_ratios(
        &self,
        step: usize,
        candidate: usize,
        class: OperationClass,
        clock: Clock,
    ) -> Vec<LatencyRatio> {
        let Some(paired) = self.paired(step, candidate) else { return Vec::new() };
        let effects = paired.effects(&|measured| percentiles_ns(measured, class, clock));
        let ratio =
            |((percentile, _), effect): (&(&'static str, f64), _)| LatencyRatio { percentile, effect };
        PERCENTILES.iter().zip(effects).map(ratio).collect()
    }
}

/// The percentiles that enough statements exceed.
fn percentiles_ns(
    measured: &Measured<'_>,
    class: OperationClass,
    clock: Clock,
) -> [Option<f64>; PERCENTILES.len()] {
    let latencies = latencies(measured.trial, class);
    let histogram = latencies.as_ref().and_then(|latencies| latencies.by(clock));
    PERCENTILES.map(|(_, quantile)| {
        let histogram = histogram?;
        let beyond = histogram.count() as f64 * (1.0 - quantile);
        (beyond >= LEAST_BEYOND).then(|| histogram.quantile_ns(quantile) as f64)
    })
}

#[cfg(test)]
mod tests {
    use basecase_model::Histogram;

    use super::*;
    use crate::fixture;
    use crate::rounds::Rounds;

    #[test]
    fn percentiles_are_compared_round_by_round_where_enough_is_beyond_them() {
        let (experiment, mut trials) = fixture::in_rounds();
        let step = &experiment.steps[1];
        for trial in trials.iter_mut().filter(|trial| trial.step == step.name) {
            let is_contender = trial.candidate == experiment.candidates[1].name.0;
            // The whole round was slower by its number, which both share.
            let round_ns = 1_000_000 + 50_000 * u64::from(trial.place.round);
            let mut histogram = Histogram::new();
            for number in 0..30_000 {
                let stall = if is_contender && number % 50 == 0 { 2 } else { 1 };
                histogram.record_ns(round_ns * stall);
            }
            trial.roles.truncate(1);
            trial.roles[0].service = histogram.into();
        }
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        let ratios = results.latency_ratios(1, 1, OperationClass::Query, Clock::Service);
        let found = |number: usize| (ratios[number].percentile, ratios[number].effect);
        for (number, percentile, expected) in [(0, "p50", 1.0), (1, "p90", 1.0), (2, "p99", 2.0)] {
            let (called, effect) = found(number);
            let Effect { ratio, interval } = effect.unwrap();
            let [low, high] = interval.unwrap();
            assert_eq!(called, percentile);
            // Histograms keep three digits.
            assert!((ratio - expected).abs() < 0.01 && high - low < 0.01, "{percentile}: {effect:?}");
        }
        assert_eq!(found(3), ("p99.9", None), "30 statements are beyond it");
        assert!(results.latency_ratios(1, 0, OperationClass::Query, Clock::Service).is_empty());
    }
}
