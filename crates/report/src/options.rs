//! What a caller can choose about a report.

use basecase_analysis::{KnownNoise, Preset, Thresholds};

/// What a caller can choose about a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// From which relative throughput on a cell is marked.
    pub thresholds: Thresholds,
    /// Whether text may use ANSI colours. Marks beside the numbers are there in any case.
    pub ansi: bool,
    /// Whether text and Markdown go on after the summary with every step's response times
    /// and metrics. A post never does; the other formats always hold everything.
    pub steps: bool,
    /// The percentile of the latency of a workload file's events, above 0 and up to 100.
    pub percentile: f64,
    /// What is known of how far single runs scatter. Nothing, unless told otherwise.
    pub noise: KnownNoise,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            thresholds: Preset::default().thresholds(),
            ansi: false,
            steps: false,
            percentile: 95.0,
            noise: KnownNoise::default(),
        }
    }
}
