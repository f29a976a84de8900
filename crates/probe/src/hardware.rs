//! What the processors counted while they ran the server.

use std::fs;
use std::io;

use basecase_model::{Measures, names};
use nix::errno::Errno;
use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter};

use crate::perf::{Attempt, PerfError};
use crate::process;

/// An event, the name that it is stored under, and the factor from its units.
struct Kind {
    event: AnyEvent,
    /// The event's name, as in `perf list`.
    called: &'static str,
    name: &'static str,
    unit: f64,
}

#[derive(Clone, Copy)]
enum AnyEvent {
    Hardware(Hardware),
    Software(Software),
}

const fn hardware(event: Hardware, called: &'static str, name: &'static str) -> Kind {
    Kind { event: AnyEvent::Hardware(event), called, name, unit: 1.0 }
}

const fn software(event: Software, called: &'static str, name: &'static str, unit: f64) -> Kind {
    Kind { event: AnyEvent::Software(event), called, name, unit }
}

const KINDS: [Kind; 9] = [
    hardware(Hardware::INSTRUCTIONS, "instructions", names::HARDWARE_INSTRUCTIONS),
    hardware(Hardware::CPU_CYCLES, "cycles", names::HARDWARE_CYCLES),
    hardware(Hardware::CACHE_REFERENCES, "cache-references", names::HARDWARE_CACHE_REFERENCES),
    hardware(Hardware::CACHE_MISSES, "cache-misses", names::HARDWARE_CACHE_MISSES),
    hardware(Hardware::BRANCH_INSTRUCTIONS, "branches", names::HARDWARE_BRANCHES),
    hardware(Hardware::BRANCH_MISSES, "branch-misses", names::HARDWARE_BRANCH_MISSES),
    // The clock counts nanoseconds.
    software(Software::TASK_CLOCK, "task-clock", names::SERVER_TASK_CLOCK_US, 1_000.0),
    software(Software::PAGE_FAULTS, "page-faults", names::SERVER_PAGE_FAULTS, 1.0),
    software(Software::CPU_MIGRATIONS, "cpu-migrations", names::SERVER_CPU_MIGRATIONS, 1.0),
];

/// Hardware and kernel counters for a process tree, from when they are opened.
///
/// The kernel stops and starts them at each context switch, of which a server makes tens of thousands a second.
pub struct HardwareCounters(Vec<(&'static Kind, Vec<Counter>)>);

impl HardwareCounters {
    /// Opens those that this machine has, on every thread of the process tree under `root` and on all that these start. Each
    /// event of each thread is an open file: see [`crate::raise_open_files`].
    ///
    /// # Errors
    /// If there is no such process, or the kernel does not let this user count it. Counting takes root, the capability
    /// `CAP_PERFMON`, or `kernel.perf_event_paranoid` of 1 or less and a process of the same user.
    pub fn open(root: u32) -> Result<Self, PerfError> {
        let threads: Vec<i32> = process::server_processes(root).into_iter().flat_map(threads).collect();
        if threads.is_empty() {
            return Err(PerfError::Process(root));
        }
        let mut opened = Vec::new();
        for kind in &KINDS {
            match open_all(kind, &threads) {
                Ok(counters) => opened.push((kind, counters)),
                // A virtual machine may lack hardware counters.
                Err(PerfError::Event { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(HardwareCounters(opened))
    }

    /// Adds the counts since they were opened to `measures`. Counters that this machine lacks are left out.
    ///
    /// If there are fewer counters than events, each event is counted for part of the time, and its count is scaled up.
    pub fn read_into(&mut self, measures: &mut Measures) {
        for (kind, counters) in &mut self.0 {
            let counts = counters.iter_mut().map(count).collect::<io::Result<Vec<Count>>>();
            if let Some(total) = counts.ok().and_then(|counts| total(&counts)) {
                measures.set(kind.name, total / kind.unit);
            }
        }
    }
}

/// The reading of one counter.
#[derive(Debug, Clone, Copy)]
struct Count {
    value: u64,
    /// The time during which its thread ran.
    wanted_ns: u64,
    /// The time during which it counted.
    counted_ns: u64,
}

/// The sum, scaled up for the time when it did not count; `None` if threads ran but nothing was counted.
///
/// The factor is that of all threads together, because one that ran for a moment may never have been counted.
fn total(counts: &[Count]) -> Option<f64> {
    let sum = |field: fn(&Count) -> u64| counts.iter().map(|count| field(count) as f64).sum::<f64>();
    let (value, wanted_ns) = (sum(|count| count.value), sum(|count| count.wanted_ns));
    let counted_ns = sum(|count| count.counted_ns);
    if wanted_ns == 0.0 {
        return Some(0.0);
    }
    (counted_ns > 0.0).then(|| value * wanted_ns / counted_ns)
}

fn count(counter: &mut Counter) -> io::Result<Count> {
    let read = counter.read_count_and_time()?;
    Ok(Count { value: read.count, wanted_ns: read.time_enabled, counted_ns: read.time_running })
}

fn open_all(kind: &Kind, threads: &[i32]) -> Result<Vec<Counter>, PerfError> {
    let mut builder = match kind.event {
        AnyEvent::Hardware(event) => builder(event),
        AnyEvent::Software(event) => builder(event),
    };
    let attempt = Attempt { event: kind.called, purpose: "count events of the server", enough: 1 };
    let mut counters = Vec::new();
    for thread in threads {
        match builder.observe_pid(*thread).build() {
            Ok(counter) => counters.push(counter),
            // The thread has ended meanwhile.
            Err(error) if error.raw_os_error() == Some(Errno::ESRCH as i32) => {}
            Err(error) => return Err(attempt.refused(error)),
        }
    }
    Ok(counters)
}

fn builder(event: impl Event) -> Builder<'static> {
    let mut builder = Builder::new(event);
    builder.any_cpu().inherit(true).enabled(true).include_kernel();
    builder
}

/// The threads of a process; none if it has ended.
fn threads(process: u32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn count(value: u64, wanted_ns: u64, counted_ns: u64) -> Count {
        Count { value, wanted_ns, counted_ns }
    }

    #[test]
    fn what_was_missed_is_reckoned() {
        assert_eq!(total(&[count(100, 10, 10), count(50, 10, 10)]), Some(150.0));
        assert_eq!(total(&[count(100, 40, 10)]), Some(400.0));
        // One thread ran too briefly to be counted.
        assert_eq!(total(&[count(100, 30, 20), count(0, 10, 0)]), Some(200.0));
        assert_eq!(total(&[count(0, 10, 0)]), None);
        assert_eq!(total(&[count(0, 0, 0)]), Some(0.0));
    }

    #[test]
    fn work_of_later_children_is_counted_and_what_is_not_there_absent() {
        let script = "read go; sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; echo done; read go";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let opened = HardwareCounters::open(shell.id());
        let mut input = shell.stdin.take().unwrap();
        io::Write::write_all(&mut input, b"\n").unwrap();
        io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0; 5]).unwrap();
        let read = opened.map(|mut counters| {
            let mut measures = Measures::new();
            counters.read_into(&mut measures);
            measures
        });
        drop(input);
        shell.wait().unwrap();
        let measures = match read {
            Ok(measures) => measures,
            Err(error) => {
                assert!(error.to_string().contains("\nhint: "));
                println!("skipped: {error}");
                return;
            }
        };
        assert!(measures.get(names::SERVER_TASK_CLOCK_US).unwrap() > 1e4, "{measures:?}");
        assert!(measures.get(names::SERVER_PAGE_FAULTS).unwrap() > 10.0, "{measures:?}");
        assert!(measures.get(names::SERVER_CPU_MIGRATIONS).is_some());
        // A machine has both or none.
        let (instructions, cycles) =
            (measures.get(names::HARDWARE_INSTRUCTIONS), measures.get(names::HARDWARE_CYCLES));
        assert_eq!(instructions.is_some(), cycles.is_some());
        assert_ne!(instructions, Some(0.0));
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        assert!(matches!(HardwareCounters::open(1 << 23), Err(PerfError::Process(_))));
    }
}
