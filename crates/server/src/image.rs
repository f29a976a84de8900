//! The data of a stopped server, moved or copied from one directory to another.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::instance::InstanceError;

/// What of a server's directory, or of an embedded database's, is its data; what says that it is whole comes last.
const ENTRIES: [&str; 7] =
    ["data", "password", "ib.sqlite-wal", "ib.sqlite-shm", "ib.sqlite-journal", "ib.sqlite", "initialised"];

/// What copying took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Bytes of all files.
    pub bytes: u64,
    /// Until they were on the device.
    pub time: Duration,
}

/// Copies the data of a stopped server into another directory, whose data it replaces. File systems that can share blocks between
/// files do so. Returns once everything is on the device, so that writing it back disturbs nothing later.
///
/// # Errors
/// When a file cannot be read or written.
pub fn copy_data(from: &Path, to: &Path) -> Result<Copied, InstanceError> {
    let began = Instant::now();
    remove_data(to)?;
    let copy = || {
        fs::create_dir_all(to)?;
        let bytes = present(from)
            .map(|entry| copy_tree(&from.join(entry), &to.join(entry)))
            .sum::<io::Result<u64>>()?;
        rustix::fs::syncfs(File::open(to)?)?;
        Ok(bytes)
    };
    let bytes = copy().map_err(|source| InstanceError::File { path: to.to_path_buf(), source })?;
    Ok(Copied { bytes, time: began.elapsed() })
}

/// Moves the data of a stopped server into another directory of the same file system, whose data it replaces.
///
/// # Errors
/// When a file cannot be moved.
pub fn move_data(from: &Path, to: &Path) -> Result<(), InstanceError> {
    remove_data(to)?;
    let file = |source| InstanceError::File { path: to.to_path_buf(), source };
    fs::create_dir_all(to).map_err(file)?;
    present(from).try_for_each(|entry| fs::rename(from.join(entry), to.join(entry))).map_err(file)
}

/// The file that says that kept data is whole.
const WHOLE: &str = "whole";

/// Moves the data of a stopped server to where [`take_data`] finds it, if nothing came between.
///
/// # Errors
/// When a file cannot be moved or written.
pub fn keep_data(from: &Path, kept: &Path) -> Result<(), InstanceError> {
    let mark = kept.join(WHOLE);
    crate::instance::remove(&mark)?;
    move_data(from, kept)?;
    fs::write(&mark, "").map_err(|source| InstanceError::File { path: mark, source })
}

/// Moves kept data into a server's directory; `false` when there is none that is whole.
///
/// # Errors
/// When a file cannot be moved.
pub fn take_data(kept: &Path, to: &Path) -> Result<bool, InstanceError> {
    let mark = kept.join(WHOLE);
    if !mark.is_file() {
        return Ok(false);
    }
    // Not whole any more before anything of it is gone: whoever is killed meanwhile must not take the rest for the whole.
    crate::instance::remove(&mark)?;
    move_data(kept, to).map(|()| true)
}

/// Removes the data of a stopped server.
///
/// # Errors
/// When a file cannot be removed.
pub fn remove_data(directory: &Path) -> Result<(), InstanceError> {
    // What says that it is whole goes first.
    ENTRIES.iter().rev().try_for_each(|entry| crate::instance::remove(&directory.join(entry)))
}

fn present(directory: &Path) -> impl Iterator<Item = &'static str> {
    ENTRIES.into_iter().filter(|entry| directory.join(entry).symlink_metadata().is_ok())
}

/// Returns the bytes of all files. Owners and modes are kept: servers refuse data that others may read.
fn copy_tree(from: &Path, to: &Path) -> io::Result<u64> {
    let metadata = from.symlink_metadata()?;
    let mut bytes = 0;
    if metadata.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            bytes += copy_tree(&entry.path(), &to.join(entry.file_name()))?;
        }
        fs::set_permissions(to, metadata.permissions())?;
    } else if metadata.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
        return Ok(0);
    } else if metadata.is_file() {
        bytes = fs::copy(from, to)?;
    } else {
        // A socket is of the server that left it.
        return Ok(0);
    }
    chown(to, Some(metadata.uid()), Some(metadata.gid()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
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
