//! The result of a gate, in words.

use basecase_analysis::{Conclusion, Counts, Effect, Failure, Gate, GateCase, Judged, Work};
use basecase_stats::{JudgedMetric, Verdict, WorkVerdict};

use super::{
    EffectWords as _, FailureWords as _, JudgedWords as _, mover_sentence, work_error, work_percent,
    work_words,
};

/// One line for people, e.g. `2 regressions, 1 improvement, 12 unchanged, 3 without enough data`; failed steps come
/// first, if there are any.
pub fn headline(gate: &Gate<'_>) -> String {
    let judged_as = |verdict| gate.count(Conclusion::Judged(verdict));
    let counted =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let failed = match gate.failed() {
        0 => None,
        count => Some(counted(count, "step failed", "steps failed")),
    };
    if gate.cases.iter().any(|case| !case.is_timed) {
        return failed.into_iter().chain(counted_only(gate)).collect::<Vec<_>>().join(", ");
    }
    let more_work =
        gate.counts.map(|_| counted(gate.more_work(), "step with more work", "steps with more work"));
    let judged = [
        counted(gate.regressions(), "regression", "regressions"),
        counted(judged_as(Verdict::Improvement), "improvement", "improvements"),
        format!("{} unchanged", judged_as(Verdict::NoChange)),
        format!("{} without enough data", judged_as(Verdict::NotEnoughData)),
    ];
    failed.into_iter().chain(judged).chain(more_work).chain(noise(gate)).collect::<Vec<_>>().join(", ")
}

/// What the base case compared with itself says, if it says that verdicts cannot be trusted here.
fn noise(gate: &Gate<'_>) -> Option<String> {
    match gate.noise()? {
        (_, 0) => None,
        (steps, changed) => Some(format!(
            "the base case differs from itself on {changed} of {steps} steps: this machine is too noisy now"
        )),
    }
}

/// E.g. `3 steps with more work, 5 with less, 24 with the same, 0 without enough data`.
fn counted_only(gate: &Gate<'_>) -> [String; 4] {
    let counted_as = |verdict| gate.count(Conclusion::Counted(verdict));
    let more = gate.more_work();
    [
        format!("{more} {} with more work", if more == 1 { "step" } else { "steps" }),
        format!("{} with less", counted_as(WorkVerdict::LessWork)),
        format!("{} with the same", counted_as(WorkVerdict::SameWork)),
        format!("{} without enough data", counted_as(WorkVerdict::NotEnoughData)),
    ]
}

/// One step of one contender in words.
pub(crate) struct CaseWords<'a> {
    /// The label of the step.
    pub(crate) step: &'a str,
    /// The name of the contender.
    pub(crate) candidate: &'a str,
    /// The verdict, or why there is none.
    pub(crate) words: String,
    /// The change with its interval, or the end of a failed server's log.
    pub(crate) details: String,
    /// Number of rounds that count.
    pub(crate) rounds: String,
}

/// A case in words.
pub(crate) fn gate_case<'a>(gate: &Gate<'a>, case: &GateCase<'_>) -> CaseWords<'a> {
    let (words, details) = match (&case.failure, &case.judged) {
        (Some(failure), _) => failed(failure),
        (None, Some(judged)) => (judged.verdict(), change(judged)),
        (None, None) if case.is_timed => ("not enough data: no rounds".to_owned(), String::new()),
        (None, None) => match (case.work, case.uncounted) {
            (None, Some(reason)) => {
                (format!("failed: {}", reason.lines().next().unwrap_or_default()), reason.to_owned())
            }
            _ => (String::new(), String::new()),
        },
    };
    let (words, details) = match (case.work, gate.counts) {
        (Some(work), Some(counts)) => with_work(case, (words, details), work, counts),
        _ => (words, details),
    };
    CaseWords {
        step: gate.experiment.steps.get(case.step).map_or("", |step| &step.label),
        candidate: gate.experiment.candidates.get(case.candidate).map_or("", |facts| &facts.name.0),
        words,
        details,
        rounds: case.judged.map_or_else(|| "0".to_owned(), |judged| judged.rounds()),
    }
}

/// Most functions named with a step that needs more work.
const FUNCTIONS: usize = 3;

/// The words of a case with those on its work, and the functions behind a change.
fn with_work(
    case: &GateCase<'_>,
    (words, details): (String, String),
    work: &Work,
    counts: &Counts<'_>,
) -> (String, String) {
    let warning = if case.is_faster_with_more_work() { "warning: " } else { "" };
    let own = format!("{warning}{}", work_words(work));
    let words = if words.is_empty() { own } else { format!("{words}; {own}") };
    let effect = work.effect();
    let size = format!("{} % {}", work_percent(&effect), work_error(&effect));
    if case.is_timed && !work.verdict().is_change() {
        return (words, details);
    }
    let causes = counts.causes(work.step, work.candidate).filter(|_| work.verdict().is_change());
    let functions = causes
        .iter()
        .flat_map(|causes| causes.movers.iter().take(FUNCTIONS).map(|mover| mover_sentence(causes, mover)));
    let size = if case.is_timed { format!("work {size}") } else { size };
    let parts: Vec<String> =
        [details, size].into_iter().chain(functions).filter(|part| !part.is_empty()).collect();
    (words, parts.join("; "))
}

fn failed(failure: &Failure<'_>) -> (String, String) {
    let words = format!("failed: {}: {}", failure.place(), failure.brief());
    (words, [failure.reason, failure.log_tail].join("\n"))
}

fn change(judged: &Judged<'_>) -> String {
    let effect = Effect::of_decision(JudgedMetric::Throughput, judged.throughput);
    effect
        .map(|effect| format!("{} % {}", effect.percent_text(), effect.percent_interval()))
        .unwrap_or_default()
}
