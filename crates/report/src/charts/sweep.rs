//! Charts of a sweep by number of threads, on the overview.

use basecase_analysis::{Results, Sweep};
use serde::Serialize;

use crate::options::Options;
use crate::tables::sweeps;

/// All charts on the overview.
#[derive(Serialize)]
pub(crate) struct SweepCharts<'a> {
    /// Names of the candidates; a series refers to its candidate by number.
    rows: Vec<&'a str>,
    /// The charts of all sweeps.
    charts: Vec<SweepChart>,
    /// Where the charts of each sweep begin, and where the last ends.
    #[serde(skip)]
    bounds: Vec<usize>,
}

/// How many charts of each sweep come first: throughput and latency.
const FIRST: usize = 2;

impl SweepCharts<'_> {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.charts.is_empty()
    }

    /// Number of sweeps.
    pub(crate) fn sweeps(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The charts of a sweep that come first, with their numbers.
    pub(crate) fn first(&self, sweep: usize) -> impl Iterator<Item = (usize, &SweepChart)> {
        self.of_sweep(sweep).take(FIRST)
    }

    /// Its other charts.
    pub(crate) fn others(&self, sweep: usize) -> impl Iterator<Item = (usize, &SweepChart)> {
        self.of_sweep(sweep).skip(FIRST)
    }

    fn of_sweep(&self, sweep: usize) -> impl Iterator<Item = (usize, &SweepChart)> {
        let (begin, end) = (self.bounds[sweep], self.bounds[sweep + 1]);
        self.charts.iter().enumerate().take(end).skip(begin)
    }
}

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

/// Throughput and all other measures of every sweep.
pub(crate) fn charts<'a>(results: &Results<'a>, options: &Options) -> SweepCharts<'a> {
    let (mut charts, mut bounds) = (Vec::new(), vec![0]);
    for sweep in results.sweeps() {
        charts.push(chart(results, &sweep, "queries/s", |step, candidate| results.headline(step, candidate)));
        charts.extend(sweeps::measures(results, &sweep, options).iter().map(|measure| {
            chart(results, &sweep, &measure.caption, |step, candidate| {
                measure.value(&results.measured(step, candidate)?)
            })
        }));
        bounds.push(charts.len());
    }
    let rows = results.candidates().map(|(_, facts)| facts.name.0.as_str()).collect();
    SweepCharts { rows, charts, bounds }
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
