//! Events of a step with the counts, rates and latencies that sysbench reports.

use basecase_analysis::{Measured, Results, latencies};
use basecase_model::{Headline, StatementClass, StepFacts};

use super::{Column, NOT_AVAILABLE, Row, Table, TableCell, absent, grouped, number};

/// One row per candidate; `None` for steps without events of a workload file.
pub(crate) fn table(
    results: &Results<'_>,
    (step_number, step): (usize, &StepFacts),
    percentile: f64,
) -> Option<Table> {
    if step.threads.is_none() || step.headline != Headline::Queries {
        return None;
    }
    let mut columns = vec![
        Column::numbers("events", "called transactions by sysbench"),
        Column::numbers("events/s", ""),
        Column::numbers("read", "statements that can return rows"),
        Column::numbers("write", "statements that changed a row"),
        Column::numbers("other", "BEGIN, COMMIT and writes that changed no row"),
        Column::numbers("queries", "statements of all three classes"),
        Column::numbers("queries/s", ""),
        Column::numbers("retries", "called ignored errors by sysbench"),
        Column::numbers("min ms", "shortest event"),
        Column::numbers("mean ms", "mean over events"),
        Column::numbers(percentile_name(percentile), "latency that this percentage of events did not exceed"),
        Column::numbers("max ms", "longest event"),
    ];
    if step.scanned_rows.is_some() {
        columns.push(Column::numbers(
            "K rows/s",
            "rows scanned by one connection, as published; not multiplied by the connections",
        ));
    }
    let row = |candidate| match results.measured(step_number, candidate) {
        Some(measured) => cells(&measured, percentile),
        None => vec![absent(results, step_number, candidate); columns.len()],
    };
    Some(Table {
        caption: format!("{} events", step.label),
        reading: "Counts in the measured window, as sysbench reports them; latencies are of whole events."
            .into(),
        corner: "dbms",
        rows: results
            .candidates()
            .map(|(candidate, facts)| Row::new(&facts.name.0, row(candidate)))
            .collect(),
        columns,
        ..Table::default()
    })
}

/// Heading of a percentile in milliseconds, e.g. `p95 ms`.
pub(crate) fn percentile_name(percentile: f64) -> String {
    format!("p{percentile} ms")
}

fn cells(measured: &Measured<'_>, percentile: f64) -> Vec<TableCell> {
    let trial = measured.trial;
    let executed = |class| match trial.statements.as_slice() {
        [] => NOT_AVAILABLE.to_owned(),
        records => grouped(records.iter().map(|record| record.executed_as(class)).sum()),
    };
    let latencies = latencies(trial, measured.headline_class());
    let service = latencies.as_ref().map(|latencies| &latencies.service);
    let ms = |nanoseconds: Option<f64>| number(nanoseconds.map(|nanoseconds| nanoseconds / 1e6), 3);
    let scanned = measured.scanned_krows_per_second().map(|rate| number(Some(rate), 0));
    let texts = [
        grouped(measured.events()),
        number(Some(measured.events_per_second()), 2),
        executed(StatementClass::Read),
        executed(StatementClass::Write),
        executed(StatementClass::Other),
        grouped(trial.items(measured.headline_class())),
        number(measured.headline(), 2),
        grouped(measured.retries()),
        ms(service.map(|service| service.min_ns() as f64)),
        ms(service.map(|service| service.mean_ns())),
        number(measured.event_latency_ms(percentile), 3),
        ms(service.map(|service| service.max_ns() as f64)),
    ];
    texts.into_iter().chain(scanned).map(TableCell::plain).collect()
}
