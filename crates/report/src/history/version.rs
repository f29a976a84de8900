//! What stands in a history: a build with a config, wherever in a store it was measured.

use basecase_model::CandidateFacts;

use crate::effect::Effect;
use crate::results::Results;

/// Lengths of a date and of a minute at the beginning of RFC 3339.
const DATE: usize = 10;
const MINUTE: usize = 16;

/// A version, or the base case, which is the first.
pub(super) struct Version<'b, 'a> {
    /// What it is called; with the date on which it was first measured where experiments are joined.
    pub(super) label: String,
    facts: &'a CandidateFacts,
    /// When the first experiment with it began, RFC 3339.
    since: &'a str,
    /// Which candidate it is of which experiments, the first of these first.
    sources: Vec<(&'b Results<'a>, usize)>,
}

/// The candidates of an experiment; or the base case and what it was compared with in this experiment and others, in the order of their
/// dates.
pub(super) fn versions<'b, 'a>(
    chosen: &'b Results<'a>,
    joined: Option<&[&'b Results<'a>]>,
) -> Vec<Version<'b, 'a>> {
    let mut experiments: Vec<&'b Results<'a>> = joined.unwrap_or_default().to_vec();
    experiments.push(chosen);
    experiments.sort_by_key(|measured| &measured.experiment.created_at);
    let base = chosen.candidates().take(1).map(|(number, facts)| (chosen, number, facts));
    let later = experiments.into_iter().flat_map(|measured| {
        measured.candidates().skip(1).map(move |(number, facts)| (measured, number, facts))
    });
    let mut versions: Vec<Version<'b, 'a>> = Vec::new();
    for (measured, number, facts) in base.chain(later) {
        let known = versions.iter().position(|version| joined.is_some() && is_same(version.facts, facts));
        match known {
            // The base case was measured against itself there.
            Some(0) => {}
            Some(place) => versions[place].sources.push((measured, number)),
            None => versions.push(Version {
                label: facts.name.0.clone(),
                facts,
                since: &measured.experiment.created_at,
                sources: vec![(measured, number)],
            }),
        }
    }
    if joined.is_some() {
        date(&mut versions[1..]);
    }
    versions
}

/// Whether two candidates are one build with one config.
fn is_same(one: &CandidateFacts, other: &CandidateFacts) -> bool {
    one.build.identity() == other.build.identity()
        && one.engine == other.engine
        && one.config.sha256 == other.config.sha256
}

/// Adds to each name when it was first measured: the date, or the minute where dates do not tell two of one name from each other.
fn date(versions: &mut [Version<'_, '_>]) {
    let with = |length: usize, version: &Version<'_, '_>| {
        let since = version.since.get(..length).unwrap_or(version.since).replace('T', " ");
        format!("{} {since}", version.facts.name)
    };
    let mut labels: Vec<String> = versions.iter().map(|version| with(DATE, version)).collect();
    labels.sort_unstable();
    let count = labels.len();
    labels.dedup();
    let length = if labels.len() < count { MINUTE } else { DATE };
    versions.iter_mut().for_each(|version| version.label = with(length, version));
}

/// The number that a step of the chosen experiment has in another one with the same base case; `None` where it is another step there, or
/// another build, config, size, host or protocol.
pub(super) fn step_in(other: &Results<'_>, chosen: &Results<'_>, step: usize) -> Option<usize> {
    let wanted = chosen.trial(step, 0)?;
    let mut steps = other.steps().filter(|(_, facts)| facts.name == wanted.step);
    let (number, _) = steps.next()?;
    other.trial(number, 0).filter(|trial| trial.cell == wanted.cell).map(|_| number)
}

impl<'b, 'a> Version<'b, 'a> {
    /// The first experiment that has it on a step of the chosen one, its number there, and the step's.
    fn source(&self, chosen: &Results<'a>, step: usize) -> Option<(&'b Results<'a>, usize, usize)> {
        let of = |(measured, candidate): &(&'b Results<'a>, usize)| {
            Some((*measured, *candidate, step_in(measured, chosen, step)?))
        };
        self.sources.iter().find_map(of)
    }

    /// Its throughput divided by the base case's.
    pub(super) fn effect(&self, chosen: &Results<'a>, step: usize) -> Option<Effect> {
        let (measured, candidate, step) = self.source(chosen, step)?;
        let of_base = || Some(Effect { ratio: measured.relative(step, 0)?, interval: None });
        if candidate == 0 { of_base() } else { measured.relative_effect(step, candidate) }
    }

    /// Its rounds; none where it has no such step.
    pub(super) fn measured(&self, chosen: &Results<'a>, step: usize) -> basecase_stats::Version<'a> {
        let of = |measured: &Results<'a>, candidate, trials| basecase_stats::Version {
            experiment: measured.experiment,
            trials,
            candidate,
        };
        match self.source(chosen, step) {
            Some((measured, candidate, _)) => of(measured, candidate, measured.trials),
            None => of(chosen, 0, &[]),
        }
    }
}
