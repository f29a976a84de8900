//! The part of the machine that a process may use: control groups and processor sets limit it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::memory;
use crate::memory_kills::parse_kills;
use crate::server_group::Hierarchy;

/// The number of processors that this process may run on: at least one.
pub fn usable_cores() -> u32 {
    std::thread::available_parallelism().ok().and_then(|cores| u32::try_from(cores.get()).ok()).unwrap_or(1)
}

/// The memory that this process may use, in bytes: the machine's, or the limit of its control groups if that is less. `None`
/// if the kernel does not tell.
pub fn usable_memory_bytes() -> Option<u64> {
    memory_groups().iter().filter_map(MemoryGroup::limit).chain(memory::total_bytes()).min()
}

/// The limit that the control groups of this process set on memory, in bytes; `None` if they set none below the machine's
/// memory.
pub fn memory_limit_bytes() -> Option<u64> {
    usable_memory_bytes().filter(|bytes| Some(*bytes) != memory::total_bytes())
}

/// A control group that accounts for memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryGroup {
    folder: PathBuf,
    limit: &'static str,
    kills: &'static str,
}

impl MemoryGroup {
    /// A group of cgroups v2.
    pub(crate) fn unified(folder: &Path) -> Self {
        MemoryGroup { folder: folder.to_path_buf(), limit: "memory.max", kills: "memory.events" }
    }

    /// A group of cgroups v1.
    pub(crate) fn legacy(folder: &Path) -> Self {
        MemoryGroup {
            folder: folder.to_path_buf(),
            limit: "memory.limit_in_bytes",
            kills: "memory.oom_control",
        }
    }

    /// Its limit, in bytes. A group without a limit reports `max`, or a number larger than any machine's memory.
    pub(crate) fn limit(&self) -> Option<u64> {
        fs::read_to_string(self.folder.join(self.limit)).ok()?.trim().parse().ok()
    }

    /// How many of its processes the kernel's out-of-memory killer has killed.
    pub(crate) fn kills(&self) -> Option<u64> {
        parse_kills(&fs::read_to_string(self.folder.join(self.kills)).ok()?)
    }
}

/// The groups of this process, and their ancestors.
pub(crate) fn memory_groups() -> Vec<MemoryGroup> {
    groups_of(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default())
}

/// The groups in the text of `/proc/self/cgroup`, and their ancestors.
fn groups_of(told: &str) -> Vec<MemoryGroup> {
    let group = |(hierarchy, folder): (Hierarchy, PathBuf)| match hierarchy {
        Hierarchy::Unified => MemoryGroup::unified(&folder),
        Hierarchy::Legacy => MemoryGroup::legacy(&folder),
    };
    group_folders(told, "memory").into_iter().map(group).collect()
}

/// The folders of the groups in the text of `/proc/self/cgroup` that may have the controller, and of their ancestors: see cgroups(7).
pub fn group_folders(told: &str, controller: &str) -> Vec<(Hierarchy, PathBuf)> {
    let parse = |line: &str| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let root = Path::new("/sys/fs/cgroup");
        let (hierarchy, root) = match controllers {
            "" => (Hierarchy::Unified, root.to_path_buf()),
            _ if controllers.split(',').any(|other| other == controller) => {
                (Hierarchy::Legacy, root.join(controller))
            }
            _ => return None,
        };
        let within = |group: &Path| (hierarchy, root.join(group.strip_prefix("/").unwrap_or(group)));
        Some(Path::new(group).ancestors().map(within).collect::<Vec<_>>())
    };
    told.lines().filter_map(parse).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_and_those_around_them_have_limits() {
        let files = |groups: &str| -> Vec<String> {
            groups_of(groups)
                .iter()
                .map(|group| group.folder.join(group.limit).display().to_string())
                .collect()
        };
        assert_eq!(
            files("0::/a/b\n"),
            ["/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory.max"]
        );
        assert_eq!(
            files("4:hugetlb,memory:/small\n3:cpuset:/\n"),
            [
                "/sys/fs/cgroup/memory/small/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes"
            ]
        );
        assert!(files("3:cpuset:/\nnonsense\n").is_empty());
    }

    #[test]
    fn this_process_may_use_something() {
        assert!(usable_cores() >= 1);
        let bytes = usable_memory_bytes().unwrap();
        assert!(bytes > 1 << 26 && bytes <= memory::total_bytes().unwrap(), "{bytes}");
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "(:|/|memory|0|,|.|\\n){0,40}") {
            let _ = groups_of(&text);
        }
    }
}
