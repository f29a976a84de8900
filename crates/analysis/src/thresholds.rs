//! Thresholds of relative throughput from which on a difference counts.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The relative throughput from which on a cell is marked, in whole per cent of the base case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Rounded per cent up to which a cell is marked as worse.
    pub worse_to_pct: i64,
    /// Rounded per cent from which on a cell is marked as better.
    pub better_from_pct: i64,
}

/// On which side of the base case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Better than the base case.
    Better,
    /// Worse than the base case.
    Worse,
}

impl Thresholds {
    /// The side on which a relative rate is beyond the threshold, by its rounded percentage; `None` between the thresholds.
    pub fn direction(self, ratio: f64) -> Option<Direction> {
        let percent = (100.0 * ratio).round() as i64;
        if percent >= self.better_from_pct {
            Some(Direction::Better)
        } else if percent <= self.worse_to_pct {
            Some(Direction::Worse)
        } else {
            None
        }
    }

    /// The logarithms of ratios beyond which a cell is marked: below the first, above the second.
    pub fn logarithms(&self) -> (f64, f64) {
        let logarithm = |rounded_pct: f64| (rounded_pct / 100.0).ln();
        (logarithm(self.worse_to_pct as f64 + 0.5), logarithm(self.better_from_pct as f64 - 0.5))
    }
}

/// Published sets of [`Thresholds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// The reference's performance report: worse below 95 %, better above 105 %.
    #[default]
    Report,
    /// The posts of 2024: worse up to 95 %, better from 105 %.
    Posts2024,
    /// The posts of 2025: worse up to 97 %, better from 103 %.
    Posts2025,
}

impl Preset {
    /// Every preset, in the order in which they are listed to users.
    pub const ALL: [Preset; 3] = [Preset::Report, Preset::Posts2024, Preset::Posts2025];

    /// The word on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Preset::Report => "report",
            Preset::Posts2024 => "posts-2024",
            Preset::Posts2025 => "posts-2025",
        }
    }

    /// The thresholds.
    pub fn thresholds(self) -> Thresholds {
        let (worse_to_pct, better_from_pct) = match self {
            Preset::Report => (94, 106),
            Preset::Posts2024 => (95, 105),
            Preset::Posts2025 => (97, 103),
        };
        Thresholds { worse_to_pct, better_from_pct }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A word that is neither the name of a [`Preset`] nor a pair of ratios.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "there are no colour thresholds '{0}'\nhint: use report, posts-2024, posts-2025 or two ratios in whole per cent, below and \
     above 1, such as 0.95,1.05"
)]
pub struct UnknownThresholds(String);

impl FromStr for Thresholds {
    type Err = UnknownThresholds;

    /// The name of a preset, or `LOW,HIGH`: worse up to LOW and better from HIGH.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let preset = Preset::ALL.into_iter().find(|preset| preset.as_str() == text).map(Preset::thresholds);
        let pair = || {
            let (low, high) = text.split_once(',')?;
            let (worse_to_pct, better_from_pct) = (whole_pct(low)?, whole_pct(high)?);
            let is_sound = 0 < worse_to_pct && worse_to_pct < 100 && 100 < better_from_pct;
            is_sound.then_some(Thresholds { worse_to_pct, better_from_pct })
        };
        preset.or_else(pair).ok_or_else(|| UnknownThresholds(text.to_owned()))
    }
}

/// A ratio as whole per cent; `None` if it is not a number of at most two decimals, or above 100.
fn whole_pct(ratio: &str) -> Option<i64> {
    let percent = 100.0 * ratio.trim().parse::<f64>().ok()?;
    let is_whole = (percent - percent.round()).abs() < 1e-6 && percent.abs() <= 10_000.0;
    is_whole.then(|| percent.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_pairs_are_read() {
        for preset in Preset::ALL {
            assert_eq!(preset.to_string().parse(), Ok(preset.thresholds()));
        }
        assert_eq!("0.97,1.03".parse(), Ok(Preset::Posts2025.thresholds()));
        assert_eq!("0.9, 1.1".parse(), Ok(Thresholds { worse_to_pct: 90, better_from_pct: 110 }));
    }

    #[test]
    fn what_is_no_pair_of_thresholds_is_refused() {
        for text in
            ["posts-1999", "0.95", "1.05,0.95", "0.955,1.05", "0,1.05", "NaN,1.05", "0.95,inf", "0.9,1", ""]
        {
            let error = text.parse::<Thresholds>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{text}'")) && error.contains("hint: use report"), "{error}");
        }
    }
}
