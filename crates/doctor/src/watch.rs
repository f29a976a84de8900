//! The machine, watched for a while: how steady its speed is, how late sleepers wake, and what others do meanwhile.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use basecase_probe::{OthersTime, ProcessorSet, canary_ns, parse_pressure, tick_us};
use basecase_stats::{NOISY_CANARY, usual_canary_ns};

use crate::finding::{Finding, Severity};
use crate::host::Host;
use crate::neighbours::{self, busiest, processes};
use crate::words::{per_cent, quantile, time};
use crate::{disk, processor};

/// The pause after each reading of the canary: three quarters of one processor are left to others.
const PAUSE: Duration = Duration::from_millis(15);
/// The most processors that readings go round.
const MOST_PROCESSORS: usize = 8;
/// How much longer than usual one of twenty readings may take: above the first it limits, above the second it disturbs.
const SLOWER: [f64; 2] = [0.02, NOISY_CANARY - 1.0];
/// How late one of a hundred sleepers may wake, in µs: above the first it limits, above the second it disturbs.
const LATE_US: [f64; 2] = [1_000.0, 5_000.0];
/// The length of most slices, in µs, which such a delay is a share of.
const SLICE_US: f64 = 30_000.0;
/// Readings of the clock whose time is taken together, and how often: the fastest counts, for others may interrupt the rest.
const CLOCK_READINGS: u32 = 1_000;
const CLOCK_TRIES: u32 = 20;

/// What was seen.
pub(crate) struct Watched {
    seconds: f64,
    /// How many processors the machine has.
    cores: u32,
    /// The times of the canary, in ns, by processor.
    canaries: BTreeMap<usize, Vec<f64>>,
    /// How much later than asked for each sleep ended, in µs.
    late_us: Vec<f64>,
    /// What others had of the processors.
    others: Option<OthersTime>,
    busiest: Vec<(String, f64)>,
    /// The share of the time in which something waited for a disk.
    waited: Option<f64>,
}

/// Watches for this long, or until the user wants to stop.
pub(crate) fn watch(host: &Host, length: Duration) -> Watched {
    let (before, others, waited) = (processes(host), OthersTime::now(), waited_us(host));
    let began = Instant::now();
    // In a thread of its own, for it moves from processor to processor.
    let read = std::thread::scope(|scope| scope.spawn(|| read_until(began + length)).join());
    let (canaries, late_us) = read.unwrap_or_default();
    let seconds = began.elapsed().as_secs_f64();
    let since = |(now, before): (f64, f64)| (now - before).max(0.0) / (seconds * 1e6);
    Watched {
        seconds,
        cores: processor::online(host),
        canaries,
        late_us,
        others: OthersTime::now().zip(others).map(|(now, before)| now.since(before)),
        busiest: busiest(&before, &processes(host), seconds * 1e6 / tick_us()),
        waited: waited_us(host).zip(waited).map(since),
    }
}

/// How long something has waited for a disk since boot, in µs.
fn waited_us(host: &Host) -> Option<f64> {
    parse_pressure(&host.read("proc/pressure/io")?).map(|time_us| time_us as f64)
}

/// Readings of the canary by processor, and delays of the pauses between them.
fn read_until(end: Instant) -> (BTreeMap<usize, Vec<f64>>, Vec<f64>) {
    let allowed = ProcessorSet::allowed().map(|set| set.numbers().to_vec()).unwrap_or_default();
    // Evenly over all of them, where there are many.
    let every = allowed.len().div_ceil(MOST_PROCESSORS).max(1);
    let chosen: Vec<usize> = allowed.into_iter().step_by(every).collect();
    let (mut canaries, mut late_us) = (BTreeMap::<usize, Vec<f64>>::new(), Vec::new());
    for turn in 0.. {
        if Instant::now() >= end || basecase_stop::is_asked() {
            break;
        }
        let processor = chosen.get(turn % chosen.len().max(1)).copied();
        let confined = processor.and_then(|number| ProcessorSet::of([number])?.confine_thread().ok());
        // Where a thread may not choose, all readings are those of one place.
        let place = processor.filter(|_| confined.is_some()).unwrap_or(usize::MAX);
        canaries.entry(place).or_default().push(canary_ns());
        let began = Instant::now();
        std::thread::sleep(PAUSE);
        late_us.push(began.elapsed().saturating_sub(PAUSE).as_secs_f64() * 1e6);
    }
    (canaries, late_us)
}

/// The time of a reading of the clock, in ns.
pub(crate) fn clock_reading_ns() -> f64 {
    let tried = |_| {
        let began = Instant::now();
        for _ in 0..CLOCK_READINGS {
            black_box(Instant::now());
        }
        began.elapsed().as_secs_f64() * 1e9 / f64::from(CLOCK_READINGS)
    };
    (0..CLOCK_TRIES).map(tried).fold(f64::INFINITY, f64::min)
}

impl Watched {
    /// What was found by watching.
    pub(crate) fn findings(&self, host: &Host) -> Vec<Finding> {
        vec![
            self.canary(),
            self.timer(),
            self.neighbours(),
            self.steal(host),
            disk::traffic(self.waited, self.seconds),
        ]
    }

    /// How steady the speed of the processors is.
    fn canary(&self) -> Finding {
        let mut slower: Vec<f64> = Vec::new();
        let mut usual_ns = Vec::new();
        for times in self.canaries.values() {
            let Some(usual) = usual_canary_ns(&mut times.clone()) else { continue };
            slower.extend(times.iter().map(|time| time / usual - 1.0));
            usual_ns.push(usual);
        }
        slower.sort_by(f64::total_cmp);
        let (Some(of_twenty), Some(most)) = (quantile(&slower, 0.95), quantile(&slower, 1.0)) else {
            return Finding::unknown("canary", "it was not measured");
        };
        let found = format!(
            "1 of 20 times the same arithmetic takes {} longer or more, at most {}",
            per_cent(of_twenty.max(0.0)),
            per_cent(most.max(0.0))
        );
        let advice =
            "see governor, turbo, steal and neighbours; more rounds find smaller changes all the same";
        Finding::by_size("canary", of_twenty, SLOWER, found, advice)
            .of_share(of_twenty)
            .with("p95_excess_pct", of_twenty * 100.0)
            .with("most_excess_pct", most * 100.0)
            .with("usual_ns", usual_canary_ns(&mut usual_ns).unwrap_or(f64::NAN))
            .with("readings", slower.len() as f64)
    }

    /// How late a thread that slept is woken.
    fn timer(&self) -> Finding {
        let mut late_us = self.late_us.clone();
        late_us.sort_by(f64::total_cmp);
        let (Some(median), Some(late)) = (quantile(&late_us, 0.5), quantile(&late_us, 0.99)) else {
            return Finding::unknown("timer", "it was not measured");
        };
        let found =
            format!("a thread that slept wakes {} late, 1 of 100 by {} or more", time(median), time(late));
        let advice = "others hold the processors: see neighbours and steal";
        Finding::by_size("timer", late, LATE_US, found, advice)
            .of_share(late / SLICE_US)
            .with("median_us", median)
            .with("p99_us", late)
    }

    fn neighbours(&self) -> Finding {
        match self.others {
            None => Finding::unknown("neighbours", "the kernel does not tell"),
            Some(others) => {
                let used = others.busy_us / (self.seconds * 1e6);
                neighbours::neighbours(used, self.cores, self.seconds, &self.busiest)
            }
        }
    }

    /// What the hypervisor gave away meanwhile, or since boot, whichever is worse.
    fn steal(&self, host: &Host) -> Finding {
        let since_boot = processor::steal_since_boot(host);
        let Some(others) = self.others else { return since_boot };
        let all_us = self.seconds * 1e6 * f64::from(self.cores.max(1));
        let now = processor::steal(others.steal_us / all_us, &format!("{:.0} s", self.seconds));
        if since_boot.severity < now.severity.min(Severity::Unknown) { since_boot } else { now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::invented::host;

    /// Ten seconds in which a tenth of the readings of one processor were slower by this share, and others had these times.
    fn watched(slower: f64, late_us: f64, others: Option<OthersTime>) -> Watched {
        let slow = [vec![1.0; 90], vec![1.0 + slower; 10]].concat();
        Watched {
            seconds: 10.0,
            cores: 2,
            canaries: BTreeMap::from([(0, slow.clone()), (1, slow.iter().map(|time| 3.0 * time).collect())]),
            late_us: [vec![60.0; 98], vec![late_us; 2]].concat(),
            others,
            busiest: Vec::new(),
            waited: None,
        }
    }

    #[test]
    fn readings_are_held_against_those_of_their_own_processor() {
        let canary = |slower| watched(slower, 60.0, None).canary();
        assert_eq!(
            [0.01, 0.05, 0.2].map(canary).map(|found| found.severity),
            [Severity::Fine, Severity::Limits, Severity::Disturbs]
        );
        let found = canary(0.2);
        assert!((found.share.unwrap() - 0.2).abs() < 1e-9, "{found:?}");
        assert_eq!(found.values["readings"], 200.0);
    }

    #[test]
    fn threads_that_wake_late_disturb() {
        let severity = |late_us| watched(0.0, late_us, None).timer().severity;
        assert_eq!(
            [200.0, 2_000.0, 8_000.0].map(severity),
            [Severity::Fine, Severity::Limits, Severity::Disturbs]
        );
    }

    #[test]
    fn what_others_had_is_a_share_of_all_processors() {
        let (_folder, host) = host(&[]);
        let others = OthersTime { busy_us: 8e6, steal_us: 2e6 };
        let watched = watched(0.0, 60.0, Some(others));
        assert_eq!(watched.neighbours().share, Some(0.4));
        assert_eq!(watched.steal(&host).share, Some(0.1));
        assert_eq!(watched.findings(&host).len(), 5);
    }

    #[test]
    fn what_was_worse_since_boot_is_told() {
        let (_folder, host) = host(&[("proc/stat", "cpu  500 0 200 200 0 0 0 100 0 0\n")]);
        let found = watched(0.0, 60.0, Some(OthersTime { busy_us: 0.0, steal_us: 0.0 })).steal(&host);
        assert!(found.severity == Severity::Disturbs && found.found.contains("since boot"), "{found:?}");
    }

    #[test]
    fn this_machine_is_watched() {
        let watched = watch(&Host::here(std::path::Path::new("/")), Duration::from_millis(100));
        assert!(!watched.canaries.is_empty() && !watched.late_us.is_empty());
        assert!(watched.others.is_some() && watched.seconds >= 0.1);
        assert!(clock_reading_ns() > 1.0);
    }
}
