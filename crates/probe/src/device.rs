//! Block devices and the file systems on them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use basecase_model::{Measures, names};
use nix::sys::stat::{major, minor};

/// The size of a sector in `/proc/diskstats`, whatever the device's own sector size is.
const SECTOR_BYTES: f64 = 512.0;

/// The block device, by its name in `/proc/diskstats`, of the file system that contains `path`; `None` if there is none,
/// e.g. on `tmpfs` or `overlay`.
///
/// For a `path` that does not exist yet, its nearest existing parent is used.
pub fn device_under(path: &Path) -> Option<String> {
    let path = existing(path)?;
    let statistics = fs::read_to_string("/proc/diskstats").ok()?;
    let devices = || statistics.lines().filter_map(parse_device);
    let number = fs::metadata(&path).ok()?.dev();
    let number = (major(number), minor(number));
    if let Some(device) = devices().find(|device| device.number == number) {
        return Some(device.name.to_owned());
    }
    // Btrfs numbers its files by subvolume, so only the mount's source names the device.
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let source = fs::canonicalize(mount_of(&path, &mounts)?.source).ok()?;
    let name = source.file_name()?.to_str()?;
    devices().any(|device| device.name == name).then(|| name.to_owned())
}

/// The number, `254:0`, under which control groups count the input and output of the block device `name`: that of the whole
/// disk, if it is a partition. `None` if there is no such device.
pub fn device_number(name: &str) -> Option<String> {
    let device = Path::new("/sys/class/block").join(name);
    let of_disk = if device.join("partition").exists() { device.join("../dev") } else { device.join("dev") };
    Some(fs::read_to_string(of_disk).ok()?.trim().to_owned())
}

/// The type of the file system that contains `path`, e.g. `ext4`.
///
/// For a `path` that does not exist yet, its nearest existing parent is used.
pub fn filesystem_under(path: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    Some(mount_of(&existing(path)?, &mounts)?.filesystem)
}

/// Adds the counts since boot of the device `name` to `measures`.
pub(crate) fn read_into(name: &str, measures: &mut Measures) {
    let Ok(text) = fs::read_to_string("/proc/diskstats") else { return };
    let Some(device) = text.lines().filter_map(parse_device).find(|device| device.name == name) else {
        return;
    };
    measures.set(names::DEVICE_READS, device.reads as f64);
    measures.set(names::DEVICE_READ_BYTES, device.read_sectors as f64 * SECTOR_BYTES);
    measures.set(names::DEVICE_WRITES, device.writes as f64);
    measures.set(names::DEVICE_WRITTEN_BYTES, device.written_sectors as f64 * SECTOR_BYTES);
    measures.set(names::DEVICE_READ_US, device.read_ms as f64 * 1e3);
    measures.set(names::DEVICE_WRITE_US, device.write_ms as f64 * 1e3);
    measures.set(names::DEVICE_BUSY_US, device.busy_ms as f64 * 1e3);
    measures.set(names::DEVICE_QUEUE_US, device.queue_ms as f64 * 1e3);
}

fn existing(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok()?.ancestors().find_map(|parent| fs::canonicalize(parent).ok())
}

/// One line of `/proc/diskstats`, see the kernel's `Documentation/admin-guide/iostats.rst`.
#[derive(Debug, PartialEq, Eq)]
struct Device<'a> {
    number: (u64, u64),
    name: &'a str,
    reads: u64,
    read_sectors: u64,
    writes: u64,
    written_sectors: u64,
    read_ms: u64,
    write_ms: u64,
    busy_ms: u64,
    queue_ms: u64,
}

fn parse_device(line: &str) -> Option<Device<'_>> {
    let fields: Vec<&str> = line.split_whitespace().take(14).collect();
    let field = |number: usize| fields.get(number)?.parse::<u64>().ok();
    Some(Device {
        number: (field(0)?, field(1)?),
        name: fields.get(2)?,
        reads: field(3)?,
        read_sectors: field(5)?,
        writes: field(7)?,
        written_sectors: field(9)?,
        read_ms: field(6)?,
        write_ms: field(10)?,
        busy_ms: field(12)?,
        queue_ms: field(13)?,
    })
}

/// One line of `/proc/self/mountinfo`, see proc_pid_mountinfo(5).
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    point: PathBuf,
    filesystem: String,
    source: String,
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (head, tail) = line.split_once(" - ")?;
    let mut tail = tail.split(' ');
    Some(Mount {
        point: PathBuf::from(unescape(head.split(' ').nth(4)?)),
        filesystem: unescape(tail.next()?),
        source: unescape(tail.next()?),
    })
}

/// The mount that contains `path`: the deepest, and among mounts on top of each other the latest.
fn mount_of(path: &Path, mounts: &str) -> Option<Mount> {
    mounts
        .lines()
        .filter_map(parse_mount)
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

/// Undoes the kernel's octal escapes, e.g. `\040` for a space.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = tail.get(..3).filter(|_| *first == b'\\').and_then(octal);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { tail.get(3..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn devices_by_the_columns_of_the_kernel() {
        let line = " 254       1 vda1 10 1 200 3 40 5 600 7 0 8 9 0 0 0 0 0 0";
        let expected = Device {
            number: (254, 1),
            name: "vda1",
            reads: 10,
            read_sectors: 200,
            writes: 40,
            written_sectors: 600,
            read_ms: 3,
            write_ms: 7,
            busy_ms: 8,
            queue_ms: 9,
        };
        assert_eq!(parse_device(line), Some(expected));
    }

    #[test]
    fn the_deepest_and_latest_mount_holds_a_path() {
        let mounts = "22 27 0:21 / /proc rw - proc proc rw\n\
                      27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                      28 27 8:1 / /my\\040data rw shared:1 - xfs /dev/sda1 rw\n\
                      29 28 0:40 / /my\\040data rw - btrfs /dev/sdb rw\n";
        let filesystem = |path: &str| mount_of(Path::new(path), mounts).unwrap().filesystem;
        assert_eq!(filesystem("/my data/base"), "btrfs");
        assert_eq!(filesystem("/my database"), "ext4");
        assert_eq!(filesystem("/proc/1"), "proc");
    }

    #[test]
    fn reads_this_host() {
        assert_eq!(filesystem_under(Path::new("/proc/self")).as_deref(), Some("proc"));
        assert_eq!(device_under(Path::new("/proc/self")), None);
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("not/there");
        assert_eq!(device_under(&missing), device_under(directory.path()));
        assert!(filesystem_under(&missing).is_some());
        if let Some(device) = device_under(directory.path()) {
            let mut measures = Measures::new();
            read_into(&device, &mut measures);
            assert!(measures.get(names::DEVICE_WRITTEN_BYTES).is_some());
        }
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "([0-9]{1,20}| - |[ /\\\\]|.){0,60}") {
            let _ = (parse_device(&text), parse_mount(&text), mount_of(Path::new("/a"), &text), unescape(&text));
        }
    }
}
