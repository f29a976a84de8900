//! The server's own counters that moved.

use basecase_model::names;

use super::cost::operation;
use super::{MOVED, figure, hardware, ratio_cell};
use crate::results::{Measured, Paired};
use crate::tables::{Cell, Column, Row, Table};

/// Counts per operation below which a counter says nothing of an operation.
const LEAST_PER_OPERATION: f64 = 1e-4;

/// The counters that moved, those first that moved furthest: at most so many.
pub(super) fn table(
    base: &Measured<'_>,
    candidate: &Measured<'_>,
    paired: Option<&Paired<'_>>,
    most: usize,
) -> Table {
    let mut moved: Vec<(&str, f64, f64)> = Vec::new();
    let names = base.trial.counters.iter().chain(candidate.trial.counters.iter()).map(|(name, _)| name);
    let mut names: Vec<&str> = names.filter(|name| is_of_server(name)).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let count = |measured: &Measured<'_>| {
            // What did not move on one side is not stored of it.
            measured.counted_per_operation(name).unwrap_or(0.0)
        };
        let (before, after) = (count(base), count(candidate));
        let is_large = before.abs().max(after.abs()) >= LEAST_PER_OPERATION;
        if is_large && distance(before, after) >= MOVED.ln() {
            moved.push((name, before, after));
        }
    }
    moved.sort_by(|left, right| weight(right).total_cmp(&weight(left)));
    let row = |(name, before, after): &(&str, f64, f64)| {
        let values = [figure(*before), figure(*after)].map(Cell::plain);
        let ratio = ratio_cell(after / before, paired, &|measured| measured.counted_per_operation(name));
        Row::new(*name, values.into_iter().chain([ratio]).collect())
    };
    Table {
        caption: format!("Counters of the server that moved, per {}", operation(base)),
        reading: format!("Those by {:.0} % or more, the furthest first.", (MOVED - 1.0) * 100.0),
        corner: "counter",
        columns: ["base case", "candidate", "ratio"].map(|name| Column::numbers(name, "")).into(),
        rows: moved.iter().take(most).map(row).collect(),
        ..Table::default()
    }
}

fn is_of_server(name: &str) -> bool {
    names::OF_SERVER.iter().chain(&[names::SESSION_PREFIX]).any(|prefix| name.starts_with(prefix))
        && !hardware::is_one(name)
        && !name.ends_with("counted_seconds")
        && name != names::SESSION_LOOKS
        && !name.ends_with("uptime")
}

/// How far a count moved: the logarithm of the ratio, up to a thousandfold.
fn distance(before: f64, after: f64) -> f64 {
    let floor = before.abs().max(after.abs()) / 1000.0;
    (after.abs().max(floor) / before.abs().max(floor)).ln().abs()
}

/// What is frequent and moved far weighs most.
fn weight((_, before, after): &(&str, f64, f64)) -> f64 {
    distance(*before, *after) * (1.0 + before.abs().max(after.abs()) / LEAST_PER_OPERATION).ln()
}
