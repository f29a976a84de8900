//! A limit on the memory of a server: its control group.

use std::process::Command;

use basecase_probe::ServerGroup;
use basecase_process::{ControlGroup, ControlGroups, DATA, forget_folder};

use super::shortage::KilledForMemory;
use crate::instance::{Instance, InstanceError};

/// A limit on a server's memory.
#[derive(Debug, Clone)]
pub(crate) struct MemoryLimit {
    groups: ControlGroups,
    bytes: u64,
}

impl Instance {
    /// Limits the server's memory from its next start or initialisation on, by a control group of its own. All of its memory counts, and the
    /// page cache of what it reads: its data is dropped from the page cache at each start, because who caches it pays.
    pub fn limit_memory(&mut self, groups: ControlGroups, bytes: u64) {
        self.memory = Some(MemoryLimit { groups, bytes });
    }

    /// What the kernel counts for the server's own control group. `None` if it has none, or is not running.
    pub fn group_counts(&self) -> Option<ServerGroup> {
        self.group.as_ref()?.counts(self.pid()?)
    }

    /// Gives the next start a new group.
    pub(crate) fn renew_group(&mut self) -> Result<(), InstanceError> {
        self.group = None;
        let Some(limit) = &self.memory else { return Ok(()) };
        let data = self.folder.folder(DATA)?;
        forget_folder(data.handle())
            .map_err(|source| InstanceError::File { path: data.path().to_path_buf(), source })?;
        self.group = Some(limit.groups.make(limit.bytes)?);
        Ok(())
    }

    /// The command, in the server's group if it has one.
    pub(crate) fn enclosed(&self, command: Command) -> Result<Command, InstanceError> {
        let Some(group) = &self.group else { return Ok(command) };
        let program = command.get_program().into();
        group.enclose(command).map_err(|source| InstanceError::Spawn { program, source })
    }

    /// Whether the kernel has killed one of the processes in the server's own group.
    pub(crate) fn killed_in_group(&self) -> Option<KilledForMemory> {
        let group = self.group.as_ref()?;
        // Whoever initialises the data has no process id here, and is found by its group alone.
        let counts = group.counts(self.pid().unwrap_or(0))?;
        let is_killed = counts.kills().is_some_and(|kills| kills > 0);
        is_killed.then(|| self.killed_by(group, &counts))
    }

    fn killed_by(&self, group: &ControlGroup, counts: &ServerGroup) -> KilledForMemory {
        let build = self.spec.build.title();
        KilledForMemory::in_group(build, group.limit_bytes(), counts.peak_bytes(), &self.spec.config)
    }
}
