//! Cells with rates relative to the base case: their intervals, if known from rounds, and their marks.

use basecase_analysis::metrics::TrialMetric;
use basecase_analysis::{Results, Thresholds};
use basecase_stats::Verdict;

use super::{Highlight, TableCell, absent, marks, number};

/// How to read such cells of an experiment in rounds.
pub(crate) const IN_ROUNDS: &str = "Each value is the mean ratio to the base case over all rounds: 1.00 is equal, less is \
                                    slower. In parentheses is its interval, or (?) if it is not known. Only decided \
                                    changes are marked.";

/// The cell of a candidate's rate divided by the base case's.
pub(crate) fn cell(
    results: &Results<'_>,
    step: usize,
    candidate: usize,
    thresholds: Thresholds,
) -> TableCell {
    let mark = mark(results, step, candidate, thresholds);
    match (results.relative(step, candidate), results.relative_effect(step, candidate)) {
        (_, Some(effect)) => TableCell { mark, ..TableCell::ratio(&effect) },
        (Some(ratio), None) => TableCell::marked(format!("{ratio:.2}"), mark),
        (None, None) => absent(results, step, candidate),
    }
}

/// The cell of a metric of a candidate divided by the base case's.
pub(crate) fn cost_cell(
    results: &Results<'_>,
    metric: &TrialMetric,
    step: usize,
    candidate: usize,
) -> TableCell {
    match (results.relative_cost(metric, step, candidate), results.rounds) {
        (Some(effect), Some(_)) => TableCell::ratio(&effect),
        (effect, _) => TableCell::plain(number(effect.map(|effect| effect.ratio), 2)),
    }
}

/// The mark of a ratio: its verdict in rounds, else whether it is beyond the thresholds. A ratio is ignored if either side missed its
/// target rate.
pub(crate) fn mark(
    results: &Results<'_>,
    step: usize,
    candidate: usize,
    thresholds: Thresholds,
) -> Highlight {
    if results.missed_sla(step, candidate) || results.missed_sla(step, 0) {
        return Highlight::Ignored;
    }
    match (results.rounds, results.relative(step, candidate)) {
        (Some(rounds), _) => rounds
            .judgement
            .decision(basecase_stats::JudgedMetric::Throughput, step, candidate)
            .map_or(Highlight::None, |decision| decided(decision.verdict)),
        (None, Some(ratio)) => marks::relative(ratio, thresholds),
        (None, None) => Highlight::None,
    }
}

/// What the marks of rates relative to the base case mean.
pub(crate) fn legend(results: &Results<'_>, thresholds: Thresholds) -> Vec<(Highlight, String)> {
    match results.rounds {
        Some(_) => vec![
            (Highlight::Better, "verdict: improvement".into()),
            (Highlight::Worse, "verdict: regression".into()),
        ],
        None => marks::relative_legend(thresholds),
    }
}

/// The mark of a verdict.
pub(crate) fn decided(verdict: Verdict) -> Highlight {
    match verdict {
        Verdict::Regression => Highlight::Worse,
        Verdict::Improvement => Highlight::Better,
        Verdict::NoChange | Verdict::NotEnoughData => Highlight::None,
    }
}
