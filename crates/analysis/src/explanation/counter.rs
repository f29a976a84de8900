//! The server's own counters that moved.

use basecase_model::names;

use super::{CostRatio, hardware};
use crate::results::{Measured, Paired};

/// A counter has moved if it changed by this factor.
pub const MOVED: f64 = 1.1;

/// Below this many counts per operation, a counter says nothing about an operation.
const LEAST_PER_OPERATION: f64 = 1e-4;

/// A counter of the server that moved.
#[derive(Debug, Clone, PartialEq)]
pub struct MovedCounter<'a> {
    /// Its name.
    pub name: &'a str,
    /// Per operation of the base case.
    pub base: f64,
    /// Per operation of the candidate.
    pub candidate: f64,
    /// The candidate's divided by the base case's.
    pub ratio: CostRatio,
}

/// The counters that moved, the largest moves first.
pub(super) fn moved<'a>(
    base: &Measured<'a>,
    candidate: &Measured<'a>,
    paired: Option<&Paired<'_>>,
) -> Vec<MovedCounter<'a>> {
    let mut moved: Vec<(&'a str, f64, f64)> = Vec::new();
    let names = base.trial.counters.iter().chain(candidate.trial.counters.iter()).map(|(name, _)| name);
    let mut names: Vec<&'a str> = names.filter(|name| is_of_server(name)).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let count = |measured: &Measured<'_>| {
            // Counters that did not move on one side are not stored there.
            measured.counted_per_operation(name).unwrap_or(0.0)
        };
        let (before, after) = (count(base), count(candidate));
        let is_large = before.abs().max(after.abs()) >= LEAST_PER_OPERATION;
        if is_large && distance(before, after) >= MOVED.ln() {
            moved.push((name, before, after));
        }
    }
    moved.sort_by(|left, right| weight(right).total_cmp(&weight(left)));
    let counter = |(name, base, candidate): (&'a str, f64, f64)| {
        let per_operation = |measured: &Measured<'_>| measured.counted_per_operation(name);
        let ratio = CostRatio::of(candidate / base, paired, &per_operation);
        MovedCounter { name, base, candidate, ratio }
    };
    moved.into_iter().map(counter).collect()
}

fn is_of_server(name: &str) -> bool {
    (names::is_of_server(name) || name.starts_with(names::SESSION_PREFIX))
        && !hardware::is_one(name)
        && !name.ends_with("counted_seconds")
        && name != names::SESSION_LOOKS
        && !name.ends_with("uptime")
}

/// How far a count moved: the logarithm of the ratio, capped at a factor of a thousand.
fn distance(before: f64, after: f64) -> f64 {
    let floor = before.abs().max(after.abs()) / 1000.0;
    (after.abs().max(floor) / before.abs().max(floor)).ln().abs()
}

/// Frequent counts that moved far weigh most.
fn weight((_, before, after): &(&str, f64, f64)) -> f64 {
    distance(*before, *after) * (1.0 + before.abs().max(after.abs()) / LEAST_PER_OPERATION).ln()
}
