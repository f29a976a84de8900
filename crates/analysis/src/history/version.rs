//! The versions of a history: builds with configs, wherever in a store they were measured.

use basecase_model::CandidateFacts;

use super::anchors::Anchors;
use crate::counts::CellCount;
use crate::effect::Effect;
use crate::explanation::Explanation;
use crate::results::Results;

/// Lengths of a date and of a minute at the beginning of RFC 3339.
const DATE: usize = 10;
const MINUTE: usize = 16;

/// A version, or the base case, which is the first.
pub(super) struct DatedVersion<'b, 'a> {
    /// Its name; with the date on which it was first measured if experiments are joined.
    pub(super) label: String,
    facts: &'a CandidateFacts,
    /// When the first experiment with it began, RFC 3339.
    pub(super) since: &'a str,
    /// Which candidate of which experiments it is, the earliest first.
    sources: Vec<(&'b Results<'a>, usize)>,
}

/// The candidates of an experiment; or the first base case, and what base cases were compared with in this experiment and others, in date
/// order.
pub(super) fn versions<'b, 'a>(
    chosen: &'b Results<'a>,
    first: &'b Results<'a>,
    joined: Option<&[&'b Results<'a>]>,
) -> Vec<DatedVersion<'b, 'a>> {
    let mut experiments: Vec<&'b Results<'a>> = joined.unwrap_or_default().to_vec();
    experiments.push(chosen);
    experiments.sort_by_key(|measured| &measured.experiment.created_at);
    let base = first.candidates().take(1).map(|(number, facts)| (first, number, facts));
    let later = experiments.iter().flat_map(|measured| {
        measured.candidates().skip(1).map(move |(number, facts)| (*measured, number, facts))
    });
    let mut versions: Vec<DatedVersion<'b, 'a>> = Vec::new();
    for (measured, number, facts) in base.chain(later) {
        let known = versions.iter().position(|version| joined.is_some() && is_same(version.facts, facts));
        match known {
            // The base case was measured against itself there.
            Some(0) => {}
            Some(place) => versions[place].sources.push((measured, number)),
            None => versions.push(DatedVersion {
                label: facts.name.0.clone(),
                facts,
                since: &measured.experiment.created_at,
                sources: vec![(measured, number)],
            }),
        }
    }
    if joined.is_some() {
        date(&mut versions[1..]);
        let [base, ..] = versions.as_mut_slice() else { return versions };
        let with_base = experiments.into_iter().filter(|measured| {
            measured.candidates().next().is_some_and(|(_, facts)| is_same(base.facts, facts))
        });
        base.sources.extend(with_base.map(|measured| (measured, 0)));
    }
    versions
}

/// Whether two candidates are one build with one config and one limit on memory.
pub(super) fn is_same(one: &CandidateFacts, other: &CandidateFacts) -> bool {
    one.build.identity() == other.build.identity()
        && one.engine == other.engine
        && one.config.sha256 == other.config.sha256
        && one.memory_limit_bytes == other.memory_limit_bytes
}

/// Adds to each name when it was first measured: the date, or the minute if dates do not distinguish two of the same name.
fn date(versions: &mut [DatedVersion<'_, '_>]) {
    let with = |length: usize, version: &DatedVersion<'_, '_>| {
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

/// Where a version was measured on a step.
struct Source<'b, 'a> {
    measured: &'b Results<'a>,
    candidate: usize,
    /// The number of the step there.
    step: usize,
    /// Which of the anchors is the base case there.
    anchor: usize,
}

impl<'b, 'a> Source<'b, 'a> {
    fn place(&self) -> (&'b Results<'a>, usize, usize) {
        (self.measured, self.step, self.candidate)
    }
}

impl<'b, 'a> DatedVersion<'b, 'a> {
    /// The commit that it was compiled from.
    pub(super) fn commit(&self) -> Option<&'a str> {
        self.facts.build.commit()
    }

    /// The first experiment that has it on the step of that name.
    fn source(&self, anchors: &Anchors<'_, 'a>, step: &str) -> Option<Source<'b, 'a>> {
        let source = |(measured, candidate): &(&'b Results<'a>, usize)| {
            let (anchor, step) = anchors.in_experiment(measured, step)?;
            Some(Source { measured, candidate: *candidate, step, anchor })
        };
        self.sources.iter().find_map(source)
    }

    /// Its throughput divided by that of the first base case.
    pub(super) fn effect(&self, anchors: &Anchors<'_, 'a>, name: &str) -> Option<Effect> {
        let Source { measured, candidate, step, anchor } = self.source(anchors, name)?;
        if candidate == 0 {
            return Some(Effect { ratio: measured.relative(step, 0)?, interval: None });
        }
        anchors.relative_to_first(measured.relative_effect(step, candidate)?, anchor, name)
    }

    /// What it costs on the step of that name, beside an earlier version; `None` unless both were measured there.
    pub(super) fn explained(
        &self,
        anchors: &Anchors<'_, 'a>,
        earlier: &DatedVersion<'_, 'a>,
        step: &str,
    ) -> Option<Explanation<'a>> {
        let (before, after) = (earlier.source(anchors, step)?, self.source(anchors, step)?);
        Explanation::between(before.place(), after.place())
    }

    /// What was counted of it on the step of that name, in each experiment that has it.
    pub(super) fn counted(&self, anchors: &Anchors<'_, 'a>, step: &str) -> Vec<&'a CellCount<'a>> {
        let cell = |(measured, candidate): &(&'b Results<'a>, usize)| {
            let (_, step) = anchors.in_experiment(measured, step)?;
            measured.counts?.cell(step, *candidate)
        };
        self.sources.iter().filter_map(cell).collect()
    }

    /// Its rounds; none if it does not have that step.
    pub(super) fn measured(&self, anchors: &Anchors<'_, 'a>, step: &str) -> basecase_stats::HistoryPoint<'a> {
        let nowhere = basecase_stats::HistoryPoint { rounds: &[], anchor: 0 };
        self.source(anchors, step).map_or(nowhere, |source| basecase_stats::HistoryPoint {
            rounds: source.measured.round_effects(source.step, source.candidate),
            anchor: source.anchor,
        })
    }
}
