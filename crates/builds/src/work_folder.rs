//! The folder that a build is made in, by one basecase at a time.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use tempfile::TempDir;

/// A temporary folder for making one build, under that build's lock. Dropping it removes the folder and releases the lock.
#[derive(Debug)]
pub(crate) struct WorkFolder {
    folder: TempDir,
    _lock: File,
}

impl WorkFolder {
    /// Waits until no other basecase is making the build `name` in the folder `builds`.
    pub(crate) fn claim(builds: &Path, name: &str) -> io::Result<Self> {
        let path = builds.join(format!(".{name}.lock"));
        let lock = File::options().create(true).truncate(false).write(true).mode(0o644).open(path)?;
        lock.lock()?;
        let prefix = format!(".partial-{name}-");
        sweep(builds, &prefix);
        // In the folder of the result, so that the last step is a rename, and a kill never leaves half a tree.
        let folder = tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(PermissionsExt::from_mode(0o700))
            .tempdir_in(builds)?;
        Ok(WorkFolder { folder, _lock: lock })
    }

    /// Its path, on the disk of the builds.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes what a killed basecase left half done. The caller holds the lock, so nobody else is at work on it.
fn sweep(builds: &Path, prefix: &str) {
    for entry in fs::read_dir(builds).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_folder_starts_empty_and_leaves_nothing() {
        let builds = tempfile::tempdir().unwrap();
        let folders = || {
            let entries = fs::read_dir(builds.path()).unwrap().flatten();
            entries.filter(|entry| entry.path().is_dir()).count()
        };
        fs::create_dir(builds.path().join(".partial-mysql-8.0.31-maven-abc")).unwrap();
        fs::create_dir(builds.path().join(".partial-mysql-8.0.3-maven-abc")).unwrap();
        let work = WorkFolder::claim(builds.path(), "mysql-8.0.31-maven").unwrap();
        assert_eq!(folders(), 2, "its own, and that of another build");
        fs::write(work.path().join("half"), "x").unwrap();
        drop(work);
        assert_eq!(folders(), 1);
        WorkFolder::claim(builds.path(), "mysql-8.0.31-maven").unwrap();
    }
}
