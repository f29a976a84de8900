//! How long the rest of an experiment will probably take.

use crate::plan::Plan;
use crate::workload::Outline;

/// Seconds of each step: measured on an earlier candidate, or a guess. Steps that are not measured have none.
#[derive(Debug)]
pub(crate) struct Forecast {
    seconds: Vec<Option<f64>>,
}

impl Forecast {
    /// The forecast of the steps whose names are chosen.
    pub(crate) fn new(plan: &Plan, is_chosen: impl Fn(&str) -> bool) -> Self {
        let guess = |step: &Outline| Some(step.guessed_seconds).filter(|_| is_chosen(&step.facts.name));
        Forecast { seconds: plan.steps.iter().map(guess).collect() }
    }

    /// Takes in how long a step took.
    pub(crate) fn learn(&mut self, step: usize, seconds: f64) {
        self.seconds[step] = Some(seconds);
    }

    /// Seconds of a step.
    pub(crate) fn seconds(&self, step: usize) -> f64 {
        self.seconds[step].unwrap_or(0.0)
    }

    /// Seconds after step `step`, when `trials` trials are left with it, which go on with whole candidates.
    pub(crate) fn seconds_after(&self, step: usize, trials: usize) -> f64 {
        let own = self.seconds[step..].iter().flatten().count();
        let all = self.seconds.iter().flatten().count();
        let candidates = trials.saturating_sub(own) / all.max(1);
        let whole: f64 = self.seconds.iter().flatten().sum();
        self.seconds[step + 1..].iter().flatten().sum::<f64>() + whole * candidates as f64
    }
}
