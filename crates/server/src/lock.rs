//! One owner for each instance directory, and the end of what a dead owner left behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::life;
use crate::process;

/// The lock's file in the instance directory.
const FILE: &str = "basecase.lock";
/// How long a left-over server gets to stop by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why an instance directory cannot be used.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another basecase uses it.
    #[error("{} is in use by basecase process {pid} ({candidate} of experiment {experiment})\nhint: wait for it, or stop it with `kill -INT {pid}`", directory.display())]
    Held {
        /// The directory.
        directory: PathBuf,
        /// Process number of the owner; 0 when it has not said yet.
        pid: u32,
        /// Its experiment.
        experiment: String,
        /// Its candidate.
        candidate: String,
    },
    /// The server of an earlier owner does not stop.
    #[error("a server that an earlier basecase left in {} does not stop (process {pid})\nhint: stop it with `kill -KILL {pid}`", directory.display())]
    Leftover {
        /// The directory.
        directory: PathBuf,
        /// Process number of the server.
        pid: u32,
    },
    /// The lock's file cannot be used.
    #[error("cannot use {}: {source}\nhint: check that this user may write there", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// On whose behalf an instance runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Id of the experiment.
    pub experiment: String,
    /// The candidate's printed name.
    pub candidate: String,
}

/// What the lock's file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    owner_pid: u32,
    /// Clock ticks since boot: process numbers are used again.
    owner_started: u64,
    server_pid: Option<u32>,
    #[serde(flatten)]
    owner: Owner,
}

/// The lock on an instance directory, held until dropped.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    path: PathBuf,
    file: File,
    record: Record,
}

impl DirectoryLock {
    /// Locks `directory`. A server that a dead owner left running on `data` is stopped first.
    pub(crate) fn acquire(directory: &Path, data: &Path, owner: Owner) -> Result<Self, LockError> {
        let path = directory.join(FILE);
        let wrong = |source| LockError::File { path: path.clone(), source };
        let mut file = open_locked(&path, directory)?;
        let record = Record {
            owner_pid: std::process::id(),
            owner_started: process::start_time(std::process::id()).unwrap_or(0),
            server_pid: None,
            owner,
        };
        let old = read(&mut file);
        // flock does not reach across every network file system; the record does.
        if let Some(old) = &old
            && old.owner_pid != record.owner_pid
            && process::start_time(old.owner_pid) == Some(old.owner_started)
        {
            return Err(held(directory, Some(old.clone())));
        }
        let written = ["postmaster.pid", "mysqld.pid"].map(|name| pid_in(&data.join(name)));
        for pid in written.into_iter().chain([old.and_then(|old| old.server_pid)]).flatten() {
            stop_leftover(pid, directory, data)?;
        }
        let mut lock = DirectoryLock { path: path.clone(), file, record };
        lock.write().map_err(wrong)?;
        Ok(lock)
    }

    /// Writes down the server's process number, so that it is found when this process dies.
    pub(crate) fn set_server(&mut self, pid: Option<u32>) -> Result<(), LockError> {
        self.record.server_pid = pid;
        self.write().map_err(|source| LockError::File { path: self.path.clone(), source })
    }

    /// Removes the lock's file. Another owner may have the directory from then on.
    pub(crate) fn remove_file(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_string(&self.record)?;
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }
}

/// A folder of directories that one run has to itself until this is dropped, which removes the folder if nothing is left in it.
#[derive(Debug)]
pub struct FolderHold {
    folder: PathBuf,
    lock: DirectoryLock,
}

impl FolderHold {
    /// Takes the folder, which must be there.
    ///
    /// # Errors
    /// When another basecase has it, or it cannot be used.
    pub fn take(folder: &Path, owner: Owner) -> Result<Self, LockError> {
        Ok(FolderHold { folder: folder.to_path_buf(), lock: DirectoryLock::acquire(folder, folder, owner)? })
    }
}

impl Drop for FolderHold {
    fn drop(&mut self) {
        // What was kept in the folder stays, and so does the folder.
        let _ = self.lock.remove_file();
        let _ = fs::remove_dir(&self.folder);
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // An empty file names no owner, so the next one has nothing to ask about.
        let _ = self.file.set_len(0);
    }
}

fn open_locked(path: &Path, directory: &Path) -> Result<File, LockError> {
    let wrong = |source| LockError::File { path: path.to_path_buf(), source };
    let mut patience = 20;
    loop {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(wrong)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // The owner before may have removed the file that this one has just locked.
                let inode = |metadata: io::Result<fs::Metadata>| metadata.map(|metadata| metadata.ino()).ok();
                if inode(file.metadata()) == inode(path.metadata()) {
                    return Ok(file);
                }
            }
            // A child of the owner holds a copy of the lock between fork and exec.
            Err(rustix::io::Errno::WOULDBLOCK) if patience > 0 => {
                let owner = read(&mut file).map(|record| (record.owner_pid, record.owner_started));
                if owner.is_some_and(|(pid, started)| process::start_time(pid) == Some(started)) {
                    patience = patience.min(2);
                }
                patience -= 1;
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(held(directory, read(&mut file))),
            Err(error) => return Err(wrong(error.into())),
        }
    }
}

fn held(directory: &Path, record: Option<Record>) -> LockError {
    let (pid, owner) = record.map_or_else(Default::default, |record| (record.owner_pid, record.owner));
    LockError::Held {
        directory: directory.to_path_buf(),
        pid,
        experiment: owner.experiment,
        candidate: owner.candidate,
    }
}

fn read(file: &mut File) -> Option<Record> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The process number on the first line of a server's own pid file.
fn pid_in(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.lines().next()?.trim().parse().ok()
}

fn stop_leftover(pid: u32, directory: &Path, data: &Path) -> Result<(), LockError> {
    // Never a process that merely has the number of a dead server.
    let started = process::start_time(pid);
    let Some(server) = life::serving(pid, data) else { return Ok(()) };
    // A process that ends loses its command line before it closes its files.
    let is_there = || started.is_some() && process::start_time(pid) == started;
    for (signal, patience) in server.stop_signals().into_iter().zip([PATIENCE, PATIENCE / 6]) {
        let until = Instant::now() + patience;
        if is_there() {
            process::send(pid, signal);
        }
        while is_there() && Instant::now() <= until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    if is_there() {
        return Err(LockError::Leftover { directory: directory.to_path_buf(), pid });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner { experiment: "e1".into(), candidate: "pg176.x10a_c2r24".into() }
    }

    #[test]
    fn a_held_directory_names_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let lock = DirectoryLock::acquire(folder.path(), &data, owner()).unwrap();
        let message = DirectoryLock::acquire(folder.path(), &data, owner()).unwrap_err().to_string();
        let expected =
            format!("in use by basecase process {} (pg176.x10a_c2r24 of experiment e1)", std::process::id());
        assert!(message.contains(&expected), "{message}");
        drop(lock);
        let lock = DirectoryLock::acquire(folder.path(), &data, owner()).unwrap();
        lock.remove_file().unwrap();
        assert!(!folder.path().join(FILE).exists());
    }

    #[test]
    fn the_record_of_a_dead_owner_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        // The test's own process number with another start time is another process; the server is no server.
        let record = Record {
            owner_pid: std::process::id(),
            owner_started: 1,
            server_pid: Some(std::process::id()),
            owner: owner(),
        };
        fs::write(folder.path().join(FILE), serde_json::to_string(&record).unwrap()).unwrap();
        let mut lock = DirectoryLock::acquire(folder.path(), folder.path(), owner()).unwrap();
        lock.set_server(Some(7)).unwrap();
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap().server_pid, Some(7));
    }
}
