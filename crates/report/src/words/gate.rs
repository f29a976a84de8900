//! The result of a gate, in words.

use basecase_analysis::{Conclusion, Effect, Failure, Gate, GateCase, Judged};
use basecase_stats::{JudgedMetric, Verdict};

use super::{EffectWords as _, FailureWords as _, JudgedWords as _};

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
    let judged = [
        counted(gate.regressions(), "regression", "regressions"),
        counted(judged_as(Verdict::Improvement), "improvement", "improvements"),
        format!("{} unchanged", judged_as(Verdict::NoChange)),
        format!("{} without enough data", judged_as(Verdict::NotEnoughData)),
    ];
    failed.into_iter().chain(judged).collect::<Vec<_>>().join(", ")
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
        (None, None) => ("not enough data: no rounds".to_owned(), String::new()),
    };
    CaseWords {
        step: gate.experiment.steps.get(case.step).map_or("", |step| &step.label),
        candidate: gate.experiment.candidates.get(case.candidate).map_or("", |facts| &facts.name.0),
        words,
        details,
        rounds: case.judged.map_or_else(|| "0".to_owned(), |judged| judged.rounds()),
    }
}

fn failed(failure: &Failure<'_>) -> (String, String) {
    let reason = failure.reason.lines().next().unwrap_or_default();
    let words = format!("failed: {}: {reason}", failure.place());
    (words, [failure.reason, failure.log_tail].join("\n"))
}

fn change(judged: &Judged<'_>) -> String {
    let effect = Effect::of_decision(JudgedMetric::Throughput, judged.throughput);
    effect
        .map(|effect| format!("{} % {}", effect.percent_text(), effect.percent_interval()))
        .unwrap_or_default()
}
