//! The disk under servers' data.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::finding::Finding;
use crate::host::{Host, Space};
use crate::words::{per_cent, quantile, size, time};

/// The share of a disk in use: above the first it limits, above the second it disturbs.
const USED: [f64; 2] = [0.85, 0.95];
/// With less than this, small runs do not fit, in bytes.
const LEAST_FREE: u64 = 2 << 30;

/// File systems that keep data in memory.
const OF_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
/// Those that another program or machine stands behind, by the start of their names.
const REMOTE: [&str; 11] =
    ["9p", "afs", "ceph", "cifs", "fuse", "glusterfs", "lustre", "nfs", "smb", "vboxsf", "virtiofs"];

/// What a server writes before it answers a commit, in bytes.
const BLOCK: usize = 8192;
/// Blocks of the file that is written, over and over as a log is.
const BLOCKS: u64 = 128;
/// How many blocks are written and synced at most, and for how long.
const MOST_SYNCS: usize = 400;
const SYNC_TIME: Duration = Duration::from_secs(4);
/// The usual time of a sync from which on it limits, in µs.
const SLOW_US: f64 = 2_000.0;
/// Times of syncs scatter where one of a hundred takes this many times the usual, and this many µs.
const SCATTERED: (f64, f64) = (5.0, 10_000.0);
/// Less than this is no disk, in µs.
const NO_DISK_US: f64 = 15.0;

/// Free space.
pub(crate) fn space(host: &Host) -> Finding {
    let Space { free_bytes, all_bytes } = match &host.space {
        Ok(Space { all_bytes: 0, .. }) => return Finding::unknown("disk space", "the file system has none"),
        Ok(space) => *space,
        Err(reason) => return Finding::unknown("disk space", reason.clone()),
    };
    let free = free_bytes as f64 / all_bytes.max(1) as f64;
    let found = format!("{} of {} are free ({})", size(free_bytes), size(all_bytes), per_cent(free));
    let advice = "free some, or choose another disk with --data: nearly full ones are slow";
    let finding = if free_bytes < LEAST_FREE && 1.0 - free <= USED[1] {
        Finding::limits("disk space", found, "choose another disk with --data")
    } else {
        Finding::by_size("disk space", 1.0 - free, USED, found, advice)
    };
    finding.with("free_bytes", free_bytes as f64).with("all_bytes", all_bytes as f64)
}

/// The kind of file system.
pub(crate) fn filesystem(host: &Host) -> Finding {
    let Some(kind) = &host.filesystem else {
        return Finding::unknown("file system", "the kernel does not tell");
    };
    let advice = "choose a folder on a disk of this machine with --data";
    let device = host.device.as_ref().map(|device| format!(" on {device}")).unwrap_or_default();
    match kind.as_str() {
        kind if OF_MEMORY.contains(&kind) => Finding::limits(
            "file system",
            format!("{kind}: data lies in memory, no disk is measured"),
            advice,
        ),
        "overlay" => {
            Finding::limits("file system", "overlay, as in containers: files are copied when changed", advice)
        }
        kind if REMOTE.iter().any(|remote| kind.starts_with(remote)) => Finding::disturbs(
            "file system",
            format!("{kind}: another program or machine answers for each access"),
            advice,
        ),
        kind => Finding::fine("file system", format!("{kind}{device}")),
    }
}

/// Whether something waited for a disk, as a share of the time that was watched.
pub(crate) fn traffic(waited: Option<f64>, seconds: f64) -> Finding {
    let Some(share) = waited else {
        return Finding::unknown("disk traffic", "the kernel does not tell (no /proc/pressure/io)");
    };
    let found = format!("something waited for a disk {} of {seconds:.0} s", per_cent(share));
    Finding::by_size("disk traffic", share, [0.01, 0.1], found, "end what reads or writes, or wait for it")
        .of_share(share)
        .with("waiting_pct", share * 100.0)
}

/// How long it takes until data is safe on the disk.
pub(crate) fn sync(host: &Host) -> Finding {
    let folder = host.data_above();
    match measure_syncs(folder, SYNC_TIME) {
        Ok(times_us) => judge_syncs(times_us),
        Err(error) => {
            Finding::unknown("sync", format!("a file in {} cannot be written: {error}", folder.display()))
        }
    }
}

/// The times of syncs in µs, in a file that has no name and so is gone whatever happens.
fn measure_syncs(folder: &Path, length: Duration) -> io::Result<Vec<f64>> {
    let file: File = tempfile::tempfile_in(folder)?;
    let block = [0x5a_u8; BLOCK];
    (0..BLOCKS).try_for_each(|number| file.write_all_at(&block, number * BLOCK as u64))?;
    file.sync_all()?;
    let began = Instant::now();
    let mut times_us = Vec::new();
    while times_us.len() < MOST_SYNCS && began.elapsed() < length && !basecase_stop::is_asked() {
        let number = times_us.len() as u64 % BLOCKS;
        let started = Instant::now();
        file.write_all_at(&block, number * BLOCK as u64)?;
        file.sync_data()?;
        times_us.push(started.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times_us)
}

fn judge_syncs(mut times_us: Vec<f64>) -> Finding {
    times_us.sort_by(f64::total_cmp);
    let Some((median, slow)) = quantile(&times_us, 0.5).zip(quantile(&times_us, 0.99)) else {
        return Finding::unknown("sync", "it was not measured");
    };
    let found =
        format!("8 KiB are written and synced in {}, 1 of 100 in {} or more", time(median), time(slow));
    let (times, least_us) = SCATTERED;
    let finding = match (median, slow) {
        (median, slow) if slow > times * median && slow > least_us => {
            Finding::disturbs("sync", found, "end what else uses the disk, or choose another one with --data")
        }
        (median, _) if median > SLOW_US => {
            Finding::limits("sync", found, "steps whose commits sync measure the disk; --data names another")
        }
        (median, _) if median < NO_DISK_US => Finding::limits(
            "sync",
            format!("{found}: no disk is that fast"),
            "choose another one with --data",
        ),
        _ => Finding::fine("sync", found),
    };
    finding.with("median_us", median).with("p99_us", slow).with("syncs", times_us.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::host::invented::host;

    #[test]
    fn a_full_disk_disturbs_and_a_small_one_limits() {
        let found = |free_bytes: u64, all_bytes: u64| {
            let (_folder, host) = host(&[]);
            space(&Host { space: Ok(Space { free_bytes, all_bytes }), ..host })
        };
        let full = found(3 << 30, 100 << 30);
        assert_eq!(full.severity, Severity::Disturbs);
        assert_eq!(full.found, "3.0 GiB of 100.0 GiB are free (3.0 %)");
        assert_eq!(found(10 << 30, 100 << 30).severity, Severity::Limits);
        assert_eq!(found(1 << 30, 2 << 30).severity, Severity::Limits, "half of a small one");
        assert_eq!(found(50 << 30, 100 << 30).severity, Severity::Fine);
        assert_eq!(found(0, 0).severity, Severity::Unknown, "as /proc");
        let (_folder, host) = host(&[]);
        let unknown = space(&Host { space: Err("Permission denied".to_owned()), ..host });
        assert_eq!((unknown.severity, unknown.found.as_str()), (Severity::Unknown, "Permission denied"));
    }

    #[test]
    fn file_systems_are_of_disks_of_memory_or_remote() {
        let severity = |kind: Option<&str>| {
            let (_folder, host) = host(&[]);
            filesystem(&Host { filesystem: kind.map(str::to_owned), ..host }).severity
        };
        assert_eq!(severity(Some("xfs")), Severity::Fine);
        assert_eq!([Some("tmpfs"), Some("overlay")].map(severity), [Severity::Limits; 2]);
        assert_eq!([Some("nfs4"), Some("fuse.sshfs")].map(severity), [Severity::Disturbs; 2]);
        assert_eq!(severity(None), Severity::Unknown);
    }

    #[test]
    fn syncs_are_slow_scattered_or_of_no_disk() {
        let severity = |median, slow| judge_syncs([vec![median; 98], vec![slow; 2]].concat()).severity;
        assert_eq!(severity(500.0, 900.0), Severity::Fine);
        assert_eq!(severity(500.0, 9_000.0), Severity::Fine, "9 ms now and then");
        assert_eq!(severity(500.0, 90_000.0), Severity::Disturbs);
        assert_eq!(severity(9_000.0, 11_000.0), Severity::Limits);
        assert_eq!(severity(2.0, 3.0), Severity::Limits);
        assert_eq!(judge_syncs(Vec::new()).severity, Severity::Unknown);
    }

    #[test]
    fn syncs_leave_no_file_and_a_folder_that_refuses_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let times_us = measure_syncs(folder.path(), Duration::from_millis(50)).unwrap();
        assert!(!times_us.is_empty() && times_us.iter().all(|time_us| *time_us > 0.0));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let (_folder, host) = host(&[("data", "a file, in which no file can be made")]);
        let refused = sync(&host);
        assert_eq!(refused.severity, Severity::Unknown);
        assert!(refused.found.contains("cannot be written: "), "{}", refused.found);
    }

    #[test]
    fn waiting_for_a_disk_is_a_share() {
        let severity = |share| traffic(share, 20.0).severity;
        assert_eq!(severity(Some(0.2)), Severity::Disturbs);
        assert_eq!(severity(Some(0.05)), Severity::Limits);
        assert_eq!(severity(Some(0.0)), Severity::Fine);
        assert_eq!(severity(None), Severity::Unknown);
    }
}
