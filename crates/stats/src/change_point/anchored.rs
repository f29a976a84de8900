//! Histories from experiments in rounds: candidates are versions, the base case is their anchor.

use std::collections::BTreeMap;

use super::{History, HistoryError};
use crate::judgement::RoundEffect;
use crate::sample::mean;

/// One point of the history of a step: a candidate of an experiment in rounds whose base case is the anchor.
#[derive(Debug, Clone, Copy)]
pub struct HistoryPoint<'a> {
    /// Its rounds, see [`Judgement::round_effects`](crate::Judgement::round_effects).
    pub rounds: &'a [RoundEffect],
    /// How many handovers lie between the first anchor and this one's anchor, the base case of its experiment.
    pub anchor: usize,
}

/// A change of anchors: the later anchor, measured beside the earlier one.
#[derive(Debug, Clone, Copy)]
pub struct AnchorHandover<'a> {
    /// The later anchor against the earlier one.
    pub version: HistoryPoint<'a>,
    /// Whether the roles are reversed: the later anchor is the base case of that experiment.
    pub is_reversed: bool,
}

impl<'a> HistoryPoint<'a> {
    /// The effects of its rounds, by round number and experiment.
    fn effects(&self) -> BTreeMap<(u32, &'a str), f64> {
        let effect = |round: &'a RoundEffect| ((round.round, round.experiment.as_str()), round.effect);
        self.rounds.iter().map(effect).collect()
    }
}

impl AnchorHandover<'_> {
    /// The effects of its rounds.
    fn effects(&self) -> Vec<f64> {
        let sign = if self.is_reversed { -1.0 } else { 1.0 };
        self.version.effects().into_values().map(|effect| sign * effect).collect()
    }
}

impl History {
    /// The throughput of a step over versions in their order, starting with the first anchor.
    ///
    /// If all versions have one anchor and share some rounds, only those rounds count; versions without any finished round are disregarded.
    /// If versions were measured at different times, all their rounds count, and nothing is known about the anchor itself. If anchors were
    /// handed over, levels are relative to the first anchor.
    ///
    /// # Errors
    /// When a trial holds what no trial can hold.
    pub fn of_step(
        versions: &[HistoryPoint<'_>],
        handovers: &[AnchorHandover<'_>],
        margin: f64,
    ) -> Result<History, HistoryError> {
        let versions: Vec<_> = versions.iter().map(|version| (version.anchor, version.effects())).collect();
        let handovers: Vec<_> = handovers.iter().map(AnchorHandover::effects).collect();
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

    /// A history that begins with the anchor. Each later version has its effects relative to the anchor in the same rounds, in the order of
    /// rounds; it may have none.
    ///
    /// The noise that all versions of a round share is removed, as in a randomised block design. Otherwise the luck of the anchor's start
    /// would be in all of them, and every change from the anchor would seem more certain than it is. Levels stay as they were.
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

    /// The mean effect of each version: the logarithm of its ratio to the anchor. `None` where a version has no round.
    #[cfg(test)]
    pub(crate) fn means(&self) -> impl Iterator<Item = Option<f64>> {
        self.versions.iter().map(|rounds| Some(mean(rounds)).filter(|mean| mean.is_finite()))
    }

    /// The largest number of rounds of any version.
    pub fn rounds(&self) -> usize {
        self.versions.iter().map(Vec::len).max().unwrap_or(0)
    }
}

/// Removes the noise that the versions of a round share.
fn without_common_noise(mut versions: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let measured: Vec<&Vec<f64>> = versions.iter().filter(|rounds| !rounds.is_empty()).collect();
    let count = measured.len() as f64;
    // For two versions only their difference is known, and it contains all the noise.
    if measured.len() <= 2 {
        return versions;
    }
    let rounds = measured.iter().map(|rounds| rounds.len()).min().unwrap_or(0);
    let common: Vec<f64> =
        (0..rounds).map(|round| measured.iter().map(|rounds| rounds[round]).sum::<f64>() / count).collect();
    let middle = mean(&common);
    // Each version is part of the mean that is subtracted, so what remains varies less than before.
    let lost = (count / (count - 1.0)).sqrt();
    for rounds in &mut versions {
        let level = mean(rounds);
        for (effect, common) in rounds.iter_mut().zip(&common) {
            *effect = level + lost * (*effect - level - (common - middle));
        }
    }
    versions
}
