//! Response times: the ten published buckets and exact percentiles.

use basecase_analysis::{
    BUCKETS, Clock, Latencies, PERCENTILES, Results, Standing, counts, latencies, quarters_least_is_best,
    timed_name,
};
use basecase_model::{Histogram, OperationClass, StepFacts};

use super::{Column, FAILED, Highlight, MISSING, Row, Table, TableCell};

/// The classes whose response times are shown, in order.
pub(crate) const CLASSES: [OperationClass; 3] =
    [OperationClass::Query, OperationClass::Insert, OperationClass::Delete];

/// All classes and clocks of latencies.
pub(crate) fn timed() -> impl Iterator<Item = (OperationClass, Clock)> {
    CLASSES.into_iter().flat_map(|class| Clock::ALL.map(|clock| (class, clock)))
}

/// How to read every table of response times.
pub(crate) fn reading(results: &Results<'_>) -> String {
    let events = if results.is_workload_file() { " A statement here is a whole event." } else { "" };
    format!("{READING}{events}")
}

const READING: &str = "Buckets have the % of statements up to the bound in their heading and above the previous one, not \
                       cumulative; nonzero is more than 0 and less than 0.0005 %. Service time starts when a statement is \
                       sent, and excludes waiting for its turn. Response time, of paced roles only, starts when the \
                       schedule meant the statement to start, and includes waiting behind a slow one.";

/// The table of one class by one clock; `None` if no candidate has such latencies.
pub(crate) fn table(
    results: &Results<'_>,
    (number, step): (usize, &StepFacts),
    class: OperationClass,
    clock: Clock,
) -> Option<Table> {
    let latencies_of = |candidate| latencies(results.measured(number, candidate)?.trial, class);
    let all: Vec<Option<Latencies<'_>>> =
        results.candidates().map(|(candidate, _)| latencies_of(candidate)).collect();
    let histograms: Vec<Option<&Histogram>> =
        all.iter().map(|latencies| latencies.as_ref().and_then(|latencies| latencies.by(clock))).collect();
    if histograms.iter().all(Option::is_none) {
        return None;
    }
    let longest_ms: Vec<Option<i64>> = histograms
        .iter()
        .map(|histogram| histogram.map(|histogram| (histogram.max_ns() as f64 / 1e6).round() as i64))
        .collect();
    let standings = quarters_least_is_best(&longest_ms);
    let rows = results.candidates().zip(histograms).zip(standings).map(
        |(((candidate, facts), histogram), standing)| {
            let cells = match histogram {
                Some(histogram) => cells(histogram, standing),
                None => absent_cells(results, number, candidate),
            };
            Row::new(&facts.name.0, cells)
        },
    );
    let bucket = |(name, _): &(&str, u64)| Column::numbers(*name, "% of statements in this bucket alone");
    let percentile =
        |(name, _): &(&str, f64)| Column::numbers(format!("{name} ms"), "latency percentile in milliseconds");
    Some(Table {
        caption: format!("{} {}, {}", step.name, timed_name(step, class), clock.title()),
        legend: vec![
            (Highlight::TopQuarter, "longest statement in the best quarter of the range".into()),
            (Highlight::BottomQuarter, "longest statement in the worst quarter, if the range is wide".into()),
        ],
        corner: "dbms",
        columns: BUCKETS
            .iter()
            .map(bucket)
            .chain(PERCENTILES.iter().map(percentile))
            .chain([Column::numbers("max s", "longest statement in seconds")])
            .collect(),
        rows: rows.collect(),
        ..Table::default()
    })
}

/// The buckets of a candidate, its percentiles, and the longest statement, which is coloured.
fn cells(histogram: &Histogram, standing: Standing) -> Vec<TableCell> {
    let percentile = |(_, quantile): &(&str, f64)| {
        TableCell::plain(format!("{:.3}", histogram.quantile_ns(*quantile) as f64 / 1e6))
    };
    let longest = format!("{:.3}", histogram.max_ns() as f64 / 1e9);
    let mut cells = bucket_cells(&counts(histogram));
    cells.extend(PERCENTILES.iter().map(percentile));
    cells.push(TableCell::marked(longest, standing.into()));
    cells
}

/// The cells of a candidate without such latencies.
fn absent_cells(results: &Results<'_>, step: usize, candidate: usize) -> Vec<TableCell> {
    let failed = results.trial(step, candidate).is_some_and(|trial| !trial.is_complete());
    vec![TableCell::plain(if failed { FAILED } else { MISSING }); BUCKETS.len() + PERCENTILES.len() + 1]
}

/// Percentages with three decimals; empty without statements, `nonzero` if the percentage rounds to 0.
fn bucket_cells(counts: &[u64; 10]) -> Vec<TableCell> {
    let total: u64 = counts.iter().sum();
    let cell = |&count: &u64| {
        if count == 0 {
            return TableCell::default();
        }
        let share = count as f64 / total as f64;
        let text = format!("{:.3}", share * 100.0);
        let text = if text == "0.000" { "nonzero".to_owned() } else { text };
        TableCell { text, share: Some(share), ..TableCell::default() }
    };
    counts.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(counts: [u64; 10]) -> Vec<String> {
        bucket_cells(&counts).into_iter().map(|cell| cell.text).collect()
    }

    #[test]
    fn published_histogram() {
        let counts = [0, 94_239, 5643, 110, 4, 3, 0, 0, 0, 0];
        assert_eq!(counts.iter().sum::<u64>(), 99_999);
        assert_eq!(texts(counts), ["", "94.240", "5.643", "0.110", "0.004", "0.003", "", "", "", ""]);
    }

    #[test]
    fn what_rounds_to_0_is_still_shown() {
        assert_eq!(texts([1_000_000, 0, 0, 0, 0, 0, 0, 0, 0, 1])[9], "nonzero");
        assert_eq!(texts([0; 10]), [""; 10]);
    }
}
