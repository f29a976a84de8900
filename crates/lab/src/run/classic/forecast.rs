//! How long the rest of an experiment will probably take.

use crate::plan::Plan;

/// Seconds of each step: measured on an earlier candidate, or a guess.
#[derive(Debug)]
pub(crate) struct Forecast {
    seconds: Vec<f64>,
}

impl Forecast {
    pub(crate) fn new(plan: &Plan) -> Self {
        Forecast { seconds: plan.steps.iter().map(|step| step.guessed_seconds).collect() }
    }

    /// Takes in how long a step took.
    pub(crate) fn learn(&mut self, step: usize, seconds: f64) {
        self.seconds[step] = seconds;
    }

    /// Seconds of a step.
    pub(crate) fn seconds(&self, step: usize) -> f64 {
        self.seconds[step]
    }

    /// Seconds after step `step`, when `trials` trials are left with it, which go on with whole candidates.
    pub(crate) fn seconds_after(&self, step: usize, trials: usize) -> f64 {
        let candidates = trials.saturating_sub(self.seconds.len() - step) / self.seconds.len();
        let whole: f64 = self.seconds.iter().sum();
        self.seconds[step + 1..].iter().sum::<f64>() + whole * candidates as f64
    }
}
