//! The resources used between two instants.

use basecase_model::{Measures, names};
use nix::sys::resource::{UsageWho, getrusage};

use crate::process::{self, Detail};
use crate::server_group::ServerGroup;
use crate::{clock, device, level, pressure, processor};

/// What is watched besides the whole host and this process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// The block device under the data directory, by its name in `/proc/diskstats`; see [`crate::device_under`].
    pub device: Option<String>,
    /// The root of the server's process tree; `None` for an embedded dbms.
    pub server: Option<u32>,
    /// The server's own control group, if it has one.
    pub group: Option<ServerGroup>,
}

/// Reads all counters of a target at once.
#[derive(Debug, Clone)]
pub struct Watch {
    target: Target,
}

impl Watch {
    /// A watch on `target`.
    pub fn new(target: Target) -> Self {
        Watch { target }
    }

    /// The counters now.
    ///
    /// Cheap enough to be taken right before the first and right after the last statement of a window: it takes some 100 µs,
    /// and with a server some 10 µs more for every process on the host except kernel threads, and for every thread of the
    /// server. It allocates, so it must not run between statements.
    pub fn snapshot(&self) -> Snapshot {
        self.read(Detail::Threads)
    }

    /// The counters that can be taken every second while a step runs, with levels beside them.
    pub fn glance(&self) -> (Snapshot, Measures) {
        let mut levels = level::read();
        if let Some(group) = &self.target.group {
            levels.extend(group.levels());
        }
        (self.read(Detail::Processes), levels)
    }

    fn read(&self, detail: Detail) -> Snapshot {
        let mut measures = Measures::new();
        processor::read_into(&mut measures);
        if detail == Detail::Threads
            && let Some(time_us) = processor::exact_us()
        {
            measures.set(names::HOST_CPU_US, time_us);
        }
        pressure::read_into(&mut measures);
        if let Some(device) = &self.target.device {
            device::read_into(device, &mut measures);
        }
        if let Some(server) = self.target.server {
            process::read_into(server, detail, &mut measures);
        }
        if let Some(group) = &self.target.group {
            group.read_into(&mut measures);
        }
        if let Some(time_ns) = clock::own_cpu_ns() {
            measures.set(names::CLIENT_CPU_US, time_ns as f64 / 1e3);
        }
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
            let switches = usage.voluntary_context_switches() + usage.involuntary_context_switches();
            measures.set(names::CLIENT_SWITCHES, switches as f64);
        }
        Snapshot(measures)
    }
}

/// The counters at one instant, since boot or since a process began.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot(Measures);

impl Snapshot {
    /// The counters themselves.
    pub fn measures(&self) -> &Measures {
        &self.0
    }

    /// The difference from `earlier`, by the names of [`basecase_model::names`]. What either lacks is absent.
    ///
    /// Never below zero, although idle time and I/O wait can decrease (proc_stat(5)), and the time of an ended process is in
    /// whole ticks.
    pub fn since(&self, earlier: &Snapshot) -> Measures {
        let mut added = Measures::new();
        for (name, value) in self.0.since(&earlier.0).iter() {
            added.set(name, value.max(0.0));
        }
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn work_of_client_and_server_is_told_apart() {
        let mut server = Command::new("sh")
            .args(["-c", "sh -c 'while :; do :; done' & wait"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let watch = Watch::new(Target { device: None, server: Some(server.id()), group: None });
        std::thread::sleep(Duration::from_millis(50));
        let before = watch.snapshot();
        let start = Instant::now();
        std::thread::sleep(Duration::from_millis(300));
        let used = watch.snapshot().since(&before);
        let window_us = start.elapsed().as_micros() as f64;
        // The shell's child is ended by its own number, which the tree knows.
        for pid in process::server_processes(server.id()) {
            Command::new("sh").args(["-c", &format!("kill {pid}")]).status().unwrap();
        }
        server.wait().unwrap();

        let server_us = used.get(names::SERVER_CPU_US).unwrap();
        assert!(server_us > 2e4 && server_us < window_us * 1.1, "{server_us} of {window_us}");
        assert!(used.get(names::CLIENT_CPU_US).unwrap() < window_us);
        assert!(used.get(names::HOST_CPU_USER_US).unwrap() > 0.0);
        assert!(used.get(names::HOST_CONTEXT_SWITCHES).unwrap() > 0.0);
        assert_eq!(used.get(names::DEVICE_READS), None);
    }

    #[test]
    fn what_is_not_there_is_absent() {
        let target = Target { device: Some("no such device".into()), server: Some(1 << 23), group: None };
        let snapshot = Watch::new(target).snapshot();
        assert_eq!(snapshot.0.get(names::DEVICE_WRITES), None);
        assert_eq!(snapshot.0.get(names::SERVER_CPU_US), None);
    }

    #[test]
    fn counts_never_fall() {
        let (mut before, mut after) = (Measures::new(), Measures::new());
        before.set("a", 5.0);
        after.set("a", 4.0);
        assert_eq!(Snapshot(after).since(&Snapshot(before)).get("a"), Some(0.0));
    }
}
