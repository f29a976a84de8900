//! At which of many versions a step changed.

mod calibration;
mod confirmation;
mod divisive;
mod segmentation;
mod welch;

pub use calibration::calibrated_penalty;
pub use confirmation::change_points;
pub use divisive::divisive_change_points;
pub use segmentation::usual_penalty;

use crate::interval::Interval;

/// One step over many versions, each measured in a few rounds against an anchor version in the same round.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// The versions in their order; of each, the effects of its rounds: logarithms of its ratio to the anchor.
    pub versions: Vec<Vec<f64>>,
    /// The smallest effect that matters, as a logarithm. Changes of less than half of it are not told.
    pub margin: f64,
}

/// A change between two versions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The place, from 0, of the first version with the new level.
    pub version: usize,
    /// The new level less the one before: the logarithm of a ratio, above 0 where it became better.
    pub magnitude: f64,
    /// Its interval, at the rate of false discoveries as error.
    pub interval: Interval,
    /// The p-value of Welch's test between the rounds of both levels.
    pub p: f64,
    /// The same, adjusted for the number of changes that were looked at.
    pub adjusted_p: f64,
}

impl Change {
    /// A change with its test, not adjusted yet. Without a test it has the p-value 1.
    fn new(version: usize, welch: Option<welch::Welch>, alpha: f64) -> Self {
        let p = welch.map_or(1.0, |welch| welch.p_value());
        Change {
            version,
            magnitude: welch.map_or(0.0, |welch| welch.difference),
            interval: welch.map_or(Interval::ALL, |welch| welch.interval(alpha)),
            p,
            adjusted_p: p,
        }
    }
}
