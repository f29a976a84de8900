//! Histories out of experiments in rounds: candidates as versions, the base case as their anchor.

use std::collections::BTreeMap;

use basecase_model::{Experiment, Trial};

use super::{History, HistoryError};
use crate::judgement::JudgedMetric;
use crate::pair::Pair;
use crate::sample::mean;

/// A version of a history: a candidate of an experiment in rounds, whose base case is the anchor.
#[derive(Debug, Clone, Copy)]
pub struct HistoryPoint<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its trials.
    pub trials: &'a [Trial],
    /// Number of the candidate.
    pub candidate: usize,
    /// How many handovers lie between the first anchor and its own, the base case of its experiment.
    pub anchor: usize,
}

/// An anchor that takes the place of another one, measured beside it.
#[derive(Debug, Clone, Copy)]
pub struct AnchorHandover<'a> {
    /// The later anchor against the earlier one.
    pub version: HistoryPoint<'a>,
    /// Whether it is the other way round: the later one is the base case of that experiment.
    pub is_reversed: bool,
}

impl<'a> HistoryPoint<'a> {
    /// The effects of its rounds on a step, by number and by who measured it.
    fn effects(&self, step: &str) -> BTreeMap<(u32, &'a str), f64> {
        let HistoryPoint { experiment, trials, candidate, .. } = *self;
        let Some(facts) = experiment.steps.iter().find(|facts| facts.name == step) else {
            return BTreeMap::new();
        };
        let effect = |pair: Pair<'a>| Some((pair.place(), pair.round(JudgedMetric::Throughput)?.effect));
        Pair::all(experiment, trials, facts, candidate).into_iter().filter_map(effect).collect()
    }
}

impl AnchorHandover<'_> {
    /// The effects of its rounds on a step.
    fn effects(&self, step: &str) -> Vec<f64> {
        let sign = if self.is_reversed { -1.0 } else { 1.0 };
        self.version.effects(step).into_values().map(|effect| sign * effect).collect()
    }
}

impl History {
    /// The throughput of a step, by its name, over versions in their order, after the first anchor.
    ///
    /// Where all of them have one anchor, and there are rounds that all of them have, except those that never finished one, only these
    /// count. Where versions were measured at different times, all rounds do, and nothing is known of the anchor but that it is the anchor.
    /// Where anchors took each other's place, levels are relative to the first.
    ///
    /// # Errors
    /// When a trial holds what no trial can hold.
    pub fn of_step(
        versions: &[HistoryPoint<'_>],
        handovers: &[AnchorHandover<'_>],
        step: &str,
        margin: f64,
    ) -> Result<History, HistoryError> {
        let versions: Vec<_> =
            versions.iter().map(|version| (version.anchor, version.effects(step))).collect();
        let handovers: Vec<_> = handovers.iter().map(|handover| handover.effects(step)).collect();
        let mut measured = versions.iter().map(|(_, rounds)| rounds).filter(|rounds| !rounds.is_empty());
        let mut common: Vec<(u32, &str)> =
            measured.next().map(|rounds| rounds.keys().copied().collect()).unwrap_or_default();
        measured.for_each(|rounds| common.retain(|place| rounds.contains_key(place)));
        if common.is_empty() || !handovers.is_empty() {
            let anchor = [(0, BTreeMap::new())];
            return History::of_anchors(anchor.into_iter().chain(versions).collect(), &handovers, margin);
        }
        let effects = |rounds: &BTreeMap<_, f64>| {
            common.iter().filter_map(|place| rounds.get(place).copied()).collect()
        };
        History::anchored(versions.iter().map(|(_, rounds)| effects(rounds)).collect(), margin)
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
    #[cfg(test)]
    pub(crate) fn means(&self) -> impl Iterator<Item = Option<f64>> {
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
