//! Processes that the kernel's out-of-memory killer has killed.

use std::fs;

use crate::confinement::{MemoryGroup, memory_groups};

/// The number of out-of-memory kills so far, in the control groups of this process and on the whole host.
#[derive(Debug, Clone)]
pub struct MemoryKills {
    groups: Vec<(MemoryGroup, u64)>,
    host: Option<u64>,
}

/// Whose memory ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// A control group's, whose limit in bytes this is.
    Group(u64),
    /// The host's.
    Host,
}

impl MemoryKills {
    /// Reads the counts. What the kernel does not count is left out.
    pub fn now() -> Self {
        let groups = memory_groups();
        MemoryKills {
            groups: groups.into_iter().filter_map(|group| Some((group.clone(), group.kills()?))).collect(),
            host: fs::read_to_string("/proc/vmstat").ok().and_then(|text| parse_kills(&text)),
        }
    }

    /// Whose memory ran out, if the kernel has killed since these counts were read; `None` if it has not. The killed process
    /// is unknown: it may be any of the group, or of the host.
    pub fn shortage_since(&self) -> Option<Shortage> {
        let has_killed = |(group, before): &&(MemoryGroup, u64)| group.kills() > Some(*before);
        let limits = self.groups.iter().filter(has_killed).filter_map(|(group, _)| group.limit());
        let host = || {
            let now = fs::read_to_string("/proc/vmstat").ok().and_then(|text| parse_kills(&text));
            (now? > self.host?).then_some(Shortage::Host)
        };
        limits.min().map(Shortage::Group).or_else(host)
    }
}

/// The line `oom_kill N` of `/proc/vmstat`, of `memory.events` and of `memory.oom_control`.
pub(crate) fn parse_kills(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
    }

    #[test]
    fn defect_23_kills_of_both_kinds_of_groups_are_told_with_the_limit() {
        let (outer, inner) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(
            outer.path(),
            &[("memory.max", "838860800\n"), ("memory.events", "low 0\noom 0\noom_kill 3\n")],
        );
        write(
            inner.path(),
            &[
                ("memory.limit_in_bytes", "419430400\n"),
                ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"),
            ],
        );
        let groups = [MemoryGroup::unified(outer.path()), MemoryGroup::legacy(inner.path())];
        let before = MemoryKills {
            groups: groups.map(|group| (group.clone(), group.kills().unwrap())).into(),
            host: None,
        };
        assert_eq!(before.shortage_since(), None);
        write(outer.path(), &[("memory.events", "low 0\noom 0\noom_kill 4\n")]);
        assert_eq!(before.shortage_since(), Some(Shortage::Group(800 << 20)));
        write(inner.path(), &[("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")]);
        assert_eq!(before.shortage_since(), Some(Shortage::Group(400 << 20)));
        let all = MemoryKills { groups: Vec::new(), host: Some(0) };
        assert!(matches!(all.shortage_since(), None | Some(Shortage::Host)));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "(oom_kill|oom|[0-9]{1,20}| |.|\\n){0,40}") {
            let _ = parse_kills(&text);
        }
    }
}
