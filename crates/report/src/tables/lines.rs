//! The metrics of a step as tables.

use basecase_analysis::Results;
use basecase_analysis::metrics::{EXTRAS, TAG, TrialMetric, line};
use basecase_model::StepFacts;

use super::{Column, FAILED, MISSING, Row, Table, TableCell, number};

/// How to read every table of metrics.
pub(crate) fn reading(results: &Results<'_>) -> String {
    let operation = if results.is_workload_file() {
        "all threads. An operation is a query, or a row during the load."
    } else {
        "all clients. An operation is an insert in l steps and a query in q steps."
    };
    format!("Metrics are means over the measured window and {operation} {READING}")
}

const READING: &str = "cpupq is the whole host's CPU time in µs per operation (in ticks of a few ms if the kernel is no \
                       more precise, but never less than server and client used), server_cpupq and client_cpupq that of \
                       the server's processes and of basecase. p50 and p99 are rates that 50 % and 99 % of the seconds \
                       reached or exceeded, not latencies; maxop is in seconds; rss is the proportional set size of the \
                       server's processes in GiB. NA means not available.";

/// The metrics lines and the other metrics, one row per candidate.
pub(crate) fn tables(results: &Results<'_>, step: (usize, &StepFacts)) -> [Table; 2] {
    let lines: Vec<&TrialMetric> = line().collect();
    let others: Vec<&TrialMetric> = EXTRAS.iter().collect();
    [table(results, step, "metrics", &lines), table(results, step, "additional metrics", &others)]
}

fn table(
    results: &Results<'_>,
    (step, facts): (usize, &StepFacts),
    what: &str,
    metrics: &[&'static TrialMetric],
) -> Table {
    let cell = |candidate, metric: &TrialMetric| match results.measured(step, candidate) {
        Some(measured) => number((metric.of)(&measured), metric.decimals),
        None if results.trial(step, candidate).is_some() => FAILED.to_owned(),
        None => MISSING.to_owned(),
    };
    let row = |candidate| metrics.iter().map(|metric| TableCell::plain(cell(candidate, metric))).collect();
    Table {
        caption: format!("{} {what}", facts.name),
        corner: TAG,
        columns: metrics.iter().map(|metric| Column::numbers(metric.name, meaning(metric))).collect(),
        rows: results
            .candidates()
            .map(|(candidate, facts)| Row::new(&facts.name.0, row(candidate)))
            .collect(),
        ..Table::default()
    }
}

/// The meaning of a metric, with its unit.
pub(crate) fn meaning(metric: &TrialMetric) -> String {
    if metric.unit.is_empty() {
        metric.meaning.to_owned()
    } else {
        format!("{} ({})", metric.meaning, metric.unit)
    }
}
