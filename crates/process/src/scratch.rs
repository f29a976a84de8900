//! Temporary folders that are removed even if basecase is killed.

use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};

use crate::account::Account;
use crate::private_folder::{FolderError, PrivateFolder, folder_in, names};
use crate::watchdog::Watchdog;

/// The name of their parent, below a folder of the user's.
const PLACE: &str = "checks";
/// Removes the folder named in the first line, unless a second line says that it is gone, and its parent if that is empty.
const SCRIPT: &str =
    "read -r folder && { read -r gone || { rm -rf -- \"$folder\"; rmdir -- \"${folder%/*}\"; }; }";

/// An empty folder, removed with its contents when this is dropped. After a kill, a shell that outlives this process removes
/// it. If that is killed too, the next process to create such a folder does.
#[derive(Debug)]
pub struct Scratch {
    place: PathBuf,
    folder: PrivateFolder,
    watchdog: Option<Watchdog>,
}

impl Scratch {
    /// Creates a folder below `top` that belongs to `account`.
    ///
    /// # Errors
    /// If it cannot be created, or somebody else could have created its parents.
    pub fn new(top: &Path, account: Option<&Account>) -> Result<Self, FolderError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // This happens under the lock of all: a folder without a lock has lost its owner, or is so new that it has none yet.
        let place = locked(&top.join(PLACE))?;
        sweep(&place);
        let name = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = PrivateFolder::make(&place.path().join(name), account)?;
        lock(&folder)?;
        let mut watchdog = Watchdog::new(SCRIPT);
        if let Some(watchdog) = &mut watchdog {
            let _ = watchdog.tell(&folder.path().display().to_string());
        }
        Ok(Scratch { place: place.path().to_path_buf(), folder, watchdog })
    }

    /// The folder.
    pub fn folder(&self) -> &PrivateFolder {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.folder.destroy();
        // This fails if anything else is in it. A process about to create something there waits for the lock.
        if let Ok(place) = locked(&self.place) {
            let _ = fs::remove_dir(place.path());
        }
        if let Some(mut watchdog) = self.watchdog.take() {
            let _ = watchdog.tell("gone");
            watchdog.dismiss();
        }
    }
}

fn lock(folder: &PrivateFolder) -> Result<(), FolderError> {
    flock(folder.handle(), FlockOperation::LockExclusive)
        .map_err(|error| FolderError::File { path: folder.path().to_path_buf(), source: error.into() })
}

/// The parent of all of them, locked against changes while this exists.
fn locked(path: &Path) -> Result<PrivateFolder, FolderError> {
    let mut attempts = 100;
    loop {
        attempts -= 1;
        let place = match PrivateFolder::make_above(path) {
            // It has been removed meanwhile.
            Err(FolderError::File { source, .. }) if source.kind() == NotFound && attempts > 0 => continue,
            place => place?,
        };
        lock(&place)?;
        // The previous holder of the lock may have removed it.
        if PrivateFolder::open(path)?.is_some_and(|there| place.is_same(&there)) || attempts == 0 {
            return Ok(place);
        }
    }
}

/// Removes the folders whose owners are gone. What cannot be removed is left to the next process.
fn sweep(place: &PrivateFolder) {
    for name in names(place.handle()).unwrap_or_default() {
        let is_left = folder_in(place.handle(), &name)
            .is_ok_and(|folder| flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok());
        if let Some(name) = name.to_str().filter(|_| is_left) {
            let _ = place.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_07_folders_for_a_moment_are_swept_when_their_owner_is_gone() {
        let top = tempfile::tempdir().unwrap();
        let left = top.path().join(PLACE).join("1-0");
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("my.cnf"), "").unwrap();
        let one = Scratch::new(top.path(), None).unwrap();
        assert!(!left.exists(), "nobody has a lock on it");
        let other = Scratch::new(top.path(), None).unwrap();
        assert!(one.folder().path().is_dir(), "its owner lives");
        let paths = [&one, &other].map(|scratch| scratch.folder().path().to_path_buf());
        drop((one, other));
        assert!(!paths.iter().any(|path| path.exists()) && !top.path().join(PLACE).exists());
    }

    #[test]
    fn defect_07_a_folder_for_a_moment_goes_with_a_process_that_is_killed() {
        let top = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::new(top.path(), None).unwrap();
        scratch.folder().write("postgresql.conf", b"").unwrap();
        // This is what the kernel does when a process is killed.
        scratch.watchdog.take().unwrap().dismiss();
        assert!(!top.path().join(PLACE).exists());
    }
}
