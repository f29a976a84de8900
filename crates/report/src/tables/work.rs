//! Instructions per operation, and the functions that account for a difference.

use basecase_analysis::{Causes, CellCount, Counts, FunctionWork, Mover, Results, Work};
use basecase_stats::WorkVerdict;

use super::{Column, FAILED, Highlight, MISSING, Row, Table, TableCell};
use crate::words::{
    function_name, instructions, instructions_changed, largest_mover, operation_of, place, share,
    what_became, work_error, work_percent,
};

/// How to read a table of work that shows this of a change.
fn reading(shown: &str) -> String {
    format!(
        "Instructions that the server executes for an operation{shown}. More work is no time: it says nothing of the kernel, caches and waiting."
    )
}

/// The change with its interval.
const CHANGE: &str = ", and the change in per cent of the base case with its interval";
/// Most functions in a table.
const MOST: usize = 12;

/// The work of all steps; one contender has its numbers, several a column each.
pub(crate) fn overview(results: &Results<'_>, counts: &Counts<'_>) -> Table {
    let contenders: Vec<usize> = results.candidates().skip(1).map(|(candidate, _)| candidate).collect();
    let steps = counts.steps().filter_map(|step| Some((step, results.experiment.steps.get(step)?)));
    let rows = steps.map(|(step, facts)| {
        let base = TableCell::plain(count(counts, step, 0));
        let others = match contenders.as_slice() {
            [] => vec![spread(counts, step, 0)],
            [only] => {
                let mut cells = of_contender(counts, step, *only);
                cells.push(TableCell::plain(largest(counts, step, *only)));
                cells
            }
            several => several.iter().map(|candidate| compared(counts, step, *candidate)).collect(),
        };
        Row { step: Some(step), ..Row::new(&facts.label, std::iter::once(base).chain(others).collect()) }
    });
    let others = match contenders.as_slice() {
        [] => vec![Column::numbers("spread %", SPREAD)],
        [_] => {
            let mut columns = contender_columns();
            columns.push(Column { aside: true, ..Column::words("mostly by") });
            columns
        }
        several => {
            let facts = several.iter().filter_map(|candidate| results.experiment.candidates.get(*candidate));
            facts.map(|facts| Column::numbers(&facts.name.0, "change in per cent of the base case")).collect()
        }
    };
    let base = Column::numbers("base case", "instructions per operation");
    let shown = match contenders.len() {
        0 => "",
        1 => CHANGE,
        _ => ", and the change in per cent of the base case with its verdict",
    };
    Table {
        caption: "Instructions per operation".into(),
        reading: reading(shown),
        corner: "step",
        columns: std::iter::once(base).chain(others).collect(),
        rows: rows.collect(),
        ..Table::default()
    }
}

const SPREAD: &str = "standard deviation of the windows of one candidate";

fn contender_columns() -> Vec<Column> {
    vec![
        Column::numbers("candidate", "instructions per operation"),
        Column::numbers("change %", "change in per cent of the base case"),
        Column::words("work"),
        Column { aside: true, ..Column::numbers("spread %", SPREAD) },
    ]
}

fn of_contender(counts: &Counts<'_>, step: usize, candidate: usize) -> Vec<TableCell> {
    let work = counts.work(step, candidate);
    let change = work.map_or_else(|| TableCell::plain(MISSING), change);
    let verdict = work.map_or_else(TableCell::default, |work| {
        TableCell::marked(short(work.verdict()), mark(work.verdict()))
    });
    vec![TableCell::plain(count(counts, step, candidate)), change, verdict, spread(counts, step, candidate)]
}

fn change(work: &Work) -> TableCell {
    TableCell { small: work_error(&work.effect()), ..TableCell::plain(work_percent(&work.effect())) }
}

/// The change with its verdict as small print.
fn compared(counts: &Counts<'_>, step: usize, candidate: usize) -> TableCell {
    match counts.work(step, candidate) {
        Some(work) => {
            let small = if work.verdict() == WorkVerdict::SameWork { "" } else { short(work.verdict()) };
            TableCell {
                small: small.into(),
                ..TableCell::marked(work_percent(&work.effect()), mark(work.verdict()))
            }
        }
        None if counts.cell(step, candidate).is_some_and(|cell| cell.failure().is_some()) => {
            TableCell::plain(FAILED)
        }
        None => TableCell::plain(MISSING),
    }
}

/// The function that accounts for most of a decided change, e.g. `pg_checksum_page +6,741`.
fn largest(counts: &Counts<'_>, step: usize, candidate: usize) -> String {
    let is_change = counts.work(step, candidate).is_some_and(|work| work.verdict().is_change());
    let causes = counts.causes(step, candidate).filter(|_| is_change);
    causes.as_ref().and_then(largest_mover).unwrap_or_default()
}

/// The verdict in a word.
fn short(verdict: WorkVerdict) -> &'static str {
    match verdict {
        WorkVerdict::MoreWork => "more",
        WorkVerdict::LessWork => "less",
        WorkVerdict::SameWork => "the same",
        WorkVerdict::NotEnoughData => "undecided",
    }
}

/// The mark of a verdict on work.
pub(crate) fn mark(verdict: WorkVerdict) -> Highlight {
    match verdict {
        WorkVerdict::MoreWork => Highlight::Worse,
        WorkVerdict::LessWork => Highlight::Better,
        WorkVerdict::SameWork | WorkVerdict::NotEnoughData => Highlight::None,
    }
}

/// Instructions per operation, or why there are none.
fn count(counts: &Counts<'_>, step: usize, candidate: usize) -> String {
    match counts.cell(step, candidate) {
        Some(cell) => cell.instructions().map_or_else(|| FAILED.to_owned(), instructions),
        None => MISSING.to_owned(),
    }
}

fn spread(counts: &Counts<'_>, step: usize, candidate: usize) -> TableCell {
    let spread = counts.cell(step, candidate).and_then(CellCount::spread);
    TableCell::plain(spread.map_or_else(|| MISSING.to_owned(), |spread| format!("{:.3}", 100.0 * spread)))
}

/// A row for each candidate on one step; `None` if nothing was counted of it.
pub(crate) fn of_step(results: &Results<'_>, step: usize) -> Option<Table> {
    let counts = results.counts?;
    let facts = results.experiment.steps.get(step)?;
    let row = |(candidate, name): (usize, &str)| {
        let cell = counts.cell(step, candidate)?;
        let mut cells = of_contender(counts, step, candidate);
        cells.extend(
            [cell.starts.len(), cell.windows().len()].map(|number| TableCell::plain(number.to_string())),
        );
        cells.push(TableCell::plain(crate::words::grouped(cell.operations())));
        Some(Row { reference: candidate == 0, ..Row::new(name, cells) })
    };
    let candidates = results.candidates().map(|(candidate, facts)| (candidate, facts.name.0.as_str()));
    let rows: Vec<Row> = candidates.filter_map(row).collect();
    let mut columns = contender_columns();
    columns[0] = Column::numbers("instructions", "instructions per operation");
    columns.extend(
        [
            ("starts", "starts of the server"),
            ("windows", "windows of all starts"),
            ("operations", "operations of all windows"),
        ]
        .map(|(name, meaning)| Column { aside: true, ..Column::numbers(name, meaning) }),
    );
    (!rows.is_empty()).then(|| Table {
        caption: format!("{} instructions per {}", facts.label, operation_of(counts, step)),
        reading: reading(CHANGE),
        corner: "candidate",
        columns,
        rows,
        ..Table::default()
    })
}

/// The functions that account for most of a change; `None` if none did.
pub(crate) fn movers(causes: &Causes<'_>, caption: String, operation: &str) -> Option<Table> {
    let cell = |text: String| TableCell::plain(text);
    let row = |mover: &Mover<'_>| {
        let function = &mover.function;
        let all = |of: fn(&FunctionWork<'_>) -> f64| mover.functions().map(of).sum::<f64>();
        let calls = [all(|one| one.base.calls), all(|one| one.contender.calls)];
        let cells = vec![
            cell(instructions(mover.base())),
            cell(instructions(mover.contender())),
            cell(instructions_changed(mover.change())),
            cell(share(causes.share(mover))),
            cell(place(function)),
            cell(what_became(mover)),
            cell(instructions_changed(function.inclusive_change())),
            cell(format!("{} → {}", instructions(calls[0]), instructions(calls[1]))),
            cell(function.object.to_owned()),
        ];
        Row::new(function_name(function), cells)
    };
    let rows: Vec<Row> = causes.movers.iter().take(MOST).map(row).collect();
    let more = causes.movers.len().saturating_sub(MOST);
    let more = match more {
        0 => String::new(),
        1 => " A smaller one is left out.".to_owned(),
        more => format!(" {more} smaller ones are left out."),
    };
    (!rows.is_empty()).then(|| Table {
        caption,
        reading: format!(
            "{} → {} instructions per {operation}, {}. Of each function, its own.{more}",
            instructions(causes.base),
            instructions(causes.contender),
            instructions_changed(causes.change())
        ),
        corner: "function",
        columns: vec![
            Column::numbers("before", "own instructions of the base case"),
            Column::numbers("after", "own instructions of the candidate"),
            Column::numbers("change", ""),
            Column::numbers("share", "part of the whole change"),
            Column::words("where"),
            Column { aside: true, ..Column::words("note") },
            Column { aside: true, ..Column::numbers("inclusive", "change with all that it calls") },
            Column { aside: true, ..Column::numbers("calls", "of base case and candidate") },
            Column { aside: true, ..Column::words("object") },
        ],
        rows,
        ..Table::default()
    })
}
