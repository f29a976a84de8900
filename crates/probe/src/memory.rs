//! Memory of processes and of the page cache.

use std::fs;
use std::io::ErrorKind;

use crate::process;

/// The proportional set size of the process tree under `root`, in bytes: shared memory is divided among its processes, so
/// the sum counts every page once.
///
/// This walks the page tables of every process, which may take milliseconds per GiB. `None` if there is no such process, or
/// one of the tree may not be read, because a partial sum would mislead.
pub fn server_pss_bytes(root: u32) -> Option<u64> {
    let mut sum = None;
    for pid in process::server_processes(root) {
        match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
            Ok(text) => sum = sum.unwrap_or(0_u64).checked_add(parse_kib(&text, "Pss")?),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
            // It has ended since the tree was read.
            Err(_) => {}
        }
    }
    sum
}

/// Peak resident memory of this process, in bytes.
pub fn client_peak_rss_bytes() -> Option<u64> {
    parse_kib(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM")
}

/// The host's bytes that are yet to be written to a device or are being written.
pub fn host_dirty_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    parse_kib(&text, "Dirty")?.checked_add(parse_kib(&text, "Writeback")?)
}

/// The host's available memory, in bytes: what it can hand out without swapping.
pub(crate) fn available_bytes() -> Option<u64> {
    parse_kib(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}

/// Memory of the host, in bytes.
pub(crate) fn total_bytes() -> Option<u64> {
    parse_kib(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal")
}

/// The bytes of a line `name:   123 kB`, as in `/proc/meminfo`.
pub fn parse_kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_the_name_and_not_a_longer_one() {
        let text = "Pss_Dirty:  5 kB\nPss:                 364 kB\nThreads:\t1\n";
        assert_eq!(parse_kib(text, "Pss"), Some(364 * 1024));
        assert_eq!(parse_kib(text, "Threads"), None);
        assert_eq!(parse_kib(text, "Rss"), None);
    }

    #[test]
    fn reads_this_process_and_host() {
        let peak = client_peak_rss_bytes().unwrap();
        assert!(peak > 100_000);
        assert!(server_pss_bytes(std::process::id()).unwrap() > 10_000);
        assert!(total_bytes().unwrap() > peak);
        assert!(host_dirty_bytes().is_some());
        assert_eq!(server_pss_bytes(1 << 23), None);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "(Pss|:|[0-9]{1,20}|kB|.|\\n){0,40}") {
            let _ = parse_kib(&text, "Pss");
        }
    }
}
