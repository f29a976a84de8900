//! Observes the machine and the server while a step runs.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use basecase_client::{Interrupter, Session};
use basecase_load::{Failure, LatencyCounts, Progress, end_of};
use basecase_model::{Measures, OperationClass, Track, TrackKind, names};
use basecase_probe::{Watch, panic_message};
use basecase_server::Telemetry;

use crate::run::deployment::LiveDeployment;

/// From one reading of the counters to the next, and the interval of the tracks.
const READ_EVERY: Duration = Duration::from_secs(1);
/// From one sample of the sessions to the next.
const SAMPLE_EVERY: Duration = Duration::from_millis(200);
/// Observing takes at most one part in this many of the time: a server that answers slowly is asked less often.
const SHARE: u32 = 100;
/// How long to wait for the server's last answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was observed.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    readings: Vec<CounterReading>,
    /// What each sample of the sessions found.
    samples: Vec<(Instant, Vec<(String, u64)>)>,
}

/// The counters and levels at one instant.
#[derive(Debug)]
struct CounterReading {
    at: Instant,
    counters: Measures,
    levels: Measures,
    /// By the place in [`CLASSES`].
    latencies: Vec<LatencyCounts>,
}

/// The classes whose latencies are kept over time.
const CLASSES: [OperationClass; 3] = [OperationClass::Insert, OperationClass::Delete, OperationClass::Query];

/// Does `work`, and observes every second until it is done. Whoever watches the progress sees the last second.
///
/// # Errors
/// Beside the result of the work: why there are no observations.
pub(crate) fn observe<R>(
    deployment: &mut LiveDeployment,
    progress: &Progress,
    work: impl FnOnce(&Watch) -> R,
) -> (R, Result<Observations, Failure>) {
    let telemetry = deployment.served.telemetry();
    let LiveDeployment { control, watch, .. } = deployment;
    let watch = &*watch;
    let interrupt = control.interrupter().ok();
    let session_observer = SessionObserver {
        watch,
        telemetry,
        session: Some(control.as_mut()),
        seen: Observations::default(),
        progress,
    };
    beside(|begin, ended| session_observer.watch(begin, ended), || work(watch), interrupt)
}

/// Does `work` while `watch` observes it: that says when it has begun, and ends when it is told to. A panic of it is a failure, because what
/// was not observed must not pass for what did not happen.
fn beside<R>(
    watch: impl FnOnce(&Sender<()>, &Receiver<()>) -> Observations + Send,
    work: impl FnOnce() -> R,
    interrupt: Option<Interrupter>,
) -> (R, Result<Observations, Failure>) {
    let (end, ended) = channel();
    let (begin, begun) = channel();
    thread::scope(|scope| {
        let (done, is_done) = channel();
        let thread = scope.spawn(move || {
            let seen = watch(&begin, &ended);
            drop::<Sender<()>>(done);
            seen
        });
        // The first reading lies before the window, so that its opening lies between two.
        let _ = begun.recv();
        let result = work();
        drop::<Sender<()>>(end);
        break_off_after(PATIENCE, &is_done, interrupt);
        (result, thread.join().map_err(|payload| Failure::Panic(panic_message(&*payload))))
    })
}

/// Interrupts a query of a server that no longer answers.
fn break_off_after(patience: Duration, is_done: &Receiver<()>, interrupt: Option<Interrupter>) {
    if is_done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout)
        && let Some(interrupt) = interrupt
    {
        interrupt();
    }
}

struct SessionObserver<'a> {
    watch: &'a Watch,
    telemetry: Telemetry,
    /// None once it has failed: the machine is still observed.
    session: Option<&'a mut dyn Session>,
    seen: Observations,
    progress: &'a Progress,
}

impl SessionObserver<'_> {
    fn watch(mut self, begin: &Sender<()>, ended: &Receiver<()>) -> Observations {
        let (mut next_reading, mut next_sample) = (Instant::now(), Instant::now());
        loop {
            let now = Instant::now();
            if now >= next_reading {
                self.read_counters();
                // Only the first is waited for.
                let _ = begin.send(());
                next_reading = (next_reading + READ_EVERY).max(now + now.elapsed() * SHARE);
            }
            let now = Instant::now();
            if now >= next_sample {
                self.sample_sessions();
                next_sample = (next_sample + SAMPLE_EVERY).max(now + now.elapsed() * SHARE);
            }
            let pause = next_reading.min(next_sample).saturating_duration_since(Instant::now());
            if ended.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                self.read_counters();
                return self.seen;
            }
        }
    }

    fn read_counters(&mut self) {
        let (snapshot, mut levels) = self.watch.glance();
        let mut counters = snapshot.measures().clone();
        let at = Instant::now();
        let told = self.session.as_deref_mut().map(|session| self.telemetry.glance(session));
        match told {
            Some(Ok(told)) => {
                for (name, value) in told.iter() {
                    (if self.telemetry.is_level(name) { &mut levels } else { &mut counters })
                        .set(name, value);
                }
            }
            Some(Err(_)) => self.session = None,
            None => {}
        }
        if let Some(last) = self.seen.readings.last() {
            let seconds = (at - last.at).as_secs_f64().max(1e-3);
            let mut vitals = levels.clone();
            for (name, added) in counters.since(&last.counters).iter() {
                vitals.set(name, added / seconds);
            }
            self.progress.set_vitals(vitals);
        }
        let latencies = CLASSES.map(|class| self.progress.latencies(class)).into();
        self.seen.readings.push(CounterReading { at, counters, levels, latencies });
    }

    fn sample_sessions(&mut self) {
        match self.session.as_deref_mut().map(|session| self.telemetry.sessions(session)) {
            Some(Ok(Some(found))) => self.seen.samples.push((Instant::now(), found)),
            Some(Err(_)) => self.session = None,
            Some(Ok(None)) | None => {}
        }
    }
}

impl Observations {
    /// The numbers over the window that opened at `opened`, in whole seconds.
    pub(crate) fn tracks(&self, opened: Instant, seconds: f64) -> Vec<Track> {
        let counters = self.tracks_of(opened, seconds, TrackKind::Rate, |reading| &reading.counters);
        let levels = self.tracks_of(opened, seconds, TrackKind::Level, |reading| &reading.levels);
        let latencies = self.latency_tracks(opened, seconds);
        counters.into_iter().chain(levels).chain(latencies).collect()
    }

    /// Statements per second by their latency, for each bucket that has any.
    fn latency_tracks(&self, opened: Instant, seconds: f64) -> Vec<Track> {
        let Some(last) = self.readings.last() else { return Vec::new() };
        let mut tracks = Vec::new();
        for (place, class) in CLASSES.iter().enumerate() {
            let count = |reading: &CounterReading, bucket: usize| {
                reading.latencies.get(place).map_or(0, |counts| counts[bucket])
            };
            let buckets = last.latencies.get(place).map_or(0, |counts| counts.len());
            for bucket in (0..buckets).filter(|bucket| count(last, *bucket) > 0) {
                let name =
                    format!("{}{}.{}_ns", names::LATENCY_PREFIX, class.as_str(), end_of(bucket).as_nanos());
                let points = self
                    .readings
                    .iter()
                    .map(|reading| (since(opened, reading.at), count(reading, bucket) as f64));
                tracks.extend(track(name, points.collect(), seconds, TrackKind::Rate));
            }
        }
        tracks.retain(|track| track.values.iter().any(|value| *value > 0.0));
        tracks
    }

    fn tracks_of(
        &self,
        opened: Instant,
        seconds: f64,
        kind: TrackKind,
        of: fn(&CounterReading) -> &Measures,
    ) -> Vec<Track> {
        let mut points: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for reading in &self.readings {
            for (name, value) in of(reading).iter() {
                points.entry(name).or_default().push((since(opened, reading.at), value));
            }
        }
        let of_name = |(name, points): (&str, _)| track(name.to_owned(), points, seconds, kind);
        points.into_iter().filter_map(of_name).collect()
    }

    /// How long sessions were busy in the window, by what they waited for, µs over all sessions; with the number of samples.
    pub(crate) fn sessions(&self, opened: Instant, seconds: f64) -> Measures {
        let mut measures = Measures::new();
        let until = opened + Duration::from_secs_f64(seconds.max(0.0));
        let within: Vec<_> = self.samples.iter().filter(|(at, _)| *at >= opened && *at <= until).collect();
        if within.is_empty() {
            return measures;
        }
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, count) in within.iter().flat_map(|(_, found)| found) {
            *sums.entry(name).or_default() += count;
        }
        for (name, sum) in sums {
            measures.set(name, sum as f64 / within.len() as f64 * seconds * 1e6);
        }
        measures.set(names::SESSION_LOOKS, within.len() as f64);
        measures
    }
}

/// Seconds after the opening; below 0 before it.
fn since(opened: Instant, at: Instant) -> f64 {
    match at.checked_duration_since(opened) {
        Some(since) => since.as_secs_f64(),
        None => -(opened - at).as_secs_f64(),
    }
}

/// The values of a counter or a level in whole intervals of the window; `None` if the points do not cover it.
fn track(name: String, points: Vec<(f64, f64)>, seconds: f64, kind: TrackKind) -> Option<Track> {
    let interval_s = READ_EVERY.as_secs_f64();
    let value = |number: u32| {
        let begin = f64::from(number) * interval_s;
        Some(match kind {
            // Never below zero, as among the counters: the kernel lets some fall back at times.
            TrackKind::Rate => {
                ((between(&points, begin + interval_s)? - between(&points, begin)?) / interval_s).max(0.0)
            }
            TrackKind::Level => between(&points, begin + interval_s / 2.0)?,
        } as f32)
    };
    let values: Vec<f32> = (0..seconds as u32).map(value).collect::<Option<_>>()?;
    let interval_ms = READ_EVERY.as_millis() as u32;
    (!values.is_empty()).then_some(Track { name, kind, interval_ms, values })
}

/// The value at `at` on the line between the points before and after it; `None` outside of all points.
fn between(points: &[(f64, f64)], at: f64) -> Option<f64> {
    let after = points.partition_point(|(time, _)| *time < at);
    let (late, high) = *points.get(after)?;
    if late == at {
        return Some(high);
    }
    let (early, low) = *points.get(after.checked_sub(1)?)?;
    Some(low + (high - low) * (at - early) / (late - early))
}

/// How the memory of the server's control group was used in the second in which most was charged to it. At the end of a step
/// it would be less: sessions free what they took when they end, and some end before others.
pub(crate) fn memory_at_most(tracks: &[Track]) -> Measures {
    let is_level =
        |track: &&Track| track.kind == TrackKind::Level && track.name.starts_with(names::GROUP_PREFIX);
    let levels: Vec<&Track> = tracks.iter().filter(is_level).collect();
    let charged = levels.iter().find(|track| track.name == names::GROUP_MEMORY_BYTES);
    let fullest = charged.and_then(|track| {
        track.values.iter().enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other))
    });
    let mut measures = Measures::new();
    let Some((second, _)) = fullest else { return measures };
    for track in levels {
        if let Some(bytes) = track.values.get(second) {
            measures.set(&track.name, f64::from(*bytes));
        }
    }
    measures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(name: &str, value: f64) -> Measures {
        let mut measures = Measures::new();
        measures.set(name, value);
        measures
    }

    #[test]
    fn defect_20_a_panic_of_the_observer_is_a_failure_with_its_message() {
        let (result, seen) = beside(|_, _| panic!("no counters"), || 1, None);
        assert_eq!(result, 1, "what was measured is kept for whoever says why it failed");
        let told = seen.unwrap_err().to_string();
        assert!(told.starts_with("a thread of basecase panicked: no counters\nhint: "), "{told}");
        let watch = |begin: &Sender<()>, ended: &Receiver<()>| {
            begin.send(()).unwrap();
            assert!(ended.recv().is_err());
            Observations::default()
        };
        assert!(beside(watch, || 1, None).1.is_ok());
    }

    #[test]
    fn a_steady_counter_has_a_steady_rate_wherever_the_readings_fall() {
        let start = Instant::now();
        let opened = start + Duration::from_millis(700);
        let reading = |at_ms: u64| CounterReading {
            at: start + Duration::from_millis(at_ms),
            counters: measures("a", at_ms as f64 / 10.0),
            levels: measures("b", at_ms as f64),
            latencies: Vec::new(),
        };
        let observations =
            Observations { readings: [0, 1010, 1990, 3050, 4000].map(reading).into(), samples: Vec::new() };
        let tracks = observations.tracks(opened, 3.2);
        let [rate, level] = tracks.as_slice() else { panic!("{tracks:?}") };
        assert_eq!((rate.name.as_str(), rate.kind, rate.values.len()), ("a", TrackKind::Rate, 3));
        assert!(rate.values.iter().all(|value| (value - 100.0).abs() < 1e-3), "{rate:?}");
        assert!((level.values[0] - 1200.0).abs() < 1e-2, "{level:?}");
    }

    #[test]
    fn memory_is_told_of_the_second_with_most_of_it() {
        let level = |name: &str, values: &[f32]| Track {
            name: name.to_owned(),
            kind: TrackKind::Level,
            interval_ms: 1000,
            values: values.to_vec(),
        };
        let tracks = [
            level(names::GROUP_ANONYMOUS_BYTES, &[9.0, 7.0, 1.0]),
            level(names::GROUP_CACHED_BYTES, &[50.0, 80.0, 81.0]),
            level(names::GROUP_MEMORY_BYTES, &[60.0, 90.0, 84.0]),
        ];
        let at_most = memory_at_most(&tracks);
        let told: Vec<(&str, f64)> = at_most.iter().collect();
        let expected = [
            (names::GROUP_ANONYMOUS_BYTES, 7.0),
            (names::GROUP_CACHED_BYTES, 80.0),
            (names::GROUP_MEMORY_BYTES, 90.0),
        ];
        assert_eq!(told, expected);
        assert_eq!(memory_at_most(&tracks[..2]).iter().count(), 0, "nothing is known of what was charged");
    }

    #[test]
    fn a_counter_that_was_not_there_throughout_has_no_track() {
        let start = Instant::now();
        let reading = |at: u64, counters| CounterReading {
            at: start + Duration::from_secs(at),
            counters,
            levels: Measures::new(),
            latencies: Vec::new(),
        };
        let readings =
            vec![reading(0, Measures::new()), reading(1, measures("a", 1.0)), reading(2, measures("a", 2.0))];
        let observations = Observations { readings, samples: Vec::new() };
        assert!(observations.tracks(start, 2.0).is_empty());
        assert_eq!(observations.tracks(start + Duration::from_secs(1), 1.0).len(), 1);
    }

    #[test]
    fn sessions_are_busy_for_their_share_of_the_samples() {
        let opened = Instant::now();
        let sample = |at_ms: u64, found: &[(&str, u64)]| {
            let found = found.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
            (opened + Duration::from_millis(at_ms), found)
        };
        let samples = vec![
            sample(100, &[("session.cpu_us", 3), ("session.lock_us", 1)]),
            sample(300, &[("session.cpu_us", 1)]),
            sample(5000, &[("session.cpu_us", 9)]),
        ];
        let sessions = Observations { readings: Vec::new(), samples }.sessions(opened, 2.0);
        assert_eq!(sessions.get("session.cpu_us"), Some(4e6));
        assert_eq!(sessions.get("session.lock_us"), Some(1e6));
        assert_eq!(sessions.get(names::SESSION_LOOKS), Some(2.0));
    }
}
