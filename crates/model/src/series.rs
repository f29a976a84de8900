//! Per-second samples.

use serde::{Deserialize, Serialize};

/// One point of a time series: what finished in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Items (rows or queries) that finished in the interval.
    pub items: u32,
    /// Largest service time among the statements that finished in it, µs; 0 if none did.
    pub max_us: u32,
}

/// Samples of one role in equal intervals from the start of the measured window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Length of every interval in milliseconds.
    pub interval_ms: u32,
    /// The intervals in order. The last one may be shorter than the others.
    pub samples: Vec<Sample>,
}
