//! One basecase at a time at work on a build.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use tempfile::TempDir;

/// The right to work on one build, and a folder to work in, which both end when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    work: TempDir,
    _lock: File,
}

impl Turn {
    /// Waits until no other basecase works on the build that is called `folder` among `builds`.
    pub(crate) fn take(builds: &Path, folder: &str) -> io::Result<Self> {
        let path = builds.join(format!(".{folder}.lock"));
        let lock = File::options().create(true).truncate(false).write(true).mode(0o644).open(path)?;
        lock.lock()?;
        let prefix = format!(".partial-{folder}-");
        sweep(builds, &prefix);
        // In the same folder as the result, so that the last step is a rename and a kill leaves no half tree.
        let work = tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(PermissionsExt::from_mode(0o700))
            .tempdir_in(builds)?;
        Ok(Turn { work, _lock: lock })
    }

    /// A folder on the disk of the builds, empty at first.
    pub(crate) fn folder(&self) -> &Path {
        self.work.path()
    }
}

/// Removes what a killed basecase left half done. Whoever has the turn is the only one at work on it.
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
    fn a_turn_begins_without_what_was_left_and_leaves_nothing() {
        let builds = tempfile::tempdir().unwrap();
        let folders = || {
            let entries = fs::read_dir(builds.path()).unwrap().flatten();
            entries.filter(|entry| entry.path().is_dir()).count()
        };
        fs::create_dir(builds.path().join(".partial-mysql-8.0.31-maven-abc")).unwrap();
        fs::create_dir(builds.path().join(".partial-mysql-8.0.3-maven-abc")).unwrap();
        let turn = Turn::take(builds.path(), "mysql-8.0.31-maven").unwrap();
        assert_eq!(folders(), 2, "its own, and that of another build");
        fs::write(turn.folder().join("half"), "x").unwrap();
        drop(turn);
        assert_eq!(folders(), 1);
        Turn::take(builds.path(), "mysql-8.0.31-maven").unwrap();
    }
}
