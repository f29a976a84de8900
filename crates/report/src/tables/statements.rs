//! Counts of a step's statements by kind.

use basecase_analysis::{Measured, Results, quotient};
use basecase_model::{StatementClass, StatementRecord, StepFacts};

use super::{Column, Row, Table, TableCell, grouped, number};

/// One row per candidate and kind of statement; `None` if the step's statements have no kinds.
pub(crate) fn table(results: &Results<'_>, (step_number, step): (usize, &StepFacts)) -> Option<Table> {
    let mut rows = Vec::new();
    for (candidate, facts) in results.candidates() {
        let Some(measured) = results.measured(step_number, candidate) else { continue };
        let kind_row = |record| Row::new(&facts.name.0, cells(&measured, record));
        rows.extend(measured.trial.statements.iter().map(kind_row));
    }
    (!rows.is_empty()).then(|| Table {
        caption: format!("{} statements", step.label),
        reading: "Statements in the measured window. Writes without effect affected no row; undone rows were rolled back \
                  because their transaction was retried."
            .into(),
        corner: "dbms",
        columns: vec![
            Column::words("kind"),
            Column::words("class"),
            Column::numbers("executed", "statements executed"),
            Column::numbers("per event", "statements per event"),
            Column::numbers("no effect", "writes that affected no row"),
            Column::numbers("no effect %", "their share of the statements executed"),
            Column::numbers("affected", "rows affected, as the server counted them"),
            Column::numbers("undone", "affected rows that were rolled back"),
            Column::numbers("fetched", "rows fetched"),
            Column::numbers("mismatches", "unexpected replies"),
        ],
        rows,
        ..Table::default()
    })
}

fn cells(measured: &Measured<'_>, record: &StatementRecord) -> Vec<TableCell> {
    let counts = &record.window;
    let share = quotient(100.0 * counts.without_effect as f64, counts.executed as f64);
    let is_write = record.class == StatementClass::Write;
    let texts = [
        record.name.clone(),
        record.class.as_str().to_owned(),
        grouped(counts.executed),
        number(quotient(counts.executed as f64, measured.events() as f64), 2),
        if is_write { grouped(counts.without_effect) } else { String::new() },
        if is_write { number(share, 1) } else { String::new() },
        grouped(counts.affected),
        grouped(counts.undone),
        grouped(counts.fetched),
        grouped(counts.mismatches),
    ];
    texts.into_iter().map(TableCell::plain).collect()
}
