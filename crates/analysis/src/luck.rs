//! Where the scatter of the steps comes from, of a candidate that was compared with itself.

use basecase_model::{Experiment, Trial};
use basecase_stats::Luck;

/// The variance components of each step that the first two candidates took turns in, with its number.
pub fn luck_of_steps(experiment: &Experiment, trials: &[Trial]) -> Vec<(usize, Luck)> {
    let steps = experiment.steps.iter().enumerate();
    steps.filter_map(|(number, step)| Some((number, Luck::of(experiment, trials, step, 1)?))).collect()
}
