//! Functions of the server whose share of the time moved.

use basecase_model::{Profile, ProfileKind};

use super::MOST;
use crate::flame_graph::shares::{FunctionShare, functions_that_grew};
use crate::tables::{Cell, Column, Row, Table};

/// Functions whose share moved by less are not shown.
const LEAST_GROWTH: f64 = 0.002;

/// Profiles of the same kind.
pub(super) fn pairs<'a>(base: &'a [Profile], candidate: &'a [Profile]) -> Vec<(&'a Profile, &'a Profile)> {
    let same = |base: &'a Profile| Some((base, candidate.iter().find(|profile| profile.kind == base.kind)?));
    base.iter().filter_map(same).collect()
}

/// Functions whose own share of the time grew or shrank most.
pub(super) fn table(base: &Profile, candidate: &Profile) -> Table {
    let mut shares = functions_that_grew(base, candidate);
    shares.retain(|share| share.growth().abs() >= LEAST_GROWTH);
    shares.sort_by(|left, right| right.growth().abs().total_cmp(&left.growth().abs()));
    let percent = |share: f64| Cell::plain(format!("{:.1} %", share * 100.0));
    let row = |share: &FunctionShare| {
        let growth = Cell::plain(format!("{:+.1}", share.growth() * 100.0));
        Row::new(&share.function, vec![percent(share.base), percent(share.candidate), growth])
    };
    let time = match base.kind {
        ProfileKind::Cpu => "CPU time",
        ProfileKind::OffCpu => "time off the processors",
    };
    Table {
        caption: format!("Functions of the server, by their own share of {time}"),
        reading: format!(
            "{} samples of the base case, {} of the candidate.",
            base.samples, candidate.samples
        ),
        corner: "function",
        columns: ["base case", "candidate", "points"].map(|name| Column::numbers(name, "")).into(),
        rows: shares.iter().take(MOST).map(row).collect(),
        ..Table::default()
    }
}
