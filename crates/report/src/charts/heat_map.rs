//! Latencies over time: how many statements of each second had which latency.

use std::collections::{BTreeMap, BTreeSet};

use basecase_model::{OperationClass, Track, Trial, names};
use serde::Serialize;

use crate::charts::packing::packed;
use crate::tables::response_time::CLASSES;

/// Most columns; in longer steps, a column covers several seconds.
const COLUMNS: usize = 200;
/// Shades from an empty cell to the fullest.
const SHADES: f64 = 100.0;

/// Latencies of one candidate's statements of one class over time.
#[derive(Serialize)]
pub(crate) struct HeatMap {
    /// The class of statements.
    #[serde(skip)]
    pub(crate) class: OperationClass,
    /// The candidate's number.
    pub(crate) row: usize,
    /// Seconds of a column.
    interval: f64,
    columns: usize,
    /// The upper ends of the rows in milliseconds, smallest first, without empty rows at both ends.
    ends: Vec<f64>,
    /// Statements per second of the fullest cell.
    fullest: f64,
    /// Shades of the cells, row by row.
    cells: String,
}

/// The heat maps of trials, each with its candidate's number. Those of one class share rows and shades.
pub(crate) fn heat_maps(trials: &[(usize, &Trial)]) -> Vec<HeatMap> {
    CLASSES.into_iter().flat_map(|class| class_maps(trials, class)).collect()
}

/// Whether the track is part of a heat map rather than a metric of its own.
pub(crate) fn is_part(track: &Track) -> bool {
    track.name.starts_with(names::LATENCY_PREFIX)
}

fn class_maps(trials: &[(usize, &Trial)], class: OperationClass) -> Vec<HeatMap> {
    let prefix = format!("{}{}.", names::LATENCY_PREFIX, class.as_str());
    let end_ns = |track: &Track| track.name.strip_prefix(&prefix)?.strip_suffix("_ns")?.parse::<u64>().ok();
    let rows = |trial| rows(trial, &end_ns);
    let found: Vec<(usize, Rows<'_>)> =
        trials.iter().map(|(row, trial)| (*row, rows(trial))).filter(|(_, rows)| !rows.is_empty()).collect();
    let ends: BTreeSet<u64> = found.iter().flat_map(|(_, rows)| rows.keys().copied()).collect();
    let all: Vec<(usize, Rates)> = found.iter().map(|(row, rows)| (*row, Rates::of(rows, &ends))).collect();
    let cells = all.iter().flat_map(|(_, rates)| rates.rows.iter().flatten());
    let fullest = cells.fold(0.0, |most: f64, rate| most.max(*rate));
    // The square root keeps rare slow statements visible.
    let shade = |rate: &f64| if *rate > 0.0 { ((rate / fullest).sqrt() * SHADES).ceil() as u64 } else { 0 };
    let heat = |(row, rates): (usize, Rates)| HeatMap {
        class,
        row,
        interval: rates.interval_s,
        columns: rates.columns,
        ends: ends.iter().map(|end| *end as f64 / 1e6).collect(),
        fullest,
        cells: packed(&rates.rows.iter().flatten().map(shade).collect::<Vec<u64>>()),
    };
    all.into_iter().filter(|(_, rates)| rates.columns > 1 && fullest > 0.0).map(heat).collect()
}

/// Tracks of one class by the upper end of their latencies in ns.
type Rows<'a> = BTreeMap<u64, &'a Track>;

fn rows<'a>(trial: &'a Trial, end_ns: &impl Fn(&Track) -> Option<u64>) -> Rows<'a> {
    trial.tracks.iter().filter_map(|track| Some((end_ns(track)?, track))).collect()
}

/// Statements per second, row by row.
struct Rates {
    interval_s: f64,
    columns: usize,
    rows: Vec<Vec<f64>>,
}

impl Rates {
    fn of(rows: &Rows<'_>, ends: &BTreeSet<u64>) -> Rates {
        let seconds = rows.values().map(|track| track.values.len()).min().unwrap_or(0);
        let interval_ms = rows.values().map(|track| track.interval_ms).max().unwrap_or(0);
        let merged = seconds.div_ceil(COLUMNS).max(1);
        let columns = seconds.div_ceil(merged);
        let mean =
            |chunk: &[f32]| chunk.iter().map(|rate| f64::from(*rate)).sum::<f64>() / chunk.len() as f64;
        let row = |end: &u64| match rows.get(end) {
            Some(track) => track.values[..seconds].chunks(merged).map(mean).collect(),
            None => vec![0.0; columns],
        };
        let interval_s = f64::from(interval_ms) * merged as f64 / 1000.0;
        Rates { interval_s, columns, rows: ends.iter().map(row).collect() }
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::TrackKind;

    use super::*;
    use crate::charts::packing::unpacked;
    use crate::fixture;

    fn track(name: &str, values: &[f32]) -> Track {
        Track { name: name.into(), kind: TrackKind::Rate, interval_ms: 1000, values: values.to_vec() }
    }

    #[test]
    fn rows_are_ordered_by_latency_and_shaded_by_the_root_of_the_rate() {
        let tracks = vec![
            track("latency.query.20480_ns", &[0.0, 1.0, 0.0]),
            track("latency.query.2560_ns", &[100.0, 25.0, 0.0]),
            track("latency.insert.2560_ns", &[0.0; 3]),
            track("server.cpu_us", &[7.0; 3]),
        ];
        let trial = Trial { tracks, ..fixture::empty_trial() };
        let other = vec![track("latency.query.5120_ns", &[25.0, 0.0])];
        let other = Trial { tracks: other, ..fixture::empty_trial() };
        let heats = heat_maps(&[(4, &trial), (5, &other)]);
        let [heat, other] = heats.as_slice() else { panic!("{}", heats.len()) };
        assert_eq!((heat.row, heat.columns, heat.ends.as_slice()), (4, 3, &[0.00256, 0.00512, 0.02048][..]));
        assert_eq!(unpacked(&heat.cells), [100, 50, 0, 0, 0, 0, 0, 10, 0]);
        assert_eq!((other.ends.as_slice(), other.columns), (heat.ends.as_slice(), 2));
        assert_eq!(unpacked(&other.cells), [0, 0, 50, 0, 0, 0]);
    }

    #[test]
    fn long_steps_have_wider_columns() {
        let trial =
            Trial { tracks: vec![track("latency.query.2560_ns", &[2.0; 901])], ..fixture::empty_trial() };
        let heats = heat_maps(&[(0, &trial)]);
        assert_eq!((heats[0].columns, heats[0].interval), (181, 5.0));
    }
}
