//! The candidates of a bisection, and what is known of each.

use basecase_analysis::{Bisected, BisectedCounts, CandidateState, Effect, Found};

use super::{Column, Highlight, Row, Table, TableCell};
use crate::words::{
    candidate_state, caption, instructions, operation_word, short_name, work_error, work_percent,
};

/// A row for each candidate of which something is known.
pub(crate) fn table(bisected: &Bisected<'_>) -> Table {
    let table = match &bisected.found {
        Found::Throughput(_) => of_rounds(bisected),
        Found::Work(counts) => of_counts(bisected, counts),
    };
    if bisected.commits.is_none() {
        return table;
    }
    let aside = |name: &str| Column { aside: true, ..Column::words(name) };
    let described = |(mut row, candidate): (Row, usize)| {
        if let Some(commit) = bisected.commit(candidate) {
            let date = commit.author_date.split('T').next().unwrap_or_default();
            row.cells.extend([date, &commit.subject].map(TableCell::plain));
        }
        row
    };
    Table {
        columns: table.columns.into_iter().chain([aside("author date"), aside("subject")]).collect(),
        rows: table.rows.into_iter().zip(bisected.shown()).map(described).collect(),
        ..table
    }
}

fn of_counts(bisected: &Bisected<'_>, counts: &BisectedCounts<'_>) -> Table {
    let row = |candidate: usize| {
        let state = bisected.state(candidate);
        let count = counts.instructions(candidate).map(instructions).unwrap_or_default();
        let change = bisected.level(candidate).map_or_else(TableCell::default, |effect| TableCell {
            mark: mark(bisected, state),
            small: work_error(&effect),
            ..TableCell::plain(work_percent(&effect))
        });
        let cells = vec![TableCell::plain(count), change, TableCell::plain(candidate_state(state))];
        Row::new(short_name(bisected, candidate), cells)
    };
    Table {
        caption: format!("Instructions per {}", operation_word(counts.operation())),
        corner: corner(bisected),
        columns: vec![
            Column::numbers("instructions", ""),
            Column::numbers("change %", "change in per cent of the first"),
            Column::words("result"),
        ],
        rows: bisected.shown().into_iter().map(row).collect(),
        ..Table::default()
    }
}

fn of_rounds(bisected: &Bisected<'_>) -> Table {
    let row = |candidate: usize| {
        let (probed, state) = (bisected.probed(candidate), bisected.state(candidate));
        let ratio = |effect: Effect| TableCell { mark: mark(bisected, state), ..TableCell::ratio(&effect) };
        let ratio = bisected.level(candidate).map_or_else(TableCell::default, ratio);
        let rounds = probed.map(|probed| probed.decision.rounds.to_string()).unwrap_or_default();
        let cells = vec![ratio, TableCell::plain(rounds), TableCell::plain(candidate_state(state))];
        Row::new(short_name(bisected, candidate), cells)
    };
    let heading = format!("Throughput relative to {}", short_name(bisected, 0));
    Table {
        caption: bisected.experiment.map_or(heading.clone(), |experiment| caption(experiment, &heading)),
        corner: corner(bisected),
        columns: vec![Column::numbers("ratio", ""), Column::numbers("rounds", ""), Column::words("result")],
        rows: bisected.shown().into_iter().map(row).collect(),
        ..Table::default()
    }
}

/// The mark of a cell with a change from the first: where a change began.
fn mark(bisected: &Bisected<'_>, state: CandidateState<'_>) -> Highlight {
    let CandidateState::Began(change) = state else { return Highlight::None };
    let effect = bisected.bisection.changes().get(change).and_then(|change| bisected.effect(change));
    if effect.is_some_and(|effect| is_worse(bisected, &effect)) {
        Highlight::Worse
    } else {
        Highlight::Better
    }
}

/// Whether a change is for the worse: more work, less throughput.
pub(crate) fn is_worse(bisected: &Bisected<'_>, effect: &Effect) -> bool {
    (effect.ratio > 1.0) == matches!(bisected.found, Found::Work(_))
}

fn corner(bisected: &Bisected<'_>) -> &'static str {
    if bisected.commits.is_some() { "commit" } else { "candidate" }
}
