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

/// A word that is not the name of a [`Preset`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there are no colour thresholds named '{0}'\nhint: use report, posts-2024 or posts-2025")]
pub struct UnknownPreset(String);

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Preset::ALL
            .into_iter()
            .find(|preset| preset.as_str() == text)
            .ok_or_else(|| UnknownPreset(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_read_back_from_their_names() {
        for preset in Preset::ALL {
            assert_eq!(preset.to_string().parse(), Ok(preset));
        }
        let error = "posts-1999".parse::<Preset>().unwrap_err().to_string();
        assert!(error.contains("'posts-1999'") && error.contains("hint: use report"), "{error}");
    }
}
