//! Histories out of experiments in rounds: candidates as versions, the base case as their anchor.

use std::collections::BTreeMap;

use basecase_model::{Experiment, Trial};

use super::{History, HistoryError};
use crate::judgement::Metric;
use crate::pair::Pair;
use crate::sample::mean;

impl History {
    /// The throughput of a step over the candidates of an experiment in rounds, in their order. Only rounds count that all of
    /// them have, except those that never finished one. `step` is a number; a history of another one has no rounds.
    ///
    /// # Errors
    /// When a trial holds what no trial can hold.
    pub fn of_step<'a>(
        experiment: &'a Experiment,
        trials: &'a [Trial],
        step: usize,
    ) -> Result<History, HistoryError> {
        let (Some(facts), Some(schedule)) = (experiment.steps.get(step), &experiment.schedule) else {
            return Ok(History::default());
        };
        let effects = |candidate| -> BTreeMap<(u32, &'a str), f64> {
            let effect = |pair: Pair<'a>| Some((pair.place(), pair.round(Metric::Throughput)?.effect));
            Pair::all(experiment, trials, facts, candidate).into_iter().filter_map(effect).collect()
        };
        let versions: Vec<_> = (1..experiment.candidates.len()).map(effects).collect();
        let mut measured = versions.iter().filter(|rounds| !rounds.is_empty());
        let mut common: Vec<(u32, &str)> =
            measured.next().map(|rounds| rounds.keys().copied().collect()).unwrap_or_default();
        measured.for_each(|rounds| common.retain(|place| rounds.contains_key(place)));
        let effects = |rounds: &BTreeMap<_, f64>| {
            common.iter().filter_map(|place| rounds.get(place).copied()).collect()
        };
        History::anchored(versions.iter().map(effects).collect(), (1.0 + schedule.margin(facts)).ln())
    }

    /// A history that begins with the anchor. Of each later version, the effects against the anchor in the same rounds, in the order
    /// of rounds; or none.
    ///
    /// What all versions of a round have in common is taken out, as in a randomised block design: the luck of the anchor's start
    /// would else be in all of them, and any change from the anchor would seem surer than it is. Levels stay as they were.
    ///
    /// # Errors
    /// As of [`History::new`].
    pub fn anchored(effects: Vec<Vec<f64>>, margin: f64) -> Result<History, HistoryError> {
        let rounds = effects.iter().map(Vec::len).max().unwrap_or(0);
        let mut versions = vec![vec![0.0; rounds]];
        versions.extend(effects);
        let history = History::new(versions, margin)?;
        Ok(History { versions: without_common_noise(history.versions), ..history })
    }

    /// The mean effect of each version: the logarithm of its ratio to the anchor. Absent where a version has no round.
    pub fn means(&self) -> impl Iterator<Item = Option<f64>> {
        self.versions.iter().map(|rounds| Some(mean(rounds)).filter(|mean| mean.is_finite()))
    }

    /// How many rounds the version with most of them has.
    pub fn rounds(&self) -> usize {
        self.versions.iter().map(Vec::len).max().unwrap_or(0)
    }
}

/// Takes the noise out that the versions of a round have in common.
fn without_common_noise(mut versions: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let measured: Vec<&Vec<f64>> = versions.iter().filter(|rounds| !rounds.is_empty()).collect();
    let count = measured.len() as f64;
    // Of two versions nothing is known but their difference, which then has all the noise.
    if measured.len() <= 2 {
        return versions;
    }
    let rounds = measured.iter().map(|rounds| rounds.len()).min().unwrap_or(0);
    let common: Vec<f64> =
        (0..rounds).map(|round| measured.iter().map(|rounds| rounds[round]).sum::<f64>() / count).collect();
    let middle = mean(&common);
    // Each version is a part of what is taken out, so that what is left varies less than it did.
    let lost = (count / (count - 1.0)).sqrt();
    for rounds in &mut versions {
        let level = mean(rounds);
        for (effect, common) in rounds.iter_mut().zip(&common) {
            *effect = level + lost * (*effect - level - (common - middle));
        }
    }
    versions
}
