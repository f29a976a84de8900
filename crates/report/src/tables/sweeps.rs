//! One step by number of threads, with a table for each measure.

use basecase_analysis::metrics::{CPU_SHARES, EVENTS, INNODB_ROWS, PURGE_LAG, THREADS, TrialMetric};
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

/// What else than throughput a sweep shows, as a table and as a chart.
pub(crate) struct Measure {
    /// What it is, with its unit.
    pub(crate) caption: String,
    decimals: usize,
    of: Source,
}

/// How a measure is computed.
enum Source {
    /// This percentile of the events' latency.
    Latency(f64),
    Metric(&'static TrialMetric),
}

impl Measure {
    fn of_metric(metric: &'static TrialMetric) -> Measure {
        let caption = match metric.unit {
            // Meanings tell rates, shares and counts by themselves.
            "" | "1/s" | "%" => metric.meaning.to_owned(),
            unit => format!("{}, {unit}", metric.meaning),
        };
        Measure { caption, decimals: metric.decimals, of: Source::Metric(metric) }
    }

    /// The value of a trial.
    pub(crate) fn value(&self, measured: &Measured<'_>) -> Option<f64> {
        match &self.of {
            Source::Latency(percentile) => measured.event_latency_ms(*percentile),
            Source::Metric(metric) => (metric.of)(measured),
        }
    }
}

/// The measures that any trial of the sweep has: latency first, then events, statements, CPU, rows of InnoDB and how far purge lags.
pub(crate) fn measures(results: &Results<'_>, sweep: &Sweep<'_>, options: &Options) -> Vec<Measure> {
    let caption = format!("event latency, {}", percentile_name(options.percentile));
    let latency = Measure { caption, decimals: 3, of: Source::Latency(options.percentile) };
    let metrics = EVENTS[..1].iter().chain(THREADS).chain(&CPU_SHARES[..1]).chain(INNODB_ROWS);
    let metrics = metrics.chain(std::iter::once(&PURGE_LAG)).map(Measure::of_metric);
    let trials: Vec<Measured<'_>> = sweep
        .points
        .iter()
        .flat_map(|(_, step)| {
            results.candidates().filter_map(|(candidate, _)| results.measured(*step, candidate))
        })
        .collect();
    let is_known = |measure: &Measure| trials.iter().any(|trial| measure.value(trial).is_some());
    std::iter::once(latency).chain(metrics).filter(is_known).collect()
}

/// A table for each of the [`measures`].
pub(crate) fn others(results: &Results<'_>, sweep: &Sweep<'_>, options: &Options) -> Vec<Table> {
    let table_of = |measure: Measure| {
        table(results, sweep, measure.caption.clone(), 0, |step, candidate| {
            let value = measure.value(&results.measured(step, candidate)?);
            Some(TableCell::plain(number(value, measure.decimals)))
        })
    };
    measures(results, sweep, options).into_iter().map(table_of).collect()
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
