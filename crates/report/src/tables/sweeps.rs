//! One step by number of threads, with a table for each measure.

use basecase_analysis::metrics::{CPU_SHARES, INNODB_ROWS};
use basecase_analysis::{Measured, Results, Sweep};

use super::events::percentile_name;
use super::{Column, Row, Table, TableCell, absent, number, relative, relative_to};
use crate::options::Options;

/// How to read the tables of a sweep.
pub(crate) const READING: &str = "Each row is a number of threads, each column a candidate. Every statement counts as a \
                                  query, including BEGIN and COMMIT.";

/// Queries per second, absolute and relative to the base case.
pub(crate) fn throughput(results: &Results<'_>, sweep: &Sweep<'_>, options: &Options) -> Vec<Table> {
    let mut tables = vec![table(results, sweep, "queries/s".into(), 0, |step, candidate| {
        Some(TableCell::plain(format!("{:.0}", results.headline(step, candidate)?)).of_trial(step, candidate))
    })];
    if results.experiment.candidates.len() > 1 {
        let cell = |step, candidate| Some(relative::cell(results, step, candidate, options.thresholds));
        let to_base = table(results, sweep, "queries/s relative to the base case".into(), 1, cell);
        let reading = relative_to(results);
        tables.push(Table { reading, legend: relative::legend(results, options.thresholds), ..to_base });
    }
    tables
}

/// Latency, CPU and events; rows of InnoDB if any candidate counts them.
pub(crate) fn others(results: &Results<'_>, sweep: &Sweep<'_>, options: &Options) -> Vec<Table> {
    let measured = |step, candidate| results.measured(step, candidate);
    let plain = |caption: String, decimals: usize, value_of: &dyn Fn(&Measured<'_>) -> Option<f64>| {
        table(results, sweep, caption, 0, |step, candidate| {
            Some(TableCell::plain(number(value_of(&measured(step, candidate)?), decimals)))
        })
    };
    let latency = |measured: &Measured<'_>| measured.event_latency_ms(options.percentile);
    let mut tables = vec![
        plain(format!("event latency, {}", percentile_name(options.percentile)), 3, &latency),
        plain("events/s".into(), 1, &|measured| Some(measured.events_per_second())),
        plain("server CPU per query, µs".into(), 1, &CPU_SHARES[0].of),
    ];
    let trials = || {
        let points = sweep.points.iter();
        points.flat_map(|(_, step)| {
            results.candidates().filter_map(|(candidate, _)| measured(*step, candidate))
        })
    };
    let counted = INNODB_ROWS.iter().filter(|metric| trials().any(|trial| (metric.of)(&trial).is_some()));
    tables.extend(counted.map(|metric| plain(metric.meaning.into(), metric.decimals, &metric.of)));
    tables
}

/// One row per number of threads and one column per candidate from `first` on.
fn table(
    results: &Results<'_>,
    sweep: &Sweep<'_>,
    measure: String,
    first: usize,
    cell: impl Fn(usize, usize) -> Option<TableCell>,
) -> Table {
    let row = |&(threads, step): &(u32, usize)| {
        let cell = |(candidate, _)| cell(step, candidate).unwrap_or_else(|| absent(results, step, candidate));
        let cells = results.candidates().skip(first).map(cell).collect();
        Row { step: Some(step), ..Row::new(threads.to_string(), cells) }
    };
    Table {
        caption: format!("{}: {measure}", sweep.name),
        corner: "threads",
        columns: results
            .candidates()
            .skip(first)
            .map(|(_, facts)| Column::numbers(&facts.name.0, ""))
            .collect(),
        rows: sweep.points.iter().map(row).collect(),
        ..Table::default()
    }
}
