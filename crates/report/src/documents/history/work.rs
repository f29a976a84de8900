//! The work of an operation over the versions, as text.

use basecase_analysis::{VersionHistory, WorkChange, WorkHistory};
use basecase_stats::WorkVerdict;

use crate::documents::Block;
use crate::tables::{self, Highlight, Table, TableCell};
use crate::words::{
    EffectWords as _, change_place, instructions, largest_mover, margin, work_error, work_percent,
};

/// The course of work and its changes.
pub(super) fn of_work(history: &VersionHistory<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Table(table(history)), Block::Heading("Changes of work".into())];
    let lines = |step: &WorkHistory<'_>| -> Vec<String> {
        let changes = step.changes.iter().map(|change| line(history, step, change));
        let open = (step.open > 0).then(|| {
            let versions = if step.open == 1 { "version" } else { "versions" };
            format!("{}: of {} {versions} it is not decided whether work changed", step.label, step.open)
        });
        changes.chain(open).collect()
    };
    let lines: Vec<String> = history.work.iter().flat_map(lines).collect();
    blocks.push(if lines.is_empty() { Block::Paragraph("None.".into()) } else { Block::List(lines) });
    blocks
}

/// E.g. `point-query: 2.5 % more work (2.4–2.6 %) since pg186.x10a, most by LockAcquireExtended +267`.
fn line(history: &VersionHistory<'_>, step: &WorkHistory<'_>, change: &WorkChange<'_>) -> String {
    let place = change_place(history, change);
    let mover = change.causes.as_ref().and_then(largest_mover);
    let mover = mover.map(|mover| format!(", most by {mover}")).unwrap_or_default();
    format!("{}: {} {place}{mover}", step.label, change.effect().work_difference())
}

/// A row for each step or each version, whichever are more.
fn table(history: &VersionHistory<'_>) -> Table {
    let cell = |step: &WorkHistory<'_>, version: usize| {
        let is_here = |change: &&WorkChange<'_>| change.shift.version == version && !change.shift.is_gradual;
        let mark = step.changes.iter().find(is_here).map_or(Highlight::None, mark_of);
        match (step.ratios[version], step.instructions[version]) {
            (Some(effect), Some(_)) if version > 0 => {
                TableCell { small: work_error(&effect), ..TableCell::marked(work_percent(&effect), mark) }
            }
            (_, Some(count)) => TableCell::marked(instructions(count), mark),
            _ => TableCell::plain(tables::MISSING),
        }
    };
    let cells = |step: &WorkHistory<'_>| -> Vec<TableCell> {
        (0..history.versions.len()).map(|version| cell(step, version)).collect()
    };
    let cells: Vec<Vec<TableCell>> = history.work.iter().map(cells).collect();
    let steps = history.work.iter().map(|step| step.label);
    let changes = || history.work.iter().flat_map(|step| &step.changes);
    let size = changes().next().map(|change| change.shift.decision.margin);
    let limit =
        size.map(|size| format!(" Changes below {} do not matter.", margin(size))).unwrap_or_default();
    let meanings = [(Highlight::Worse, "more work begins"), (Highlight::Better, "less work begins")];
    let marks = changes().filter(|change| !change.shift.is_gradual);
    let (corner, columns, rows) =
        super::laid_out(history.versions.iter().map(String::as_str).collect(), None, steps.collect(), cells);
    Table {
        caption: "Instructions per operation".into(),
        reading: format!("{READING}{}{limit}", if history.joined.is_some() { OVER_DATES } else { "" }),
        corner,
        columns,
        rows,
        legend: super::legend(meanings, marks.map(mark_of)),
        ..Table::default()
    }
}

fn mark_of(change: &WorkChange<'_>) -> Highlight {
    if change.shift.decision.verdict == WorkVerdict::MoreWork { Highlight::Worse } else { Highlight::Better }
}

const READING: &str = "The first version has its instructions, the others their change in per cent of it with its 95 % interval. \
                       More work is no time. A change is named by the version with which it begins, relative to the version \
                       before. Changes that matter only together are named together. On average, at most 5 % of the named \
                       changes are false.";

const OVER_DATES: &str = " Experiments with one base case share its counts and the size of their windows; versions that were counted in \
                          windows of another size executed other operations and are left out.";
