//! What an experiment found, in a sentence or two for each contender.

use basecase_analysis::{
    Cause, Causes, Direction, Explanation, Finding, Judged, Results, StepGroup, Tally, Thresholds, operation,
    seconds_to_settle,
};
use basecase_stats::Agreement;

use super::{
    EffectWords as _, JudgedWords as _, brief_name, distinctive, duration, margin, percent_text, transition,
    work_answer, work_words,
};

/// The answer: in rounds a sentence for each contender, those with the most changes first, with the cause of the clearest, and of single
/// runs what is beyond the thresholds; then the answer by work, and how much of the changes in time it explains.
pub(crate) fn sentences(results: &Results<'_>, thresholds: Thresholds) -> Vec<String> {
    let mut sentences: Vec<String> = match results.rounds {
        Some(_) => {
            let mut tallies = results.tallies();
            let changes = |tally: &Tally<'_>| tally.slower.len() + tally.faster.len();
            tallies.sort_by_key(|tally| std::cmp::Reverse(changes(tally)));
            tallies.iter().map(|tally| sentence(results, tally)).collect()
        }
        None if results.has_counts_only() => Vec::new(),
        None => single_runs(results, thresholds),
    };
    let has_times = !sentences.is_empty();
    let has_several = results.experiment.candidates.len() > 2;
    let of_work = |(candidate, _)| {
        let answer = work_answer(results, candidate)?;
        Some(match (has_times, has_several) {
            (false, _) => format!("{}: {answer}.", transition(&results.experiment.candidates, candidate)),
            (true, true) => format!("Work of {}: {answer}.", distinctive(results, candidate)),
            (true, false) => format!("Work: {answer}."),
        })
    };
    sentences.extend(results.candidates().skip(1).filter_map(of_work));
    sentences.extend(explained_by_work(results));
    sentences
}

/// What to do where nothing is measured more than once.
const SINGLE_RUNS: &str =
    "Single runs have no verdict: --budget 20m measures in rounds until each step is decided.";

/// How many steps of each contender are beyond the thresholds, and what to do for a verdict.
fn single_runs(results: &Results<'_>, thresholds: Thresholds) -> Vec<String> {
    let group = StepGroup { name: "all", steps: results.compared_steps().map(|(step, _)| step).collect() };
    let findings = Finding::all(results, &group);
    let ratio = |pct: i64| pct as f64 / 100.0;
    let Thresholds { worse_to_pct: low, better_from_pct: high } = thresholds;
    let sides = [
        ("slower", Direction::Worse, format!("≤ {:.2}", ratio(low))),
        ("faster", Direction::Better, format!("≥ {:.2}", ratio(high))),
    ];
    let line = |finding: &Finding| {
        let count = finding.ratios.len();
        let mut parts: Vec<String> = Vec::new();
        for (word, direction, limit) in &sides {
            let found = finding.beyond(*direction, thresholds);
            let Some((step, ratio)) = found.first() else { continue };
            let of_all = if parts.is_empty() { of_steps(count) } else { String::new() };
            let (step, most) = (&results.experiment.steps[*step].label, percent_text(*ratio, 1));
            parts.push(format!("{}{of_all} {word} ({limit}), most {step} {most} %", found.len()));
        }
        if parts.is_empty() {
            let (low, high) = (ratio(low + 1), ratio(high - 1));
            parts.push(format!("all{} from {low:.2} to {high:.2}", of_steps(count)));
        }
        format!("{}: {}.", transition(&results.experiment.candidates, finding.candidate), parts.join("; "))
    };
    let lines: Vec<String> = findings.iter().map(line).collect();
    if lines.is_empty() { lines } else { lines.into_iter().chain([SINGLE_RUNS.to_owned()]).collect() }
}

/// E.g. `sqlite 3.26.0 → 3.54.1: 4 of 10 steps faster, clearest qr100 +6.1 % (+5.0 to +7.2): 12 % less work (lengthFunc); 5 unchanged
/// within 3 %; 1 not settled.`
fn sentence(results: &Results<'_>, tally: &Tally<'_>) -> String {
    let changes = |found: &[Judged<'_>]| {
        let clearest = found.first().map(|clearest| clearest_change(results, clearest, found.len()));
        (found.len(), clearest.unwrap_or_default())
    };
    let words = tally_words(
        tally.steps(),
        [("slower", changes(&tally.slower)), ("faster", changes(&tally.faster))],
        tally.margin().map(|largest| (tally.unchanged.len(), largest)),
        tally.open.len(),
    );
    format!("{}: {words}.", transition(&results.experiment.candidates, tally.candidate))
}

/// E.g. `4 of 10 steps faster, clearest qr100 +6.1 %; 5 unchanged within 3 %; 1 not settled`: of all steps, how many changed and the
/// clearest of them, how many did not within the largest of their margins, and how many are open.
pub(super) fn tally_words(
    all: usize,
    changes: [(&str, (usize, String)); 2],
    unchanged: Option<(usize, f64)>,
    open: usize,
) -> String {
    let mut parts = Vec::new();
    for (word, (count, clearest)) in changes {
        if count > 0 {
            let of_all = if parts.is_empty() { of_steps(all) } else { String::new() };
            parts.push(format!("{count}{of_all} {word}, {clearest}"));
        }
    }
    if parts.is_empty() {
        parts.push(format!("none{} changed for certain", of_steps(all)));
    }
    parts.extend(unchanged.map(|(count, largest)| format!("{count} unchanged within {}", margin(largest))));
    if open > 0 {
        parts.push(format!("{open} not settled"));
    }
    parts.join("; ")
}

/// E.g. ` of 10 steps`.
fn of_steps(count: usize) -> String {
    format!(" of {count} {}", if count == 1 { "step" } else { "steps" })
}

/// E.g. `clearest qr100 +6.1 % (+5.0 to +7.2): less CPU per operation`.
fn clearest_change(results: &Results<'_>, judged: &Judged<'_>, of: usize) -> String {
    let clearest = if of > 1 { "clearest " } else { "" };
    let cause = cause(results, judged.step, judged.candidate).map(|cause| format!(": {cause}"));
    let cause = cause.unwrap_or_default();
    let step = judged.step_name(results);
    match judged.effect() {
        Some(effect) => {
            format!("{clearest}{step} {} % {}{cause}", effect.percent_text(), effect.percent_interval())
        }
        None => format!("{clearest}{step}: {}", judged.sentence()),
    }
}

/// What is found about a contender on a step, e.g. `sqlite 3.26.0 → 3.54.1: 6.1 % faster (5.0–7.2 %), clear improvement: 12 % less work
/// (lengthFunc)`; `None` if nothing is judged.
pub(crate) fn step_sentence(results: &Results<'_>, step: usize, candidate: usize) -> Option<String> {
    let found = match results.judged(step, candidate) {
        Some(judged) if judged.throughput.verdict.is_change() => {
            let cause = cause(results, step, candidate).map(|cause| format!(": {cause}"));
            format!("{}{}", judged.sentence(), cause.unwrap_or_default())
        }
        Some(judged) => {
            let work = changed_work(results, step, candidate).map(|work| format!("; {work}"));
            format!("{}{}", judged.sentence(), work.unwrap_or_default())
        }
        None => {
            let same = || results.work(step, candidate).map(work_words);
            changed_work(results, step, candidate).or_else(same)?
        }
    };
    Some(format!("{}: {found}.", transition(&results.experiment.candidates, candidate)))
}

/// What moved with a change, in a few words: work with its function where that explains it, else the likeliest cost, or what CPU time per
/// operation says.
pub(crate) fn cause(results: &Results<'_>, step: usize, candidate: usize) -> Option<String> {
    let agreement = results.agreement(step, candidate);
    if matches!(agreement, Some(Agreement::WorkExplains | Agreement::WorkExplainsPart)) {
        return changed_work(results, step, candidate);
    }
    let by_costs =
        Explanation::of(results, step, candidate).and_then(|explanation| brief_cause(&explanation));
    let attribution = || Some(results.judged(step, candidate)?.attribution()?.to_string());
    by_costs.or_else(attribution)
}

/// A change of work with the function that has most of it, e.g. `12 % less work (lengthFunc)`; `None` if it did not change.
pub(crate) fn changed_work(results: &Results<'_>, step: usize, candidate: usize) -> Option<String> {
    let work = results.work(step, candidate).filter(|work| work.verdict().is_change())?;
    let causes = results.counts?.causes(step, candidate);
    let function = causes.as_ref().and_then(Causes::largest).map(|mover| brief_name(&mover.function));
    let function = function.map(|name| format!(" ({name})")).unwrap_or_default();
    Some(format!("{}{function}", work_words(work)))
}

/// The likeliest cause by the costs, e.g. `more page faults per query`.
fn brief_cause(explanation: &Explanation<'_>) -> Option<String> {
    let is_in_line = |cause: &Cause<'_>| match cause {
        Cause::Plans => true,
        Cause::Cost(cost) => cost.share.is_some_and(|share| share > 0.0),
    };
    match explanation.causes().into_iter().find(is_in_line)? {
        Cause::Plans => Some("another plan".to_owned()),
        Cause::Cost(cost) => {
            let direction = if cost.ratio() > 1.0 { "more" } else { "less" };
            Some(format!("{direction} {} per {}", cost.kind.name, operation(&explanation.base)))
        }
    }
}

/// How many changes in time are those of work, e.g. `Work explains 3 of 4 changes in time.`; `None` without both.
fn explained_by_work(results: &Results<'_>) -> Option<String> {
    let of_step =
        |(step, _)| results.candidates().filter_map(move |(candidate, _)| results.agreement(step, candidate));
    let all: Vec<Agreement> = results.steps().flat_map(of_step).collect();
    let count = |wanted: &[Agreement]| all.iter().filter(|one| wanted.contains(one)).count();
    let part = count(&[Agreement::WorkExplainsPart]);
    let explained = part + count(&[Agreement::WorkExplains]);
    let other = count(&[
        Agreement::SameWorkSlower,
        Agreement::SameWorkFaster,
        Agreement::MoreWorkFaster,
        Agreement::LessWorkSlower,
    ]);
    let hidden = count(&[Agreement::MoreWorkNotSlower, Agreement::LessWorkNotFaster]);
    let changes = explained + other;
    let of_all = match changes {
        0 => None,
        1 => Some(format!("{explained} of 1 change")),
        _ if other == 0 => Some(format!("all {changes} changes")),
        _ => Some(format!("{explained} of {changes} changes")),
    };
    let in_part = if part > 0 { format!(", {part} of them in part") } else { String::new() };
    let in_time = of_all.map(|of_all| format!("Work explains {of_all} in time{in_part}"));
    let steps = if hidden == 1 { "step takes" } else { "steps take" };
    let hidden = (hidden > 0).then(|| format!("{hidden} {steps} the same time with other work"));
    let parts: Vec<String> = in_time.into_iter().chain(hidden).collect();
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

/// What it takes to settle the rest, e.g. `2 of 10 comparisons not settled: about 4 min more of rounds would tell`; `None` if all is settled.
pub(crate) fn unsettled(results: &Results<'_>) -> Option<String> {
    let tallies = results.tallies();
    let all: usize = tallies.iter().map(Tally::steps).sum();
    let open: Vec<Judged<'_>> = tallies.iter().flat_map(|tally| &tally.open).copied().collect();
    if open.is_empty() {
        return None;
    }
    let seconds = seconds_to_settle(open.iter(), results.experiment.is_chain());
    let more = seconds.map(|seconds| format!(": about {} more of rounds would tell", duration(seconds)));
    let compared = if tallies.len() > 1 { "comparisons" } else { "steps" };
    Some(format!("{} of {all} {compared} not settled{}", open.len(), more.unwrap_or_default()))
}
