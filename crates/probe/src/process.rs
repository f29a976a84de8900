//! The resources that a process tree has used, from `/proc/PID` and the processes' CPU clocks.

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

use basecase_model::{Measures, names};
use nix::unistd::{Pid, getpgid};

use crate::clock::process_cpu_ns;
use crate::processor::tick_us;

/// The fields of `/proc/PID/stat` that are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    /// Own CPU time in ticks: `utime` and `stime`.
    own_ticks: u64,
    /// CPU time in ticks of children that ended and were waited for: `cutime` and `cstime`.
    waited_ticks: u64,
    /// The system-mode parts of both: `stime` and `cstime`.
    system_ticks: u64,
    /// Page faults, including those of such children: `minflt` and `cminflt`.
    minor_faults: u64,
    /// Page faults that read from a device: `majflt` and `cmajflt`.
    major_faults: u64,
}

/// The processes of the tree under `root`, `root` first; empty if there is no such process.
///
/// A process that leaves the tree by starting a session under another parent is not found.
pub fn server_processes(root: u32) -> Vec<u32> {
    members(root, &read_all(root)).iter().map(|process| process.pid).collect()
}

/// The CPU clocks of a server's processes, for readings that must take microseconds.
#[derive(Debug)]
pub struct ServerClock {
    root: u32,
    processes: Vec<u32>,
}

impl ServerClock {
    /// The clocks of the process tree under `root`.
    pub fn new(root: u32) -> Self {
        ServerClock { root, processes: server_processes(root) }
    }

    /// Finds the processes again, because some come and go. Takes about 10 µs for every process on the host.
    pub fn find_processes(&mut self) {
        self.processes = server_processes(self.root);
    }

    /// The CPU time of each process that was found.
    pub fn read(&self) -> ServerCpu {
        ServerCpu { times_ns: self.processes.iter().map(|pid| process_cpu_ns(*pid)).collect() }
    }
}

/// The CPU time of a server's processes so far.
#[derive(Debug, Clone)]
pub struct ServerCpu {
    times_ns: Vec<Option<u64>>,
}

impl ServerCpu {
    /// The CPU time spent since `before` in µs, without processes that have ended meanwhile. The processes must not be found
    /// again between the two readings.
    pub fn since_us(&self, before: &ServerCpu) -> f64 {
        let both = self.times_ns.iter().zip(&before.times_ns);
        let spent = |(now, before): (&Option<u64>, &Option<u64>)| Some((*now)?.saturating_sub((*before)?));
        both.filter_map(spent).sum::<u64>() as f64 / 1e3
    }
}

/// How much of a process tree to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// CPU time and page faults.
    Processes,
    /// Also what takes a file for each thread, or one that the kernel takes longer to write: context switches, input and
    /// output.
    Threads,
}

/// Adds what the process tree under `root` has used so far to `measures`; nothing if there is no such process.
///
/// CPU time is the sum over the living processes of their CPU clocks (nanoseconds) and of their `cutime` + `cstime`: when a
/// child ends, its time moves from the first to the second, so the sum keeps growing. The second is in whole ticks (10 ms),
/// so the sum may fall by up to two ticks at that moment. Context switches of ended processes are lost.
pub(crate) fn read_into(root: u32, detail: Detail, measures: &mut Measures) {
    let all = read_all(root);
    let members = members(root, &all);
    if members.is_empty() {
        return;
    }
    let sum = |of: fn(&Process) -> u64| members.iter().map(|process| of(process) as f64).sum::<f64>();
    measures.set(names::SERVER_CPU_US, members.iter().map(|process| cpu_us(process)).sum());
    measures.set(names::SERVER_CPU_SYSTEM_US, sum(|process| process.system_ticks) * tick_us());
    measures.set(names::SERVER_MINOR_FAULTS, sum(|process| process.minor_faults));
    measures.set(names::SERVER_MAJOR_FAULTS, sum(|process| process.major_faults));
    if detail == Detail::Threads {
        let pids = || members.iter().map(|process| process.pid);
        if let Some(Switches { voluntary, involuntary }) = pids().filter_map(switches).reduce(Switches::plus)
        {
            measures.set(names::SERVER_VOLUNTARY_SWITCHES, voluntary as f64);
            measures.set(names::SERVER_INVOLUNTARY_SWITCHES, involuntary as f64);
        }
        // If one cannot be read, the sum would be incomplete.
        if let Some(bytes) = pids().map(read_bytes).sum::<Option<u64>>() {
            measures.set(names::SERVER_READ_BYTES, bytes as f64);
        }
    }
}

/// CPU time of a process and of its ended children, in µs.
fn cpu_us(process: &Process) -> f64 {
    let own_us = match process_cpu_ns(process.pid) {
        Some(time_ns) => time_ns as f64 / 1e3,
        None => process.own_ticks as f64 * tick_us(),
    };
    own_us + process.waited_ticks as f64 * tick_us()
}

/// Context switches since a process or thread began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Switches {
    voluntary: u64,
    involuntary: u64,
}

impl Switches {
    fn plus(self, other: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.saturating_add(other.voluntary),
            involuntary: self.involuntary.saturating_add(other.involuntary),
        }
    }
}

/// The context switches of all living threads of a process.
fn switches(pid: u32) -> Option<Switches> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let read = |path: PathBuf| parse_switches(&fs::read_to_string(path.join("status")).ok()?);
    threads.filter_map(|entry| read(entry.ok()?.path())).reduce(Switches::plus)
}

/// The last lines of `/proc/PID/status`, see proc_pid_status(5).
fn parse_switches(text: &str) -> Option<Switches> {
    let field = |name: &str| {
        text.lines().rev().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
    };
    Some(Switches {
        voluntary: field("voluntary_ctxt_switches")?,
        involuntary: field("nonvoluntary_ctxt_switches")?,
    })
}

/// The bytes that a process and its ended children have read from devices; `None` if it has ended or may not be read.
fn read_bytes(pid: u32) -> Option<u64> {
    parse_read_bytes(&fs::read_to_string(format!("/proc/{pid}/io")).ok()?)
}

/// `/proc/PID/io`, see proc_pid_io(5). Its `write_bytes` are useless: with large folios, the kernel counts a whole folio for
/// each page that is dirtied in it, which came to 150 times what the device wrote.
fn parse_read_bytes(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.trim().parse().ok())
}

/// Every process that may belong to the tree of `root`.
fn read_all(root: u32) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    // Most processes of an idle host are kernel threads, which have no process group. Asking for the group costs a fiftieth
    // of reading the file. (The group of a root without one is in an outer namespace, and so may be its children's.)
    let root_has_group = has_group(root);
    let is_of_kernel = |pid| root_has_group && !has_group(pid);
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| !is_of_kernel(*pid))
        .filter_map(read)
        .collect()
}

fn has_group(pid: u32) -> bool {
    i32::try_from(pid)
        .is_ok_and(|pid| getpgid(Some(Pid::from_raw(pid))).is_ok_and(|group| group.as_raw() != 0))
}

fn read(pid: u32) -> Option<Process> {
    // Even 20 digits in every field would fit, so one call reads it all.
    let mut bytes = [0; 1200];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut bytes).ok()?;
    // The command in it may be any bytes.
    parse(&String::from_utf8_lossy(bytes.get(..length)?))
}

/// `pid (command) state ppid …`, see proc_pid_stat(5). The command may contain spaces and parentheses.
fn parse(text: &str) -> Option<Process> {
    let (head, tail) = text.rsplit_once(')')?;
    let pid = head.split_once(' ')?.0.parse().ok()?;
    // The state is field 3 of the manual page and number 0 here.
    let fields: Vec<&str> = tail.split_whitespace().take(15).collect();
    let field = |number: usize| fields.get(number)?.parse::<u64>().ok();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        own_ticks: field(11)?.saturating_add(field(12)?),
        waited_ticks: field(13)?.saturating_add(field(14)?),
        system_ticks: field(12)?.saturating_add(field(14)?),
        minor_faults: field(7)?.saturating_add(field(8)?),
        major_faults: field(9)?.saturating_add(field(10)?),
    })
}

fn members(root: u32, all: &[Process]) -> Vec<&Process> {
    let mut members: Vec<&Process> = all.iter().filter(|process| process.pid == root).take(1).collect();
    let mut next = 0;
    while let Some(parent) = members.get(next).map(|process| process.pid) {
        members.extend(all.iter().filter(|process| process.parent == parent && process.pid != root));
        next += 1;
    }
    members
}

/// Whether a thread, or the main thread of a process, sleeps, waiting for something; `None` if there is none of that number.
pub fn is_asleep(pid: u32) -> Option<bool> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
    Some(stat.rsplit_once(')')?.1.trim_start().starts_with('S'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    const NOTHING: Process = Process {
        pid: 0,
        parent: 0,
        own_ticks: 0,
        waited_ticks: 0,
        system_ticks: 0,
        minor_faults: 0,
        major_faults: 0,
    };

    fn tree_cpu_us(root: u32) -> Option<f64> {
        let mut measures = Measures::new();
        read_into(root, Detail::Processes, &mut measures);
        measures.get(names::SERVER_CPU_US)
    }

    #[test]
    fn a_command_may_hold_anything() {
        let text = "42 (a) S (b) R 7 42 42 0 -1 4194304 1 2 3 4 100 20 3 4 20 0 1 0 5\n";
        let expected = Process {
            pid: 42,
            parent: 7,
            own_ticks: 120,
            waited_ticks: 7,
            system_ticks: 24,
            minor_faults: 3,
            major_faults: 7,
        };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("42 (cut"), None);
    }

    #[test]
    fn switches_and_storage_by_the_names_of_the_kernel() {
        let status = "Name:\tsh\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(parse_switches(status), Some(Switches { voluntary: 150, involuntary: 545 }));
        assert_eq!(parse_switches("Name:\tsh\n"), None);
        let io = "rchar: 9\nwchar: 9\nread_bytes: 8192\nwrite_bytes: 12288\n";
        assert_eq!(parse_read_bytes(io), Some(8192));
    }

    #[test]
    fn a_thread_that_sleeps_switches() {
        let own = || {
            let mut measures = Measures::new();
            read_into(std::process::id(), Detail::Threads, &mut measures);
            measures
        };
        // If a thread of another test ends meanwhile, its counts are lost.
        let all_counted = (0..10).any(|_| {
            let before = own();
            (0..20).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
            let added = own().since(&before);
            assert!(added.get(names::SERVER_MINOR_FAULTS).unwrap() >= 0.0, "{added:?}");
            added.get(names::SERVER_VOLUNTARY_SWITCHES).unwrap() >= 20.0
        });
        assert!(all_counted);
    }

    #[test]
    fn a_tree_has_grandchildren_and_no_neighbours() {
        let process = |pid, parent| Process { pid, parent, ..NOTHING };
        // Process ids wrap around, so a child's may be lower than its parent's.
        let all = [process(2, 9), process(5, 1), process(6, 5), process(7, 1), process(9, 6)];
        let pids: Vec<u32> = members(5, &all).iter().map(|process| process.pid).collect();
        assert_eq!(pids, [5, 6, 9, 2]);
        assert!(members(4, &all).is_empty());
    }

    #[test]
    fn time_of_an_ended_child_is_kept() {
        let script = "echo ready; read go; \
            sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; echo done; read go";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();
        let before = tree_cpu_us(shell.id()).unwrap();
        std::io::Write::write_all(&mut input, b"\n").unwrap();
        lines.next().unwrap().unwrap();
        let after = tree_cpu_us(shell.id()).unwrap();
        assert!(after - before > 2e4, "{before} {after}");
        assert_eq!(server_processes(shell.id()), [shell.id()]);
        assert!(server_processes(std::process::id()).contains(&shell.id()));
        drop(input);
        shell.wait().unwrap();
        assert_eq!(tree_cpu_us(shell.id()), None);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "([0-9]{1,20}|[() ]|.){0,60}") {
            let _ = (parse(&text), parse_switches(&text), parse_read_bytes(&text));
        }

        #[test]
        fn every_tree_ends(parents in prop::collection::vec(0u32..12, 0..12), root in 0u32..12) {
            let all: Vec<Process> = parents
                .iter()
                .zip(0..)
                .map(|(parent, pid)| Process { pid, parent: *parent, ..NOTHING })
                .collect();
            prop_assert!(members(root, &all).len() <= all.len());
        }
    }
}
