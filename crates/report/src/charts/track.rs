//! Charts of the machine and the server over time.

use basecase_model::{Track, TrackKind, Trial, names};

use crate::charts::heat_map;
use crate::charts::packing::packed;
use crate::charts::step::{Chart, ChartKind, Line, Subject};

/// Most points of a line; longer tracks are drawn as means over several intervals.
const POINTS: usize = 300;
/// Least number of distinct values between 0 and a chart's largest.
const LEVELS: f64 = 500.0;
const MIB: f64 = 1024.0 * 1024.0;

/// Groups of charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrackGroup {
    /// Processors: their use, and context switches.
    Processors,
    /// The device under the data, and the server's log.
    Storage,
    /// Every other track, by its name.
    Others,
}

impl TrackGroup {
    /// Every group in the order of the page.
    pub(crate) const ALL: [TrackGroup; 3] = [TrackGroup::Processors, TrackGroup::Storage, TrackGroup::Others];

    /// The heading above its charts.
    pub(crate) fn title(self) -> &'static str {
        match self {
            TrackGroup::Processors => "processors",
            TrackGroup::Storage => "storage",
            TrackGroup::Others => "Other metrics",
        }
    }
}

/// Conversion of a track's values to a chart's unit.
#[derive(Debug, Clone, Copy)]
enum Scale {
    /// This many of the track's unit are one of the chart's.
    Per(f64),
    /// Microseconds per second, as per cent of all processors.
    Processors,
}

/// A predefined chart of certain tracks.
struct Panel {
    group: TrackGroup,
    /// What it shows, with its unit.
    caption: &'static str,
    /// The tracks to add up.
    tracks: &'static [&'static str],
    scale: Scale,
}

const fn panel(
    group: TrackGroup,
    caption: &'static str,
    tracks: &'static [&'static str],
    scale: Scale,
) -> Panel {
    Panel { group, caption, tracks, scale }
}

/// The predefined charts, in the order of the page.
static PANELS: [Panel; 16] = [
    panel(
        TrackGroup::Processors,
        "CPU of the host, user and system, % of all cores",
        &[names::HOST_CPU_USER_US, names::HOST_CPU_SYSTEM_US],
        Scale::Processors,
    ),
    panel(TrackGroup::Processors, "CPU of the server, cores", &[names::SERVER_CPU_US], Scale::Per(1e6)),
    panel(TrackGroup::Processors, "CPU of the client, cores", &[names::CLIENT_CPU_US], Scale::Per(1e6)),
    panel(
        TrackGroup::Processors,
        "I/O wait, % of all cores",
        &[names::HOST_CPU_IOWAIT_US],
        Scale::Processors,
    ),
    panel(TrackGroup::Processors, "steal, % of all cores", &[names::HOST_CPU_STEAL_US], Scale::Processors),
    panel(
        TrackGroup::Processors,
        "context switches/s of the host",
        &[names::HOST_CONTEXT_SWITCHES],
        Scale::Per(1.0),
    ),
    panel(TrackGroup::Storage, "reads/s", &[names::DEVICE_READS], Scale::Per(1.0)),
    panel(TrackGroup::Storage, "MiB read/s", &[names::DEVICE_READ_BYTES], Scale::Per(MIB)),
    panel(TrackGroup::Storage, "writes/s", &[names::DEVICE_WRITES], Scale::Per(1.0)),
    panel(TrackGroup::Storage, "MiB written/s", &[names::DEVICE_WRITTEN_BYTES], Scale::Per(MIB)),
    panel(TrackGroup::Storage, "device busy, % of the time", &[names::DEVICE_BUSY_US], Scale::Per(1e4)),
    panel(
        TrackGroup::Storage,
        "log written (WAL or redo), MiB/s",
        &[names::SERVER_LOG_BYTES],
        Scale::Per(MIB),
    ),
    panel(
        TrackGroup::Storage,
        "reads/s of the server's control group",
        &[names::GROUP_READS],
        Scale::Per(1.0),
    ),
    panel(
        TrackGroup::Storage,
        "pages/s that the server read again soon after they had to make room",
        &[names::GROUP_REFAULTS],
        Scale::Per(1.0),
    ),
    panel(
        TrackGroup::Storage,
        "page cache of the server, MiB",
        &[names::GROUP_CACHED_BYTES],
        Scale::Per(MIB),
    ),
    panel(
        TrackGroup::Storage,
        "anonymous and shared memory of the server, MiB",
        &[names::GROUP_ANONYMOUS_BYTES, names::GROUP_SHARED_BYTES],
        Scale::Per(MIB),
    ),
];

/// The charts of a step's tracks.
#[derive(Default)]
pub(crate) struct TrackCharts {
    /// The predefined charts in order, then the others by name.
    pub(crate) charts: Vec<Chart>,
    /// Captions of charts left out because their values were 0 in every trial.
    pub(crate) idle: Vec<String>,
}

impl TrackCharts {
    /// The charts of trials, each with its candidate's number, on a host with this many processors.
    pub(crate) fn of(trials: &[(usize, &Trial)], cores: u32) -> TrackCharts {
        let mut charts = TrackCharts::default();
        for panel in &PANELS {
            let divisor = match panel.scale {
                Scale::Per(divisor) => divisor,
                Scale::Processors => 1e4 * f64::from(cores.max(1)),
            };
            charts.add(panel.group, panel.caption.to_owned(), trials, panel.tracks, divisor);
        }
        let mut others: Vec<&Track> = trials.iter().flat_map(|(_, trial)| &trial.tracks).collect();
        let has_panel =
            |track: &Track| PANELS.iter().any(|panel| panel.tracks.contains(&track.name.as_str()));
        others.retain(|track| !has_panel(track) && !heat_map::is_part(track));
        others.sort_by(|left, right| left.name.cmp(&right.name));
        others.dedup_by(|left, right| left.name == right.name);
        for track in others {
            let (unit, divisor) = unit(track);
            let caption = format!("{}{unit}", track.name);
            charts.add(TrackGroup::Others, caption, trials, &[track.name.as_str()], divisor);
        }
        charts
    }

    fn add(
        &mut self,
        group: TrackGroup,
        caption: String,
        trials: &[(usize, &Trial)],
        names: &[&str],
        divisor: f64,
    ) {
        let sums: Vec<(usize, Sum)> =
            trials.iter().filter_map(|(row, trial)| Some((*row, Sum::of(trial, names)?))).collect();
        let Some(interval_ms) = sums.iter().map(|(_, sum)| sum.interval_ms).max() else { return };
        let largest =
            sums.iter().flat_map(|(_, sum)| &sum.values).fold(0.0, |max: f64, value| max.max(value.abs()));
        if largest == 0.0 {
            self.idle.push(caption);
            return;
        }
        let longest = sums.iter().map(|(_, sum)| sum.values.len()).max().unwrap_or(0);
        let merged = longest.div_ceil(POINTS).max(1);
        let factor = 10_f64.powf((largest / divisor / LEVELS).log10().floor());
        let line = |(row, sum): &(usize, Sum)| {
            let whole = |mean: f64| (mean / divisor / factor).round() as i64;
            let values: Vec<i64> = sum.means(merged).map(whole).collect();
            Line { row: *row, values: packed(&values) }
        };
        // Tracks with shorter intervals than the longest cannot share their axis.
        let same = |(_, sum): &&(usize, Sum)| sum.interval_ms == interval_ms;
        self.charts.push(Chart {
            kind: ChartKind::Track,
            subject: Subject::Tracks(group),
            caption,
            interval: f64::from(interval_ms) * merged as f64 / 1000.0,
            factor,
            series: sums.iter().filter(same).map(line).collect(),
        });
    }
}

/// Tracks of one trial, added up.
struct Sum {
    interval_ms: u32,
    values: Vec<f64>,
}

impl Sum {
    /// `None` if the trial lacks one of them, or one has no values or a NaN.
    fn of(trial: &Trial, names: &[&str]) -> Option<Sum> {
        let mut sum: Option<Sum> = None;
        for name in names {
            let track = trial.tracks.iter().find(|track| track.name == *name)?;
            let values = track.values.iter().map(|value| f64::from(*value));
            match &mut sum {
                None => sum = Some(Sum { interval_ms: track.interval_ms, values: values.collect() }),
                Some(sum) if sum.interval_ms == track.interval_ms => {
                    sum.values.truncate(track.values.len());
                    sum.values.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
                Some(_) => return None,
            }
        }
        sum.filter(|sum| !sum.values.is_empty() && sum.values.iter().all(|value| value.is_finite()))
    }

    /// The mean of every `merged` values. The mean of rates is the rate over the longer interval.
    fn means(&self, merged: usize) -> impl Iterator<Item = f64> {
        self.values.chunks(merged).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64)
    }
}

/// The unit after a track's name in a caption, and how many of the track's unit make one of it.
fn unit(track: &Track) -> (String, f64) {
    let (unit, divisor) = match track.name.rsplit('_').next() {
        Some("bytes") => (", MiB", MIB),
        Some("us") => (", ms", 1e3),
        _ => ("", 1.0),
    };
    (format!("{unit}{}", if track.kind == TrackKind::Rate { "/s" } else { "" }), divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::packing::unpacked;
    use crate::fixture;

    fn track(name: &str, values: &[f32]) -> Track {
        Track { name: name.into(), kind: TrackKind::Rate, interval_ms: 1000, values: values.to_vec() }
    }

    fn charts(tracks: Vec<Track>) -> TrackCharts {
        let trial = Trial { tracks, ..fixture::empty_trial() };
        TrackCharts::of(&[(0, &trial)], 4)
    }

    fn drawn(chart: &Chart) -> Vec<f64> {
        unpacked(&chart.series[0].values).into_iter().map(|value| value as f64 * chart.factor).collect()
    }

    #[test]
    fn processor_time_is_a_share_of_all_cores() {
        let charts = charts(vec![
            track(names::HOST_CPU_USER_US, &[1e6, 3e6]),
            track(names::HOST_CPU_SYSTEM_US, &[1e6, 1e6]),
        ]);
        let values = drawn(&charts.charts[0]);
        assert!((values[0] - 50.0).abs() < 0.1 && (values[1] - 100.0).abs() < 0.1, "{values:?}");
    }

    #[test]
    fn a_sum_with_a_missing_part_is_not_drawn() {
        let charts = charts(vec![track(names::HOST_CPU_USER_US, &[1e6])]);
        assert!(charts.charts.is_empty());
    }

    #[test]
    fn long_tracks_are_drawn_as_means_of_at_most_300_points() {
        let values: Vec<f32> = (0..901_u16).map(f32::from).collect();
        let charts = charts(vec![track("server.commits", &values)]);
        let chart = &charts.charts[0];
        assert_eq!((chart.caption.as_str(), chart.interval), ("server.commits/s", 4.0));
        let values = drawn(chart);
        assert_eq!(values.len(), 226);
        assert!((values[0] - 1.5).abs() <= 1.0 && (values[225] - 900.0).abs() <= 1.0, "{values:?}");
    }

    #[test]
    fn a_track_that_is_always_0_is_named_and_not_drawn() {
        let charts =
            charts(vec![track(names::HOST_CPU_STEAL_US, &[0.0; 5]), track(names::DEVICE_READS, &[])]);
        assert!(charts.charts.is_empty());
        assert_eq!(charts.idle, ["steal, % of all cores"]);
    }

    #[test]
    fn other_tracks_are_sorted_by_name_and_bytes_become_readable() {
        let charts = charts(vec![track("server.z", &[1.0]), track("server.cache_bytes", &[MIB as f32])]);
        let captions: Vec<&str> = charts.charts.iter().map(|chart| chart.caption.as_str()).collect();
        assert_eq!(captions, ["server.cache_bytes, MiB/s", "server.z/s"]);
        assert_eq!(drawn(&charts.charts[0]), [1.0]);
    }

    #[test]
    fn a_track_with_nan_is_not_drawn() {
        assert!(charts(vec![track("server.z", &[1.0, f32::NAN])]).charts.is_empty());
    }
}
