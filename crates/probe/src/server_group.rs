//! What the kernel counts for the control group of one server: its memory, and what it reads from devices.

use std::fs;
use std::path::{Path, PathBuf};

use basecase_model::{Measures, names};

use crate::memory_kills::parse_kills;
use crate::pressure::{parse_line, parse_pressure};

/// The two kinds of hierarchies of control groups, see cgroups(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hierarchy {
    /// Version 2: one for all controllers.
    Unified,
    /// Version 1: one for each controller.
    Legacy,
}

impl Hierarchy {
    /// The file that limits a group's memory.
    pub fn limit_file(self) -> &'static str {
        match self {
            Hierarchy::Unified => "memory.max",
            Hierarchy::Legacy => "memory.limit_in_bytes",
        }
    }
}

/// The control group of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerGroup {
    hierarchy: Hierarchy,
    /// The folder of the group for memory.
    memory: PathBuf,
    /// The folder with the counts of input and output, and the number of the device that counts.
    io: Option<(PathBuf, String)>,
}

impl ServerGroup {
    /// A group with this folder for memory, and, where input and output are counted, that folder and the number of the
    /// device under the data, `254:0`.
    pub fn new(hierarchy: Hierarchy, memory: &Path, io: Option<(PathBuf, String)>) -> Self {
        ServerGroup { hierarchy, memory: memory.to_path_buf(), io }
    }

    /// The most memory that it may use, in bytes. `None` if it has no limit, or is gone.
    pub fn limit_bytes(&self) -> Option<u64> {
        self.number(self.hierarchy.limit_file())
    }

    /// The most memory that it has used, in bytes. Kernels before 5.19 do not tell it of version 2.
    pub fn peak_bytes(&self) -> Option<u64> {
        self.number(match self.hierarchy {
            Hierarchy::Unified => "memory.peak",
            Hierarchy::Legacy => "memory.max_usage_in_bytes",
        })
    }

    /// How many of its processes the kernel's out-of-memory killer has killed.
    pub fn kills(&self) -> Option<u64> {
        parse_kills(&self.text(match self.hierarchy {
            Hierarchy::Unified => "memory.events",
            Hierarchy::Legacy => "memory.oom_control",
        })?)
    }

    /// Adds its counts so far to `measures`.
    pub(crate) fn read_into(&self, measures: &mut Measures) {
        let memory = self.text("memory.stat").unwrap_or_default();
        set(measures, names::GROUP_REFAULTS, self.refaults(&memory));
        set(measures, names::GROUP_MAJOR_FAULTS, self.statistic(&memory, "pgmajfault"));
        let pressure = |file| parse_pressure(&self.text(file)?);
        set(measures, names::GROUP_MEMORY_PRESSURE_US, pressure("memory.pressure"));
        set(measures, names::GROUP_IO_PRESSURE_US, pressure("io.pressure"));
        if let Some(transfers) = self.transfers() {
            set(measures, names::GROUP_READS, Some(transfers.reads));
            set(measures, names::GROUP_READ_BYTES, Some(transfers.read_bytes));
        }
    }

    /// How its memory is used now. What the kernel does not tell is absent.
    pub fn levels(&self) -> Measures {
        let mut measures = Measures::new();
        let memory = self.text("memory.stat").unwrap_or_default();
        let of_kind = |unified, legacy| match self.hierarchy {
            Hierarchy::Unified => parse_line(&memory, unified),
            Hierarchy::Legacy => self.statistic(&memory, legacy),
        };
        let shared = of_kind("shmem", "shmem");
        // The kernel counts shared memory as a part of the page cache.
        let cached = of_kind("file", "cache").zip(shared).map(|(all, shared)| all.saturating_sub(shared));
        set(&mut measures, names::GROUP_CACHED_BYTES, cached);
        set(&mut measures, names::GROUP_SHARED_BYTES, shared);
        set(&mut measures, names::GROUP_ANONYMOUS_BYTES, of_kind("anon", "rss"));
        set(
            &mut measures,
            names::GROUP_MEMORY_BYTES,
            self.number(match self.hierarchy {
                Hierarchy::Unified => "memory.current",
                Hierarchy::Legacy => "memory.usage_in_bytes",
            }),
        );
        measures
    }

    /// The same with its limit and the most that it has used.
    pub fn gauges(&self) -> Measures {
        let mut measures = self.levels();
        set(&mut measures, names::GROUP_LIMIT_BYTES, self.limit_bytes());
        set(&mut measures, names::GROUP_PEAK_BYTES, self.peak_bytes());
        measures
    }

    /// Pages that were read again soon after they had to make room.
    fn refaults(&self, memory: &str) -> Option<u64> {
        let [file, anonymous] =
            ["workingset_refault_file", "workingset_refault_anon"].map(|name| self.statistic(memory, name));
        // Kernels before 5.9 count both as one.
        match file {
            Some(file) => Some(file.saturating_add(anonymous.unwrap_or(0))),
            None => self.statistic(memory, "workingset_refault"),
        }
    }

    /// A line of `memory.stat`; in version 1 it includes groups below this one.
    fn statistic(&self, memory: &str, name: &str) -> Option<u64> {
        match self.hierarchy {
            Hierarchy::Unified => parse_line(memory, name),
            Hierarchy::Legacy => parse_line(memory, &format!("total_{name}")),
        }
    }

    fn transfers(&self) -> Option<Transfers> {
        let (folder, device) = self.io.as_ref()?;
        let text = |file| fs::read_to_string(folder.join(file)).ok();
        match self.hierarchy {
            Hierarchy::Unified => parse_io_stat(&text("io.stat")?, device),
            Hierarchy::Legacy => Some(Transfers {
                reads: parse_throttle(&text("blkio.throttle.io_serviced")?, device)?,
                read_bytes: parse_throttle(&text("blkio.throttle.io_service_bytes")?, device)?,
            }),
        }
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.text(file)?.trim().parse().ok()
    }

    fn text(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.memory.join(file)).ok()
    }
}

/// Sets a measure that is known.
fn set(measures: &mut Measures, name: &str, value: Option<u64>) {
    if let Some(value) = value {
        measures.set(name, value as f64);
    }
}

/// What a group has read from a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Transfers {
    reads: u64,
    read_bytes: u64,
}

/// The line `254:0 rbytes=4096 wbytes=0 rios=1 …` of `io.stat`. A group that has used no device yet has no line.
fn parse_io_stat(text: &str, device: &str) -> Option<Transfers> {
    let Some(line) = text.lines().find_map(|line| line.strip_prefix(device)?.strip_prefix(' ')) else {
        return Some(Transfers { reads: 0, read_bytes: 0 });
    };
    let field = |name: &str| line.split_whitespace().find_map(|field| field.strip_prefix(name)?.parse().ok());
    Some(Transfers { reads: field("rios=")?, read_bytes: field("rbytes=")? })
}

/// The line `254:0 Read 12` of a file of `blkio.throttle`. A group that has used no device yet has none.
fn parse_throttle(text: &str, device: &str) -> Option<u64> {
    let of_device = || text.lines().filter_map(|line| line.strip_prefix(device)?.strip_prefix(' '));
    match of_device().find_map(|rest| rest.strip_prefix("Read ")) {
        Some(number) => number.trim().parse().ok(),
        None if of_device().next().is_none() => Some(0),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn group(hierarchy: Hierarchy, files: &[(&str, &str)]) -> (tempfile::TempDir, ServerGroup) {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
        let io = Some((folder.path().to_path_buf(), "254:0".to_owned()));
        let group = ServerGroup::new(hierarchy, folder.path(), io);
        (folder, group)
    }

    #[test]
    fn both_kinds_of_groups_tell_the_same() {
        let unified = [
            ("memory.max", "419430400\n"),
            ("memory.peak", "419430400\n"),
            ("memory.current", "400000000\n"),
            ("memory.events", "low 0\nmax 9\noom 2\noom_kill 1\n"),
            (
                "memory.stat",
                "anon 3000\nfile 500\nshmem 100\npgmajfault 7\nworkingset_refault_anon 1\nworkingset_refault_file 41\n",
            ),
            ("memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\nfull avg10=0.00 total=5\n"),
            ("io.pressure", "some avg10=0.00 total=99\n"),
            (
                "io.stat",
                "8:0 rbytes=1 wbytes=1 rios=1 wios=1\n254:0 rbytes=8192 wbytes=0 rios=2 wios=0 dbytes=0 dios=0\n",
            ),
        ];
        let legacy = [
            ("memory.limit_in_bytes", "419430400\n"),
            ("memory.max_usage_in_bytes", "419430400\n"),
            ("memory.usage_in_bytes", "400000000\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
            (
                "memory.stat",
                "cache 9\ntotal_cache 500\ntotal_rss 3000\ntotal_shmem 100\ntotal_pgmajfault 7\ntotal_workingset_refault_anon 1\ntotal_workingset_refault_file 41\n",
            ),
            ("blkio.throttle.io_serviced", "254:0 Read 2\n254:0 Write 0\n254:0 Total 2\nTotal 2\n"),
            ("blkio.throttle.io_service_bytes", "254:0 Read 8192\n254:0 Write 0\nTotal 8192\n"),
        ];
        for (hierarchy, files) in [(Hierarchy::Unified, &unified[..]), (Hierarchy::Legacy, &legacy[..])] {
            let (_folder, group) = group(hierarchy, files);
            assert_eq!((group.limit_bytes(), group.peak_bytes()), (Some(400 << 20), Some(400 << 20)));
            assert_eq!(group.kills(), Some(1));
            let levels = group.levels();
            let level = |name| levels.get(name).unwrap();
            assert_eq!(level(names::GROUP_MEMORY_BYTES), 4e8);
            assert_eq!(level(names::GROUP_CACHED_BYTES), 400.0);
            assert_eq!(level(names::GROUP_SHARED_BYTES), 100.0);
            assert_eq!(level(names::GROUP_ANONYMOUS_BYTES), 3000.0);
            let mut counts = Measures::new();
            group.read_into(&mut counts);
            assert_eq!(counts.get(names::GROUP_REFAULTS), Some(42.0));
            assert_eq!(counts.get(names::GROUP_MAJOR_FAULTS), Some(7.0));
            assert_eq!(counts.get(names::GROUP_READS), Some(2.0));
            assert_eq!(counts.get(names::GROUP_READ_BYTES), Some(8192.0));
            let has_pressure = hierarchy == Hierarchy::Unified;
            assert_eq!(counts.get(names::GROUP_IO_PRESSURE_US), has_pressure.then_some(99.0));
            assert_eq!(counts.get(names::GROUP_MEMORY_PRESSURE_US), has_pressure.then_some(77.0));
        }
    }

    #[test]
    fn what_a_group_does_not_tell_is_absent() {
        for hierarchy in [Hierarchy::Unified, Hierarchy::Legacy] {
            let (_folder, group) = group(hierarchy, &[]);
            let mut counts = Measures::new();
            group.read_into(&mut counts);
            assert_eq!((counts.iter().count(), group.levels().iter().count()), (0, 0));
            assert_eq!((group.limit_bytes(), group.peak_bytes(), group.kills()), (None, None, None));
        }
        let (_folder, unlimited) = group(Hierarchy::Unified, &[("memory.max", "max\n")]);
        assert_eq!(unlimited.limit_bytes(), None);
        assert_eq!(parse_throttle("Total 0\n", "254:0"), Some(0), "nothing was read yet");
        assert_eq!(parse_io_stat("", "254:0"), Some(Transfers { reads: 0, read_bytes: 0 }));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "(254:0|Read|rios=|rbytes=|some|total=|[0-9]{1,20}| |.|\\n){0,40}") {
            let _ = (parse_throttle(&text, "254:0"), parse_io_stat(&text, "254:0"));
        }
    }
}
