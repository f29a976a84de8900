//! What a series tells at the last interim analysis it has reached.

use crate::interval::{Estimator, Interval};
use crate::sample::mean;

/// The smallest p-value reported; smaller ones are rounded up to it.
pub(crate) const SMALLEST_P: f64 = 1e-8;

/// The reading of a series of effects by one of the sequential methods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// The intersection of the intervals of all interim analyses; a contradiction if it is empty.
    pub(crate) interval: Interval,
    /// The interval of the last interim analysis alone.
    pub(crate) last: Interval,
    /// The effect at the last interim analysis.
    pub(crate) estimate: f64,
    /// How both were computed.
    pub(crate) estimator: Estimator,
    /// The two-sided level of the last interim analysis on its own.
    pub(crate) level: f64,
    /// The number of rounds at the last interim analysis.
    pub(crate) used: usize,
    /// The smallest error at which some interim analysis so far excludes 0.
    pub(crate) repeated_p: f64,
    /// Whether, at the last interim analysis, the intervals by mean and by ranks disagree about a change.
    pub(crate) contested: bool,
}

/// An effect with its interval, which holds over all interim analyses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The effect at the last interim analysis; before the first, the mean.
    pub effect: f64,
    /// The effects that the rounds do not contradict; `None` with too few rounds.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// The estimate from effects and their reading; `None` without effects.
    pub(crate) fn of(effects: &[f64], reading: Option<&Reading>) -> Option<Estimate> {
        let interval = reading
            .map(|reading| if reading.interval.is_contradiction() { reading.last } else { reading.interval });
        let interval = interval.filter(|interval| interval.is_bounded());
        let so_far = (!effects.is_empty()).then(|| mean(effects));
        let effect = reading.map(|reading| reading.estimate).or(so_far)?;
        // The interval over all interim analyses may exclude the estimate of the last one.
        let effect = interval.map_or(effect, |interval| effect.clamp(interval.lower, interval.upper));
        Some(Estimate { effect, interval })
    }
}
