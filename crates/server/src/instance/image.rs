//! Moves or copies the data of a stopped server from one directory to another.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use basecase_process::PrivateFolder;
use basecase_process::tree_copy::{self, FileOwner, Zeros};

use crate::instance::InstanceError;

/// The entries of a server's or an embedded database's directory that make up its data. The file that marks it as complete
/// comes last.
const ENTRIES: [&str; 7] =
    ["data", "password", "ib.sqlite-wal", "ib.sqlite-shm", "ib.sqlite-journal", "ib.sqlite", "initialised"];

/// The cost of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Bytes of all files.
    pub bytes: u64,
    /// Time until they were on the device.
    pub time: Duration,
}

/// Copies the data of a stopped server into another directory, replacing the data there. File systems that can share blocks
/// between files do so. Returns once everything is on the device, so that no write-back disturbs a later measurement.
///
/// # Errors
/// If a file cannot be read or written.
pub fn copy_data(from: &Path, to: &Path) -> Result<Copied, InstanceError> {
    let began = Instant::now();
    let bytes = copy_entries(from, to, Zeros::Copied)?;
    let to = taken(to)?;
    rustix::fs::syncfs(to.handle()).map_err(|error| wrong(&to)(error.into()))?;
    Ok(Copied { bytes, time: began.elapsed() })
}

/// Copies what [`copy_data`] does, but for zeros, and does not wait for the device: for servers whose times nobody measures. Returns the
/// bytes of all files, with their zeros.
///
/// # Errors
/// If a file cannot be read or written.
pub fn copy_data_sparsely(from: &Path, to: &Path) -> Result<u64, InstanceError> {
    copy_entries(from, to, Zeros::LeftOut)
}

fn copy_entries(from: &Path, to: &Path, zeros: Zeros) -> Result<u64, InstanceError> {
    let (from, to) = (taken(from)?, taken(to)?);
    remove(&to)?;
    let copies = present(&from)
        .map(|entry| tree_copy::copy(from.handle(), to.handle(), OsStr::new(entry), FileOwner::Same, zeros));
    copies.sum::<io::Result<u64>>().map_err(wrong(&to))
}

/// Moves the data of a stopped server into another directory of the same file system, replacing the data there.
///
/// # Errors
/// If a file cannot be moved.
pub fn move_data(from: &Path, to: &Path) -> Result<(), InstanceError> {
    move_between(&taken(from)?, &taken(to)?)
}

fn move_between(from: &PrivateFolder, to: &PrivateFolder) -> Result<(), InstanceError> {
    remove(to)?;
    present(from).try_for_each(|entry| from.hand_over(entry, to)).map_err(wrong(to))
}

/// The file that marks kept data as complete.
const WHOLE: &str = "whole";

/// Moves the data of a stopped server to where [`take_data`] finds it, unless it is interrupted.
///
/// # Errors
/// If a file cannot be moved or written.
pub fn keep_data(from: &Path, kept: &Path) -> Result<(), InstanceError> {
    let (from, kept) = (taken(from)?, taken(kept)?);
    kept.remove(WHOLE).map_err(wrong(&kept))?;
    move_between(&from, &kept)?;
    kept.write(WHOLE, b"").map_err(wrong(&kept))
}

/// Moves kept data into a server's directory; `false` if there is no complete kept data.
///
/// # Errors
/// If a file cannot be moved.
pub fn take_data(kept: &Path, to: &Path) -> Result<bool, InstanceError> {
    let Some(kept) = PrivateFolder::open(kept)? else { return Ok(false) };
    if !kept.has(WHOLE).map_err(wrong(&kept))? {
        return Ok(false);
    }
    // The mark goes before anything else does: after a kill, the remainder must not pass for complete data.
    kept.remove(WHOLE).map_err(wrong(&kept))?;
    move_between(&kept, &taken(to)?).map(|()| true)
}

/// Removes the data of a stopped server.
///
/// # Errors
/// If a file cannot be removed.
pub fn remove_data(directory: &Path) -> Result<(), InstanceError> {
    PrivateFolder::open(directory)?.map_or(Ok(()), |folder| remove(&folder))
}

fn remove(folder: &PrivateFolder) -> Result<(), InstanceError> {
    // The mark of completeness goes first.
    ENTRIES.iter().rev().try_for_each(|entry| folder.remove(entry)).map_err(wrong(folder))
}

/// A server's directory if it exists, otherwise a new one, owned by the caller, for data alone.
fn taken(directory: &Path) -> Result<PrivateFolder, InstanceError> {
    let there = PrivateFolder::open(directory)?;
    Ok(there.map_or_else(|| PrivateFolder::make(directory, None), Ok)?)
}

// If this cannot be told, the entry counts as present: moving or copying it will report why.
fn present(folder: &PrivateFolder) -> impl Iterator<Item = &'static str> {
    ENTRIES.into_iter().filter(|entry| folder.has(entry).unwrap_or(true))
}

fn wrong(folder: &PrivateFolder) -> impl FnOnce(io::Error) -> InstanceError {
    let path = folder.path().to_path_buf();
    move |source| InstanceError::File { path, source }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn data_is_moved_and_copied_whole_and_replaces_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (one, two) = (path("one"), path("two"));
        fs::create_dir_all(one.join("data/base")).unwrap();
        fs::write(one.join("data/base/1"), "rows").unwrap();
        fs::set_permissions(one.join("data"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::write(one.join("initialised"), "18.6").unwrap();
        fs::write(one.join("server.log"), "of the directory").unwrap();
        fs::create_dir_all(two.join("data/stale")).unwrap();

        assert_eq!(copy_data(&one, &two).unwrap().bytes, 8);
        assert_eq!(fs::read_to_string(two.join("data/base/1")).unwrap(), "rows");
        assert_eq!(two.join("data").metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(!two.join("data/stale").exists() && !two.join("server.log").exists());

        fs::write(two.join("data/base/1"), "changed").unwrap();
        move_data(&two, &one).unwrap();
        assert_eq!(fs::read_to_string(one.join("data/base/1")).unwrap(), "changed");
        assert!(!two.join("data").exists() && !two.join("initialised").exists());
        let kept = path("kept");
        assert!(!take_data(&kept, &one).unwrap(), "nothing was kept");
        keep_data(&one, &kept).unwrap();
        assert!(take_data(&kept, &one).unwrap() && one.join("data/base/1").is_file());
        assert!(!take_data(&kept, &two).unwrap(), "it is taken");

        remove_data(&one).unwrap();
        assert!(!one.join("data").exists() && one.join("server.log").exists());
    }
}
