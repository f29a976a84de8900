//! Servers that the kernel killed for want of memory.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use basecase_probe::{MemoryKills, Shortage};
use rustix::process::Signal;
use thiserror::Error;

use crate::config::Config;
use crate::instance::Instance;

/// How long a server that lost a process may take to end, or to say so in its log.
const PATIENCE: Duration = Duration::from_secs(5);
/// How Postgres tells that one of its processes was killed.
const KILLED: &str = "terminated by signal 9";
/// What takes most memory, by the names of all dbms.
const LARGE: [&str; 6] = [
    "shared_buffers",
    "maintenance_work_mem",
    "work_mem",
    "innodb_buffer_pool_size",
    "rocksdb_block_cache_size",
    "key_buffer_size",
];

/// A server, or one of its processes, was killed by the kernel for want of memory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the kernel killed {build} for want of memory: {}\nhint: {}", self.limit(), self.remedy())]
pub struct KilledForMemory {
    build: String,
    shortage: Shortage,
    config: String,
    /// The settings of its config that take most memory.
    settings: Vec<(String, String)>,
}

impl KilledForMemory {
    pub(crate) fn new(build: String, shortage: Shortage, config: &Config) -> Self {
        let value = |name: &&str| Some(((*name).to_owned(), config.value(name)?.to_owned()));
        let settings = LARGE.iter().filter_map(value).collect();
        KilledForMemory { build, shortage, config: config.name.clone(), settings }
    }

    fn limit(&self) -> String {
        match self.shortage {
            Shortage::Group(bytes) => format!("its control group allows {} MiB", bytes >> 20),
            Shortage::Host => "this host has no more".to_owned(),
        }
    }

    fn remedy(&self) -> String {
        let allow = match self.shortage {
            Shortage::Group(_) => "allow more",
            Shortage::Host => "end what else takes memory",
        };
        let Some((first, _)) = self.settings.first() else { return format!("{allow}, or run fewer clients") };
        let list: Vec<String> =
            self.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!(
            "{allow}, or let the server take less with --set {first}=…; config {} has {}",
            self.config,
            list.join(", ")
        )
    }
}

/// What is known before a server could be killed.
#[derive(Debug)]
pub(crate) struct KillWatch {
    before: MemoryKills,
    /// Length of the server's log.
    log_bytes: u64,
}

impl KillWatch {
    pub(crate) fn begin(instance: &Instance) -> Self {
        let log_bytes = instance.log().metadata().map_or(0, |log| log.len());
        KillWatch { before: MemoryKills::now(), log_bytes }
    }

    /// What was short, when the kernel killed since then and `is_killed` says that the server was hit: soon, for it dies after it was counted.
    pub(crate) fn shortage(&self, mut is_killed: impl FnMut() -> bool) -> Option<Shortage> {
        let shortage = self.before.shortage_since()?;
        let until = Instant::now() + PATIENCE;
        while !is_killed() {
            if Instant::now() > until {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(shortage)
    }

    /// Whether the log tells of a process that was killed since then.
    pub(crate) fn is_in_log(&self, instance: &Instance) -> bool {
        let added = instance.log().metadata().map_or(0, |log| log.len()).saturating_sub(self.log_bytes);
        let end = instance.log_end();
        let from = end.len().saturating_sub(usize::try_from(added).unwrap_or(usize::MAX));
        String::from_utf8_lossy(&end.as_bytes()[from..]).contains(KILLED)
    }
}

/// Whether a process ended by SIGKILL, or says so of one of its own.
pub(crate) fn was_killed(status: ExitStatus, output: &str) -> bool {
    status.signal() == Some(Signal::KILL.as_raw()) || output.contains(KILLED)
}
