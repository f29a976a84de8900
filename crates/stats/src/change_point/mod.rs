//! Finds at which of many versions a step changed.

mod anchored;
mod calibration;
mod confirmation;
mod divisive;
mod segmentation;
mod welch;

pub use anchored::{AnchorHandover, HistoryPoint};
pub use calibration::calibrated_penalty;
pub use confirmation::change_points;
pub use divisive::divisive_change_points;
pub use segmentation::usual_penalty;

use std::collections::BTreeMap;
use std::ops::Range;

use thiserror::Error;

use crate::comparison::is_logarithm;
use crate::interval::Interval;
use crate::sample::{Sample, mean};
use welch::Welch;

/// One step over many versions, each measured in a few rounds against an anchor version in the same round.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    versions: Vec<Vec<f64>>,
    /// The round number of each effect. Effects of one round share the luck of its anchor.
    rounds: Vec<Vec<usize>>,
    /// For each round, how many handovers lie between the first anchor and its own.
    anchors: Vec<usize>,
    /// For each anchor but the first, its effects relative to the one before. Their error affects everything behind the handover.
    links: Vec<Sample>,
    margin: f64,
}

/// Several versions taken as one level.
struct Level {
    /// The mean of each round.
    rounds: Vec<f64>,
    /// The share of its rounds that lie behind each handover.
    behind: Vec<f64>,
}

/// Why numbers do not make a history.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum HistoryError {
    /// A number is not finite, or too large for a logarithm.
    #[error(
        "round {round} of version {version}: {value} is not the logarithm of a throughput or a ratio\nhint: leave out runs that failed"
    )]
    NotALogarithm {
        /// Which version, from 1.
        version: usize,
        /// Which of its rounds, from 1.
        round: usize,
        /// The number.
        value: f64,
    },
    /// The margin is negative or not a number.
    #[error("the margin is {0}, but must be 0 or more")]
    Margin(f64),
}

impl History {
    /// A history of versions in their order. Each version has the effects of its rounds: logarithms of its ratio to the anchor, independent
    /// of each other. Changes of less than half of the margin, also a logarithm, are not reported.
    ///
    /// # Errors
    /// When a number is no logarithm or the margin is below 0.
    pub fn new(versions: Vec<Vec<f64>>, margin: f64) -> Result<Self, HistoryError> {
        let mut numbers = 0..;
        let rounds = versions.iter().map(|effects| numbers.by_ref().take(effects.len()).collect()).collect();
        History::checked(versions, rounds, margin)
    }

    /// The same for versions that were not all measured in the same rounds, and whose anchors may have been handed over. Each version comes
    /// with the number of handovers between the first anchor and its own, and with its effects by round; those of one round share the luck
    /// of its anchor. Each handover comes with the effects of the later anchor relative to the earlier one. Behind a handover with fewer
    /// than two rounds no version has a level.
    ///
    /// # Errors
    /// As of [`History::new`].
    pub fn of_anchors<R: Ord>(
        mut versions: Vec<(usize, BTreeMap<R, f64>)>,
        handovers: &[Vec<f64>],
        margin: f64,
    ) -> Result<Self, HistoryError> {
        let links: Vec<Sample> = handovers.iter().map_while(|effects| Sample::of(effects)).collect();
        for (anchor, effects) in &mut versions {
            if *anchor > links.len() {
                effects.clear();
            }
            let shift: f64 = links.iter().take(*anchor).map(|link| link.mean).sum();
            effects.values_mut().for_each(|effect| *effect += shift);
        }
        let mut all: Vec<(&R, usize)> = versions
            .iter()
            .flat_map(|(anchor, effects)| effects.keys().map(move |round| (round, *anchor)))
            .collect();
        all.sort_unstable();
        all.dedup_by_key(|(round, _)| *round);
        let number = |round: &R| all.partition_point(|(one, _)| *one < round);
        let rounds = versions.iter().map(|(_, effects)| effects.keys().map(number).collect()).collect();
        let effects = versions.iter().map(|(_, effects)| effects.values().copied().collect()).collect();
        let anchors = all.iter().map(|(_, anchor)| *anchor).collect();
        Ok(History { anchors, links, ..History::checked(effects, rounds, margin)? })
    }

    fn checked(versions: Vec<Vec<f64>>, rounds: Vec<Vec<usize>>, margin: f64) -> Result<Self, HistoryError> {
        if margin.is_nan() || margin < 0.0 {
            return Err(HistoryError::Margin(margin));
        }
        for (version, effects) in versions.iter().enumerate() {
            check(effects, version + 1)?;
        }
        Ok(History { versions, rounds, margin, ..History::default() })
    }

    /// Number of versions.
    pub fn versions(&self) -> usize {
        self.versions.len()
    }

    /// Number of versions in each round.
    fn sharing(&self) -> BTreeMap<usize, f64> {
        let mut sharing = BTreeMap::new();
        self.rounds.iter().flatten().for_each(|round| *sharing.entry(*round).or_default() += 1.0);
        sharing
    }

    /// Several versions as one level: the mean of each round, because noise that versions of a round share must count only once.
    fn level(&self, versions: Range<usize>) -> Level {
        let mut rounds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let effects =
            self.rounds[versions.clone()].iter().flatten().zip(self.versions[versions].iter().flatten());
        effects.for_each(|(round, effect)| rounds.entry(*round).or_default().push(*effect));
        let is_behind =
            |round: &usize, link: usize| self.anchors.get(*round).is_some_and(|anchor| *anchor > link);
        let share = |link: usize| {
            rounds.keys().filter(|round| is_behind(round, link)).count() as f64 / rounds.len() as f64
        };
        Level {
            behind: (0..self.links.len()).map(share).collect(),
            rounds: rounds.values().map(|effects| mean(effects)).collect(),
        }
    }

    /// The later level less the earlier. The error of handovers between them is included.
    fn difference(&self, earlier: &Level, later: &Level) -> Option<Welch> {
        let welch = Welch::of(&earlier.rounds, &later.rounds)?;
        let shares = earlier.behind.iter().zip(&later.behind).map(|(earlier, later)| later - earlier);
        Some(self.links.iter().zip(shares).fold(welch, |welch, (link, share)| {
            welch.with_error((share * link.standard_error()).powi(2), link.freedom())
        }))
    }
}

/// Refuses values that cannot be logarithms.
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
    /// Its interval, with the false discovery rate as error.
    pub interval: Interval,
    /// The p-value of Welch's test between the rounds of both levels.
    pub p: f64,
    /// The same, adjusted for the number of changes tested.
    pub adjusted_p: f64,
}

impl Change {
    /// A change with its test, not adjusted yet. Without a test its p-value is 1.
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
