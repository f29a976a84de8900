//! The result of a bisection as JSON.

use basecase_analysis::{Bisected, BisectedCounts, Effect, Found};
use basecase_model::Commit;
use basecase_stats::{BisectedChange, BisectionEnd, ChangeKind};
use serde::Serialize;

use super::counts::{MoverObject, movers};
use super::written;
use crate::documents::bisection::sentence;
use crate::words::{candidate_state, verdict_word};

#[derive(Serialize)]
struct Object<'a> {
    step: &'a str,
    by: &'static str,
    is_found: bool,
    before: Option<&'a str>,
    since: Option<&'a str>,
    sentence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<RangeObject<'a>>,
    whole: Option<EffectObject>,
    changes: Vec<ChangeObject<'a>>,
    candidates: Vec<CandidateObject<'a>>,
    skipped: Vec<SkippedObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    builds: Option<BuildsObject>,
}

/// The commits that were searched: full hashes of its ends, and how many there are after the first.
#[derive(Serialize)]
struct RangeObject<'a> {
    first: &'a str,
    last: &'a str,
    commits: usize,
}

#[derive(Serialize)]
struct EffectObject {
    ratio: f64,
    interval: Option<[f64; 2]>,
}

#[derive(Serialize)]
struct BuildsObject {
    made: usize,
    failed: usize,
}

#[derive(Serialize)]
struct SkippedObject<'a> {
    candidate: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct CandidateObject<'a> {
    candidate: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<CommitObject<'a>>,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    rounds: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Option<f64>>,
    reading: String,
}

#[derive(Serialize)]
struct CommitObject<'a> {
    hash: &'a str,
    author: &'a str,
    author_date: &'a str,
    subject: &'a str,
    tags: &'a [String],
}

/// A change between `before` and `since`, of which the first is without it: full hashes of commits, or names of candidates.
#[derive(Serialize)]
struct ChangeObject<'a> {
    before: &'a str,
    since: &'a str,
    is_exact: bool,
    commits: usize,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<CommitObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    movers: Option<Vec<MoverObject<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    touched: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<EffectObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<TimeObject>,
}

#[derive(Serialize)]
struct TimeObject {
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    verdict: String,
    rounds: usize,
}

/// The result as one JSON object with a newline at its end.
pub(crate) fn render(bisected: &Bisected<'_>) -> String {
    let counts = match &bisected.found {
        Found::Throughput(_) => None,
        Found::Work(counts) => Some(counts),
    };
    let changes = bisected.bisection.changes();
    let only = changes.first().filter(|_| changes.len() == 1);
    let last = bisected.candidates.len().saturating_sub(1);
    let is_exact = |change: &BisectedChange| change.kind == ChangeKind::Began;
    let object = Object {
        step: bisected.label,
        by: if counts.is_some() { "work" } else { "throughput" },
        is_found: bisected.bisection.end() == Some(BisectionEnd::Found)
            && !changes.is_empty()
            && changes.iter().all(is_exact),
        before: only.map(|change| bisected.name(change.before)),
        since: only.map(|change| bisected.name(change.since)),
        sentence: sentence(bisected),
        range: range(bisected),
        whole: bisected.bisection.whole().and_then(|_| bisected.level(last)).map(effect),
        changes: changes
            .iter()
            .enumerate()
            .map(|(number, one)| change(bisected, counts, number, one))
            .collect(),
        candidates: bisected.shown().into_iter().map(|number| candidate(bisected, counts, number)).collect(),
        skipped: bisected
            .skipped
            .iter()
            .map(|(number, reason)| SkippedObject { candidate: identity(bisected, *number), reason })
            .collect(),
        builds: bisected.builds.map(|(made, failed)| BuildsObject { made, failed }),
    };
    written(&object)
}

fn effect(effect: Effect) -> EffectObject {
    EffectObject { ratio: effect.ratio, interval: effect.interval }
}

/// The full hash of a commit, or the name of another candidate.
fn identity<'a>(bisected: &'a Bisected<'_>, candidate: usize) -> &'a str {
    bisected.commit(candidate).map_or_else(|| bisected.name(candidate), |commit| &commit.hash)
}

fn range<'a>(bisected: &Bisected<'a>) -> Option<RangeObject<'a>> {
    let commits = bisected.commits?;
    Some(RangeObject {
        first: &commits.first()?.hash,
        last: &commits.last()?.hash,
        commits: commits.len() - 1,
    })
}

fn commit<'a>(commit: &'a Commit) -> CommitObject<'a> {
    let Commit { hash, author_date, author, subject, tags } = commit;
    CommitObject { hash, author, author_date, subject, tags }
}

fn candidate<'a>(
    bisected: &'a Bisected<'_>,
    counts: Option<&BisectedCounts<'_>>,
    number: usize,
) -> CandidateObject<'a> {
    let level = bisected.level(number);
    CandidateObject {
        candidate: bisected.name(number),
        commit: bisected.commit(number).map(commit),
        ratio: level.map(|effect| effect.ratio),
        interval: level.and_then(|effect| effect.interval),
        rounds: bisected.probed(number).map(|probed| probed.decision.rounds),
        instructions: counts.map(|counts| counts.instructions(number)),
        reading: candidate_state(bisected.state(number)),
    }
}

fn change<'a>(
    bisected: &'a Bisected<'_>,
    counts: Option<&'a BisectedCounts<'_>>,
    number: usize,
    change: &BisectedChange,
) -> ChangeObject<'a> {
    let found = bisected.effect(change);
    let causes = counts.and_then(|counts| counts.causes(change.before, change.since));
    let is_exact = change.kind == ChangeKind::Began;
    let confirmation = bisected.confirmations.get(&number);
    let time = confirmation.and_then(|confirmation| confirmation.time.as_ref());
    ChangeObject {
        before: identity(bisected, change.before),
        since: identity(bisected, change.since),
        is_exact,
        commits: change.since - change.before,
        ratio: found.map(|effect| effect.ratio),
        interval: found.and_then(|effect| effect.interval),
        commit: bisected.commit(change.since).filter(|_| is_exact).map(commit),
        movers: causes.as_ref().map(movers),
        touched: confirmation.map(|confirmation| confirmation.touched.iter().map(String::as_str).collect()),
        confirmed: confirmation.and_then(|one| one.work.as_ref()?.effect(0, 1)).map(effect),
        time: time.map(|time| TimeObject {
            ratio: time.effect().map(|effect| effect.ratio),
            interval: time.effect().and_then(|effect| effect.interval),
            verdict: verdict_word(time.verdict()),
            rounds: time.decision.rounds,
        }),
    }
}
