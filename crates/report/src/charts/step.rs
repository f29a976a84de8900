//! The series of a step's charts, packed for a page.

use basecase_analysis::{Clock, Results, Throughput, latencies, timed_name};
use basecase_model::{Histogram, OperationClass, RoleRecord, StepFacts, Trial};
use serde::Serialize;

use crate::charts::heat_map::{HeatMap, heat_maps};
use crate::charts::packing::packed;
use crate::charts::track::{TrackCharts, TrackGroup};
use crate::tables::response_time::CLASSES;

/// Most points of a chart of one client.
const CLIENT_POINTS: usize = 300;
/// Most points of all single-client charts on a page together, which bounds the page's size.
const CLIENT_POINTS_OF_PAGE: usize = 200_000;
/// The latency percentiles to draw, as shares of slower statements.
const SLOWER: [f64; 26] = [
    1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.025, 0.01, 0.0075, 0.005,
    0.0025, 0.001, 0.000_75, 0.000_5, 0.000_25, 0.000_1, 0.000_05, 0.000_01,
];

/// All charts on the page of one step.
#[derive(Serialize)]
pub(crate) struct Charts<'a> {
    /// Names of the candidates; a series refers to its candidate by number.
    pub(crate) rows: Vec<&'a str>,
    /// The share of slower statements at each point of percentile charts.
    slower: [f64; 26],
    /// The charts in the order of the page.
    pub(crate) charts: Vec<Chart>,
    /// Latencies over time, of each class and candidate.
    pub(crate) heats: Vec<HeatMap>,
    /// Captions of tracks that were 0 in every trial and have no chart.
    #[serde(skip)]
    pub(crate) idle: Vec<String>,
}

/// The subject of a chart, which decides its place on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A class of statements, of all clients.
    Class(OperationClass),
    /// A class of statements of one client.
    Client(OperationClass, u32),
    /// The machine or the server.
    Tracks(TrackGroup),
}

/// One chart.
#[derive(Serialize)]
pub(crate) struct Chart {
    /// The kind of chart.
    pub(crate) kind: ChartKind,
    /// Its subject.
    #[serde(skip)]
    pub(crate) subject: Subject,
    /// What it shows.
    #[serde(skip)]
    pub(crate) caption: String,
    /// Seconds from one point to the next; 0 if x is not time.
    pub(crate) interval: f64,
    /// Factor of the packed numbers.
    pub(crate) factor: f64,
    /// The candidates' lines.
    pub(crate) series: Vec<Line>,
}

/// The kind of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChartKind {
    /// Items per second over time.
    Rate,
    /// Longest statement of each interval over time.
    Longest,
    /// Latency by percentile.
    Percentiles,
    /// A number of the machine or the server over time.
    Track,
}

/// The line of one candidate.
#[derive(Serialize)]
pub(crate) struct Line {
    /// The candidate, by number.
    pub(crate) row: usize,
    /// Its values, packed.
    pub(crate) values: String,
}

/// The charts of a step.
pub(crate) fn charts<'a>(results: &Results<'a>, (number, step): (usize, &StepFacts)) -> Charts<'a> {
    let trials: Vec<(usize, &Trial)> = results
        .candidates()
        .filter_map(|(candidate, _)| Some((candidate, results.measured(number, candidate)?.trial)))
        .collect();
    let rounds = |candidate: usize| results.measured(number, candidate).map_or(1, |measured| measured.rounds);
    let mut charts = Vec::new();
    for class in CLASSES {
        let all_roles = |candidate, trial: &Trial| Throughput::of(trial.roles_of(class), rounds(candidate));
        charts.extend(over_time(step, class, None, &summed(&trials, all_roles)));
        charts.extend(Clock::ALL.into_iter().filter_map(|clock| by_percentile(step, class, clock, &trials)));
    }
    // Threads of a workload file are interchangeable, and there can be a thousand.
    if step.threads.is_none() {
        charts.extend(of_clients(step, &trials, rounds));
    }
    let tracks = TrackCharts::of(&trials, results.experiment.host.cores);
    charts.extend(tracks.charts);
    Charts {
        rows: results.candidates().map(|(_, facts)| facts.name.0.as_str()).collect(),
        slower: SLOWER,
        charts,
        heats: heat_maps(&trials),
        idle: tracks.idle,
    }
}

/// Charts of every client, with fewer points the more there are.
fn of_clients(step: &StepFacts, trials: &[(usize, &Trial)], rounds: impl Fn(usize) -> usize) -> Vec<Chart> {
    let series = |trial: &Trial| trial.roles.iter().filter(|role| !role.series.samples.is_empty()).count();
    let all: usize = trials.iter().map(|(_, trial)| series(trial)).sum();
    let points = CLIENT_POINTS.min(CLIENT_POINTS_OF_PAGE / all.max(1));
    let clients =
        trials.iter().flat_map(|(_, trial)| &trial.roles).map(|role| role.client).max().unwrap_or(0);
    if clients < 2 {
        return Vec::new();
    }
    let mut charts = Vec::new();
    for class in CLASSES {
        for client in 1..=clients {
            let is_of = |role: &&RoleRecord| role.client == client;
            let client_throughput = |candidate, trial: &Trial| {
                Throughput::of(trial.roles_of(class).filter(is_of), rounds(candidate))
            };
            let fine = summed(trials, client_throughput);
            let longest = fine.iter().map(|(_, throughput)| throughput.items.len()).max().unwrap_or(0);
            let factor = longest.div_ceil(points.max(1)).max(1);
            let series: Vec<_> = fine.iter().map(|(row, fine)| (*row, fine.coarser(factor))).collect();
            charts.extend(over_time(step, class, Some(client), &series));
        }
    }
    charts
}

fn summed(
    trials: &[(usize, &Trial)],
    throughput_of: impl Fn(usize, &Trial) -> Option<Throughput>,
) -> Vec<(usize, Throughput)> {
    trials
        .iter()
        .filter_map(|(candidate, trial)| Some((*candidate, throughput_of(*candidate, trial)?)))
        .collect()
}

/// Charts of rate and longest statement over time; empty if nothing was measured. Series with shorter intervals than the longest cannot
/// share their axis, and are left out.
fn over_time(
    step: &StepFacts,
    class: OperationClass,
    client: Option<u32>,
    series: &[(usize, Throughput)],
) -> Vec<Chart> {
    let Some(interval_ms) = series.iter().map(|(_, throughput)| throughput.interval_ms).max() else {
        return Vec::new();
    };
    let same = |(_, throughput): &&(usize, Throughput)| throughput.interval_ms == interval_ms;
    let lines = |values_of: fn(&Throughput) -> &Vec<u64>| {
        let line = |(row, throughput): &(usize, Throughput)| Line {
            row: *row,
            values: packed(values_of(throughput)),
        };
        series.iter().filter(same).map(line).collect::<Vec<Line>>()
    };
    let all = if step.threads.is_some() { "all threads" } else { "all clients" };
    let whose = client.map_or_else(|| all.to_owned(), |client| format!("client {client}"));
    let subject = client.map_or(Subject::Class(class), |client| Subject::Client(class, client));
    let unit = unit(class);
    let interval = f64::from(interval_ms) / 1000.0;
    vec![
        Chart {
            kind: ChartKind::Rate,
            subject,
            caption: format!("{unit}, {whose}"),
            interval,
            factor: 1.0 / interval,
            series: lines(|throughput| &throughput.items),
        },
        Chart {
            kind: ChartKind::Longest,
            subject,
            caption: format!("longest {} in ms, {whose}", timed_name(step, class)),
            interval,
            factor: 0.001,
            series: lines(|throughput| &throughput.max_us),
        },
    ]
}

fn by_percentile(
    step: &StepFacts,
    class: OperationClass,
    clock: Clock,
    trials: &[(usize, &Trial)],
) -> Option<Chart> {
    let line = |(row, trial): &(usize, &Trial)| {
        let latencies = latencies(trial, class)?;
        Some(Line { row: *row, values: packed(&quantiles(latencies.by(clock)?)) })
    };
    let series: Vec<Line> = trials.iter().filter_map(line).collect();
    (!series.is_empty()).then(|| Chart {
        kind: ChartKind::Percentiles,
        subject: Subject::Class(class),
        caption: format!("{} {} by percentile, in ms, logarithmic", timed_name(step, class), clock.title()),
        interval: 0.0,
        factor: 0.0001,
        series,
    })
}

/// Latencies at [`SLOWER`] in tenths of a microsecond, as long as at least one statement is slower.
fn quantiles(histogram: &Histogram) -> Vec<u64> {
    let known = SLOWER.iter().filter(|slower| **slower * histogram.count() as f64 >= 1.0);
    known.map(|slower| histogram.quantile_ns(1.0 - slower) / 100).collect()
}

fn unit(class: OperationClass) -> &'static str {
    match class {
        OperationClass::Insert => "inserts/s",
        OperationClass::Delete => "deletes/s",
        OperationClass::Query => "queries/s",
        OperationClass::Build => "statements/s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_end_where_statements_do() {
        let mut histogram = Histogram::new();
        (0..100).for_each(|_| histogram.record_ns(1_000_000));
        assert_eq!(quantiles(&histogram).len(), SLOWER.iter().filter(|slower| **slower >= 0.01).count());
    }
}
