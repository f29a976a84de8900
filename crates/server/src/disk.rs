//! Disk space.

use std::io;
use std::path::Path;

/// Bytes that an unprivileged user can still write to the file system of `path`.
///
/// # Errors
/// If the file system cannot be queried.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let space = rustix::fs::statvfs(path)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// The sum of the apparent sizes of all files below `path`, in bytes. Files that vanish meanwhile do not count.
///
/// # Errors
/// If `path` itself cannot be read.
pub fn directory_bytes(path: &Path) -> io::Result<u64> {
    bytes_of(path, |_| true)
}

/// The same for those files whose path satisfies `is_such`.
///
/// # Errors
/// If `path` itself cannot be read.
pub(crate) fn bytes_of(path: &Path, is_such: fn(&str) -> bool) -> io::Result<u64> {
    let mut total = 0;
    for entry in std::fs::read_dir(path)?.flatten() {
        let Ok(metadata) = entry.path().symlink_metadata() else { continue };
        if metadata.is_dir() {
            total += bytes_of(&entry.path(), is_such).unwrap_or(0);
        } else if is_such(&entry.path().to_string_lossy()) {
            total += metadata.len();
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("a"), [0; 10]).unwrap();
        std::fs::write(folder.path().join("sub/b"), [0; 5]).unwrap();
        assert_eq!(directory_bytes(folder.path()).unwrap(), 15);
        assert_eq!(bytes_of(folder.path(), |path| path.ends_with("/b")).unwrap(), 5);
        assert!(free_bytes(folder.path()).unwrap() > 0);
        assert!(directory_bytes(&folder.path().join("missing")).is_err());
    }
}
