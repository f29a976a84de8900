//! Charts of a sweep by number of threads, on the overview.

use basecase_analysis::{Results, Sweep};
use serde::Serialize;

use crate::options::Options;
use crate::tables::events::percentile_name;

/// All charts on the overview.
#[derive(Serialize)]
pub(crate) struct SweepCharts<'a> {
    /// Names of the candidates; a series refers to its candidate by number.
    rows: Vec<&'a str>,
    /// The charts, [`CHARTS_OF_SWEEP`] for each sweep.
    pub(crate) charts: Vec<SweepChart>,
}

/// How many charts each sweep has.
pub(crate) const CHARTS_OF_SWEEP: usize = 2;

/// One chart.
#[derive(Serialize)]
pub(crate) struct SweepChart {
    kind: &'static str,
    /// What it shows.
    #[serde(skip)]
    pub(crate) caption: String,
    /// Positions on the x axis.
    threads: Vec<u32>,
    series: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    row: usize,
    /// One per number of threads; `None` if nothing was measured.
    values: Vec<Option<f64>>,
}

/// Throughput and latency of every sweep.
pub(crate) fn charts<'a>(results: &Results<'a>, options: &Options) -> SweepCharts<'a> {
    let mut charts = Vec::new();
    for sweep in results.sweeps() {
        let latency_name = format!("event latency, {}", percentile_name(options.percentile));
        let pair: [SweepChart; CHARTS_OF_SWEEP] = [
            chart(results, &sweep, "queries/s", |step, candidate| results.headline(step, candidate)),
            chart(results, &sweep, &latency_name, |step, candidate| {
                results.measured(step, candidate)?.event_latency_ms(options.percentile)
            }),
        ];
        charts.extend(pair);
    }
    SweepCharts { rows: results.candidates().map(|(_, facts)| facts.name.0.as_str()).collect(), charts }
}

fn chart(
    results: &Results<'_>,
    sweep: &Sweep<'_>,
    measure: &str,
    value_of: impl Fn(usize, usize) -> Option<f64>,
) -> SweepChart {
    let values = |candidate| {
        let value = |&(_, step): &(u32, usize)| value_of(step, candidate);
        sweep.points.iter().map(value).collect::<Vec<Option<f64>>>()
    };
    SweepChart {
        kind: "threads",
        caption: format!("{}: {measure} by threads", sweep.name),
        threads: sweep.points.iter().map(|(threads, _)| *threads).collect(),
        series: results.candidates().map(|(row, _)| Line { row, values: values(row) }).collect(),
    }
}
