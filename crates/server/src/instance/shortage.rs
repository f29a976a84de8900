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

/// The kernel killed a server, or one of its processes, because memory ran out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the kernel killed {build} because memory ran out: {}\nhint: {}", self.limit(), self.remedy())]
pub struct KilledForMemory {
    build: String,
    cause: Cause,
    config: String,
    /// The settings of its config that take most memory.
    settings: Vec<(String, String)>,
}

/// What limited the server's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The control group that basecase gave it; how much it allows, and how much was used at most, in bytes.
    OwnGroup(u64, Option<u64>),
    /// Everything around it.
    Outside(Shortage),
}

impl KilledForMemory {
    pub(crate) fn new(build: String, shortage: Shortage, config: &Config) -> Self {
        KilledForMemory::with(build, Cause::Outside(shortage), config)
    }

    /// A server in a control group of its own, with this limit and this peak of memory in bytes.
    pub(crate) fn in_group(build: String, limit: u64, peak: Option<u64>, config: &Config) -> Self {
        KilledForMemory::with(build, Cause::OwnGroup(limit, peak), config)
    }

    fn with(build: String, cause: Cause, config: &Config) -> Self {
        let value = |name: &&str| Some(((*name).to_owned(), config.value(name)?.to_owned()));
        let settings = config.rules.large.iter().filter_map(value).collect();
        KilledForMemory { build, cause, config: config.name.clone(), settings }
    }

    fn limit(&self) -> String {
        match self.cause {
            Cause::OwnGroup(limit, None) => format!("its limit is {} MiB", limit >> 20),
            Cause::OwnGroup(limit, Some(peak)) => {
                format!("its limit is {} MiB, and it took up to {} MiB", limit >> 20, peak >> 20)
            }
            Cause::Outside(Shortage::Group(bytes)) => {
                format!("its control group allows {} MiB", bytes >> 20)
            }
            Cause::Outside(Shortage::Host) => "this host has no more".to_owned(),
        }
    }

    fn remedy(&self) -> String {
        let allow = match self.cause {
            Cause::OwnGroup(..) => "allow more with --memory",
            Cause::Outside(Shortage::Group(_)) => "allow more",
            Cause::Outside(Shortage::Host) => "end other programs that use memory",
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

#[cfg(test)]
mod tests {
    use basecase_model::Dbms;

    use super::*;
    use crate::config::{ConfigFile, Host};

    #[test]
    fn a_kill_in_the_server_s_own_group_is_told_with_limit_peak_and_settings() {
        let host = Host { cores: 2, memory_bytes: 300 << 20, is_limited: true };
        let text = "shared_buffers = 256MB\nmaintenance_work_mem = 64MB";
        let file = ConfigFile::parse(Dbms::Postgres, "own", "own.conf", text, host).unwrap();
        let config = file.for_version(&"18.6".parse().unwrap());
        let killed = KilledForMemory::in_group("postgres 18.6".into(), 300 << 20, Some(300 << 20), &config);
        assert_eq!(
            killed.to_string(),
            "the kernel killed postgres 18.6 because memory ran out: its limit is 300 MiB, and it took up to 300 MiB\n\
             hint: allow more with --memory, or let the server take less with --set shared_buffers=…; config own has \
             shared_buffers = 256MB, maintenance_work_mem = 64MB"
        );
    }
}
