//! Cells of rates relative to the base case: their interval where rounds tell it, and what is coloured.

use basecase_stats::Verdict;

use super::{Cell, Mark, absent, marks, number};
use crate::metrics::Metric;
use crate::options::Thresholds;
use crate::results::Results;

/// How to read such cells of an experiment in rounds.
pub(crate) const IN_ROUNDS: &str = "Each is the mean ratio to the base case over all rounds: 1.00 is equal, less is slower. In \
                                    parentheses is its interval, or (?) where it is not known. Only what is decided has a mark.";

impl Results<'_> {
    /// The cell of a candidate's rate divided by the base case's.
    pub(crate) fn relative_cell(&self, step: usize, candidate: usize, thresholds: Thresholds) -> Cell {
        let mark = self.relative_mark(step, candidate, thresholds);
        match (self.relative(step, candidate), self.relative_effect(step, candidate)) {
            (_, Some(effect)) => Cell { mark, ..Cell::ratio(&effect) },
            (Some(ratio), None) => Cell::marked(format!("{ratio:.2}"), mark),
            (None, None) => absent(self, step, candidate),
        }
    }

    /// The cell of a metric of a candidate divided by the base case's.
    pub(crate) fn relative_cost_cell(&self, metric: &Metric, step: usize, candidate: usize) -> Cell {
        match (self.relative_cost(metric, step, candidate), self.rounds) {
            (Some(effect), Some(_)) => Cell::ratio(&effect),
            (effect, _) => Cell::plain(number(effect.map(|effect| effect.ratio), 2)),
        }
    }

    /// What is coloured: in rounds what is decided, else what is beyond the thresholds. A ratio says nothing when either of its
    /// sides says nothing.
    pub(crate) fn relative_mark(&self, step: usize, candidate: usize, thresholds: Thresholds) -> Mark {
        if self.missed_sla(step, candidate) || self.missed_sla(step, 0) {
            return Mark::Ignored;
        }
        match (self.rounds, self.relative(step, candidate)) {
            (Some(rounds), _) => rounds
                .judgement
                .decision(basecase_stats::Metric::Throughput, step, candidate)
                .map_or(Mark::None, |decision| decided(decision.verdict)),
            (None, Some(ratio)) => marks::relative(ratio, thresholds),
            (None, None) => Mark::None,
        }
    }

    /// What the marks of rates relative to the base case mean.
    pub(crate) fn relative_legend(&self, thresholds: Thresholds) -> Vec<(Mark, String)> {
        match self.rounds {
            Some(_) => vec![
                (Mark::Better, "improvement, by its verdict".into()),
                (Mark::Worse, "regression, by its verdict".into()),
            ],
            None => marks::relative_legend(thresholds),
        }
    }
}

/// The mark of a verdict.
pub(crate) fn decided(verdict: Verdict) -> Mark {
    match verdict {
        Verdict::Regression => Mark::Worse,
        Verdict::Improvement => Mark::Better,
        Verdict::NoChange | Verdict::NotEnoughData => Mark::None,
    }
}
