//! Servers that the kernel's out-of-memory killer has killed.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use basecase_probe::{MemoryKills, Shortage};
use rustix::process::Signal;
use thiserror::Error;

use crate::config::Config;
use crate::instance::Instance;

/// How long a server that has lost a process may take to end, or to log it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How Postgres logs that one of its processes was killed.
const KILLED: &str = "terminated by signal 9";
/// The settings of any dbms that take most memory.
const LARGE: [&str; 6] = [
    "shared_buffers",
    "maintenance_work_mem",
    "work_mem",
    "innodb_buffer_pool_size",
    "rocksdb_block_cache_size",
    "key_buffer_size",
];

/// The kernel killed a server, or one of its processes, because memory ran out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the kernel killed {build} because memory ran out: {}\nhint: {}", self.limit(), self.remedy())]
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
            Shortage::Host => "end other programs that use memory",
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

/// The state before a server could be killed.
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

    /// Whose memory ran out, if the kernel has killed a process since then and `is_killed` says that it was the server's. It
    /// waits a little for that, because the kernel counts a kill before the process dies.
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

    /// Whether the log mentions a process that has been killed since then.
    pub(crate) fn is_in_log(&self, instance: &Instance) -> bool {
        let added = instance.log().metadata().map_or(0, |log| log.len()).saturating_sub(self.log_bytes);
        let end = instance.log_end();
        let from = end.len().saturating_sub(usize::try_from(added).unwrap_or(usize::MAX));
        String::from_utf8_lossy(&end.as_bytes()[from..]).contains(KILLED)
    }
}

/// Whether a process ended by SIGKILL, or reports that one of its children did.
pub(crate) fn was_killed(status: ExitStatus, output: &str) -> bool {
    status.signal() == Some(Signal::KILL.as_raw()) || output.contains(KILLED)
}
