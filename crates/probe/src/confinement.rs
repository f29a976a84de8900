//! What of the machine a process may use: control groups and processor sets leave less than there is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::memory;

/// Processors that this process may run on: one at least.
pub fn usable_cores() -> u32 {
    std::thread::available_parallelism().ok().and_then(|cores| u32::try_from(cores.get()).ok()).unwrap_or(1)
}

/// Memory that this process may use, in bytes: what its control groups leave of the machine's. `None` where the kernel does not tell.
pub fn usable_memory_bytes() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    // A group without a limit says `max`, or a number that no machine has.
    let limit = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    limit_files(&groups).into_iter().filter_map(limit).chain(memory::total_bytes()).min()
}

/// Where the limits of the memory stand of the groups that are told by `/proc/self/cgroup`, and of those around them: cgroups(7).
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let of_line = |line: &str| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let within = |group: &Path| Path::new(root).join(group.strip_prefix("/").unwrap_or(group)).join(file);
        Some(Path::new(group).ancestors().map(within).collect::<Vec<_>>())
    };
    groups.lines().filter_map(of_line).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_and_those_around_them_have_limits() {
        let files = |groups: &str| -> Vec<String> {
            limit_files(groups).iter().map(|path| path.display().to_string()).collect()
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
            let _ = limit_files(&text);
        }
    }
}
