//! At which of many versions a step changed.

mod anchored;
mod calibration;
mod confirmation;
mod divisive;
mod segmentation;
mod welch;

pub use calibration::calibrated_penalty;
pub use confirmation::change_points;
pub use divisive::divisive_change_points;
pub use segmentation::usual_penalty;

use thiserror::Error;

use crate::comparison::is_logarithm;
use crate::interval::Interval;

/// One step over many versions, each measured in a few rounds against an anchor version in the same round.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    versions: Vec<Vec<f64>>,
    margin: f64,
}

/// Why numbers are no history.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum HistoryError {
    /// A number is not finite, or too large for a logarithm.
    #[error(
        "round {round} of version {version}: {value} is no logarithm of a throughput or a ratio\nhint: leave out runs that failed"
    )]
    NotALogarithm {
        /// Which version, from 1.
        version: usize,
        /// Which of its rounds, from 1.
        round: usize,
        /// The number.
        value: f64,
    },
    /// The margin is below 0 or no number.
    #[error("the margin is {0}, and must be 0 or more")]
    Margin(f64),
}

impl History {
    /// A history of versions in their order. Of each, the effects of its rounds: logarithms of its ratio to the anchor. Changes of
    /// less than half of the margin, a logarithm too, are not told.
    ///
    /// # Errors
    /// When a number is no logarithm or the margin is below 0.
    pub fn new(versions: Vec<Vec<f64>>, margin: f64) -> Result<Self, HistoryError> {
        if margin.is_nan() || margin < 0.0 {
            return Err(HistoryError::Margin(margin));
        }
        for (version, rounds) in versions.iter().enumerate() {
            check(rounds, version + 1)?;
        }
        Ok(History { versions, margin })
    }

    /// How many versions there are.
    pub fn versions(&self) -> usize {
        self.versions.len()
    }
}

/// Refuses what is no logarithm.
fn check(rounds: &[f64], version: usize) -> Result<(), HistoryError> {
    match rounds.iter().enumerate().find(|(_, value)| !is_logarithm(**value)) {
        Some((round, value)) => Err(HistoryError::NotALogarithm { version, round: round + 1, value: *value }),
        None => Ok(()),
    }
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
