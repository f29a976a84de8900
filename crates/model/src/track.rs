//! Tracks: numbers over time, besides the operations of a window.

use serde::{Deserialize, Serialize};

/// What the values of a [`Track`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackKind {
    /// The increase in each interval, per second.
    Rate,
    /// The level in the middle of each interval.
    Level,
}

impl TrackKind {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            TrackKind::Rate => "rate",
            TrackKind::Level => "level",
        }
    }
}

/// One number of the machine or the server in equal intervals from the opening of the window, on the time axis of [`crate::Series`].
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Its name, as among the counters and gauges: [`crate::names`], or the server's own under its prefix.
    pub name: String,
    /// What the values are.
    pub kind: TrackKind,
    /// Length of every interval in milliseconds.
    pub interval_ms: u32,
    /// One value for each whole interval.
    pub values: Vec<f32>,
}
