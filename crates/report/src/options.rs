//! Options of a report.

use basecase_analysis::{Counted, KnownNoise, Preset, Thresholds};

/// Options of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The relative throughput beyond which a cell is marked.
    pub thresholds: Thresholds,
    /// Whether text may use ANSI colours. Marks beside the numbers appear in any case.
    pub ansi: bool,
    /// How many columns a terminal has for the answer.
    pub columns: usize,
    /// Whether text and Markdown include every step's response times and metrics. A blog post never
    /// does; the other formats always do.
    pub steps: bool,
    /// The percentile of event latency shown for workload files, above 0 and at most 100.
    pub percentile: f64,
    /// What is known about the noise of single runs; by default nothing.
    pub noise: KnownNoise,
    /// How much work an operation is, as counted; by default nothing was.
    pub counted: Counted,
    /// Where pages of the steps' histories are, as a link from the report's pages has it; `None` if there are none.
    pub history: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            thresholds: Preset::default().thresholds(),
            ansi: false,
            columns: 80,
            steps: false,
            percentile: 95.0,
            noise: KnownNoise::default(),
            counted: Counted::default(),
            history: None,
        }
    }
}
