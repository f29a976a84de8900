//! What a series says at the last interim analysis that it has reached.

use crate::interval::{Estimator, Interval};
use crate::sample::mean;

/// The smallest p-value that is told; smaller ones count as this.
pub(crate) const SMALLEST_P: f64 = 1e-8;

/// A series of effects, read by one of the sequential methods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// What the intervals of all interim analyses have in common; a contradiction where that is nothing.
    pub(crate) interval: Interval,
    /// The interval of the last interim analysis alone.
    pub(crate) last: Interval,
    /// The effect, as of the last interim analysis.
    pub(crate) estimate: f64,
    /// How both were got.
    pub(crate) estimator: Estimator,
    /// The two-sided level of the last interim analysis by itself.
    pub(crate) level: f64,
    /// The rounds of the last interim analysis.
    pub(crate) used: usize,
    /// The smallest error at which some interim analysis so far leaves 0 out.
    pub(crate) repeated_p: f64,
    /// Whether, at the last interim analysis, intervals by mean and by ranks differ in whether there is a change.
    pub(crate) contested: bool,
}

/// An effect with its interval, which holds at all interim analyses together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The effect: as of the last interim analysis, and before the first the mean.
    pub effect: f64,
    /// What the rounds do not contradict; absent of too few.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// What effects come to that were read so; `None` of no effect.
    pub(crate) fn of(effects: &[f64], reading: Option<&Reading>) -> Option<Estimate> {
        let interval = reading
            .map(|reading| if reading.interval.is_contradiction() { reading.last } else { reading.interval });
        let interval = interval.filter(|interval| interval.is_bounded());
        let so_far = (!effects.is_empty()).then(|| mean(effects));
        let effect = reading.map(|reading| reading.estimate).or(so_far)?;
        // An interval over all interim analyses may leave out the estimate of the last.
        let effect = interval.map_or(effect, |interval| effect.clamp(interval.lower, interval.upper));
        Some(Estimate { effect, interval })
    }
}
