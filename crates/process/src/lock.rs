//! Gives each instance directory one owner, and ends what a dead owner left running there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use basecase_probe::server_processes;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::private_folder::{FolderError, PrivateFolder};
use crate::process;

/// The lock's file in the instance directory.
const FILE: &str = "basecase.lock";
/// The folder of the server's data in the instance directory.
pub const DATA: &str = "data";
/// How long a leftover server may take to stop by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why an instance directory cannot be used.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another basecase is using it.
    #[error("{} is in use by basecase process {pid} ({candidate} of experiment {experiment})\nhint: wait for it, or stop it with `kill -INT {pid}`", directory.display())]
    Held {
        /// The directory.
        directory: PathBuf,
        /// The owner's process id; 0 if it has not written it yet.
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
        /// The server's process id.
        pid: u32,
    },
    /// The directory could be somebody else's, or cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
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
    /// The candidate's name in reports.
    pub candidate: String,
}

/// A kind of server that a dead owner may have left in a directory: how to recognise it, and how to stop it.
#[derive(Debug, Clone, Copy)]
pub struct ServerKind {
    /// The names of its programs.
    pub programs: &'static [&'static str],
    /// The prefix of the argument that names the data directory; empty if the argument is the path alone.
    pub data_argument: &'static str,
    /// The file in its data directory whose first line is its process id.
    pub pid_file: &'static str,
    /// The signals that stop it: first cleanly, with a checkpoint; then by force, if that takes too long.
    pub stop_signals: [Signal; 2],
}

impl ServerKind {
    /// Whether the process `pid` is a server of this kind on the data directory `data`.
    fn is_serving(&self, pid: u32, data: &Path) -> bool {
        process::arguments(pid).is_some_and(|words| self.is_command(&words, data))
    }

    /// Whether this is the command line of a server of this kind on the data directory `data`.
    fn is_command(&self, words: &[OsString], data: &Path) -> bool {
        let known = |word: &OsString| {
            let name = Path::new(word).file_name();
            self.programs.iter().any(|known| name == Some(OsStr::new(known)))
        };
        // Under valgrind, the program is an argument; valgrind itself is then `valgrind.bin` in Debian.
        let first = words.first().and_then(|word| Path::new(word).file_name());
        let is_valgrind = first.is_some_and(|name| name.as_bytes().starts_with(b"valgrind"));
        let Some(place) = words.iter().position(known).filter(|place| *place == 0 || is_valgrind) else {
            return false;
        };
        let is_data = |argument: &OsString| {
            let value = argument.as_bytes().strip_prefix(self.data_argument.as_bytes());
            value.is_some_and(|value| Path::new(OsStr::from_bytes(value)) == data)
        };
        words[place..].iter().any(is_data)
    }
}

/// The content of the lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    owner_pid: u32,
    /// Clock ticks since boot, because process ids are reused.
    owner_started: u64,
    server_pid: Option<u32>,
    #[serde(flatten)]
    owner: Owner,
}

/// The lock on an instance directory, held until dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    folder: PrivateFolder,
    file: File,
    record: Record,
}

impl DirectoryLock {
    /// Locks `folder`. First stops any server of one of `kinds` that a dead owner left running on its data.
    ///
    /// # Errors
    /// If another basecase is using the directory, a server does not stop, or the lock file cannot be used.
    pub fn acquire(folder: &PrivateFolder, owner: Owner, kinds: &[ServerKind]) -> Result<Self, LockError> {
        let directory = folder.path();
        let mut file = open_locked(folder)?;
        let record = Record {
            owner_pid: std::process::id(),
            owner_started: process::start_time(std::process::id()).unwrap_or(0),
            server_pid: None,
            owner,
        };
        let old = read(&mut file);
        // `flock` does not work across every network file system; the record does.
        if let Some(old) = &old
            && old.owner_pid != record.owner_pid
            && process::start_time(old.owner_pid) == Some(old.owner_started)
        {
            return Err(held(directory, Some(old.clone())));
        }
        let data = directory.join(DATA);
        let written = kinds.iter().map(|kind| pid_in(&data, kind.pid_file));
        for pid in written.chain([old.and_then(|old| old.server_pid)]).flatten() {
            stop_leftover(pid, directory, kinds)?;
        }
        let mut lock = DirectoryLock { folder: folder.clone(), file, record };
        lock.write()?;
        Ok(lock)
    }

    /// Records the server's process id, so that the server can be found after this process dies.
    ///
    /// # Errors
    /// If the lock file cannot be written.
    pub fn set_server(&mut self, pid: Option<u32>) -> Result<(), LockError> {
        self.record.server_pid = pid;
        self.write()
    }

    /// Removes the lock file. From then on another owner may take the directory.
    ///
    /// # Errors
    /// If it exists and cannot be removed.
    pub fn remove_file(&self) -> io::Result<()> {
        self.folder.remove(FILE)
    }

    fn write(&mut self) -> Result<(), LockError> {
        let mut write = || {
            let text = serde_json::to_string(&self.record)?;
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(text.as_bytes())
        };
        write().map_err(|source| LockError::File { path: self.folder.path().join(FILE), source })
    }
}

/// A folder of instance directories that belongs to one run until this is dropped. Dropping it removes the folder if it is
/// empty.
#[derive(Debug)]
pub struct FolderHold(DirectoryLock);

impl FolderHold {
    /// Takes the folder, and creates it if it is missing. The account for servers may pass through it, and nobody else.
    ///
    /// # Errors
    /// If another basecase is using it, or somebody else could have created it, or it cannot be used.
    pub fn take(folder: &Path, owner: Owner) -> Result<Self, LockError> {
        Ok(FolderHold(DirectoryLock::acquire(&PrivateFolder::make_above(folder)?, owner, &[])?))
    }
}

impl Drop for FolderHold {
    fn drop(&mut self) {
        // If something was kept in the folder, it stays, and the folder too.
        let _ = self.0.remove_file();
        let _ = fs::remove_dir(self.0.folder.path());
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // An empty file names no owner, so the next one does not look for this one.
        let _ = self.file.set_len(0);
    }
}

fn open_locked(folder: &PrivateFolder) -> Result<File, LockError> {
    let directory = folder.path();
    let wrong = |source| LockError::File { path: directory.join(FILE), source };
    let mut patience = 20;
    loop {
        let mut file = folder.keep(FILE, OFlags::RDWR).map_err(wrong)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // The previous owner may have removed the file that was just locked.
                if folder.is_named(FILE, &file) {
                    return Ok(file);
                }
            }
            // Between fork and exec, a child of the owner holds a copy of the lock.
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

/// The process id in the first line of a server's own pid file.
fn pid_in(data: &Path, name: &str) -> Option<u32> {
    PrivateFolder::open(data).ok()??.text(name).ok()?.lines().next()?.trim().parse().ok()
}

fn stop_leftover(pid: u32, directory: &Path, kinds: &[ServerKind]) -> Result<(), LockError> {
    // A process that is ending loses its command line before it closes its files.
    let until = Instant::now() + PATIENCE / 30;
    let is_ending = || process::arguments(pid).is_some_and(|words| words.iter().all(|word| word.is_empty()));
    while is_ending() && Instant::now() < until && !basecase_stop::is_asked() {
        std::thread::sleep(Duration::from_millis(20));
    }
    // Never stop a process that merely has the id of a dead server.
    let started = process::start_time(pid);
    let data = directory.join(DATA);
    let Some(server) = kinds.iter().find(|kind| kind.is_serving(pid, &data)) else { return Ok(()) };
    let is_there = || started.is_some() && process::start_time(pid) == started;
    for (signal, patience) in server.stop_signals.into_iter().zip([PATIENCE, PATIENCE / 6]) {
        let until = Instant::now() + patience;
        if is_there() {
            process::send(pid, signal);
            // A server that was suspended when its owner was killed handles the signal only once it and its children are
            // resumed.
            server_processes(pid).into_iter().for_each(|pid| process::send(pid, Signal::CONT));
        }
        while is_there() && Instant::now() <= until && !basecase_stop::is_asked() {
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

    const KIND: ServerKind = ServerKind {
        programs: &["postgres"],
        data_argument: "",
        pid_file: "postmaster.pid",
        stop_signals: [Signal::INT, Signal::QUIT],
    };

    fn owner() -> Owner {
        Owner { experiment: "e1".into(), candidate: "pg176.x10a_c2r24".into() }
    }

    #[test]
    fn a_server_is_known_by_its_command_also_under_valgrind() {
        let is_server = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            KIND.is_command(&words, Path::new("/d"))
        };
        for valgrind in ["", "/usr/bin/valgrind ", "/usr/bin/valgrind.bin --tool=callgrind "] {
            assert!(is_server(&format!("{valgrind}/b/postgres -D /d")), "{valgrind}");
            assert!(!is_server(&format!("{valgrind}/b/postgres -D /other")), "{valgrind}");
        }
        assert!(!is_server("/usr/bin/less /b/postgres -D /d") && !is_server("/b/mysqld -D /d"));
    }

    #[test]
    fn a_held_directory_names_its_owner() {
        let top = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::make(&top.path().join("one"), None).unwrap();
        let lock = DirectoryLock::acquire(&folder, owner(), &[]).unwrap();
        let message = DirectoryLock::acquire(&folder, owner(), &[]).unwrap_err().to_string();
        let expected =
            format!("in use by basecase process {} (pg176.x10a_c2r24 of experiment e1)", std::process::id());
        assert!(message.contains(&expected), "{message}");
        drop(lock);
        let lock = DirectoryLock::acquire(&folder, owner(), &[]).unwrap();
        lock.remove_file().unwrap();
        assert!(!folder.has(FILE).unwrap());
    }

    #[test]
    fn the_record_of_a_dead_owner_is_taken_over() {
        let top = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::make(&top.path().join("one"), None).unwrap();
        // The test's own process id with another start time stands for another process; the "server" is not a server.
        let record = Record {
            owner_pid: std::process::id(),
            owner_started: 1,
            server_pid: Some(std::process::id()),
            owner: owner(),
        };
        folder.write(FILE, serde_json::to_string(&record).unwrap().as_bytes()).unwrap();
        let mut lock = DirectoryLock::acquire(&folder, owner(), &[]).unwrap();
        lock.set_server(Some(7)).unwrap();
        let text = folder.text(FILE).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap().server_pid, Some(7));
    }

    /// A child that does not outlive its test, also when that fails.
    struct EndedByDrop(std::process::Child);

    impl Drop for EndedByDrop {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn defect_18_a_server_that_stands_still_is_stopped_by_the_next_owner() {
        let top = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::make(&top.path().join("one"), None).unwrap();
        let data = folder.folder(DATA).unwrap();
        // Whoever runs tests in the background may ignore the signal that ends a server, and a shell inherits that.
        let serve = "exec -a postgres /bin/sh -c 'while true; do sleep 0.1; done' \"$0\"";
        let mut shell = std::process::Command::new("env");
        shell.args(["--default-signal=INT", "bash", "-c", serve]).arg(data.path());
        let mut server = EndedByDrop(shell.spawn().unwrap());
        while !KIND.is_serving(server.0.id(), data.path()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        process::send(server.0.id(), Signal::STOP);
        data.write("postmaster.pid", server.0.id().to_string().as_bytes()).unwrap();
        let began = Instant::now();
        DirectoryLock::acquire(&folder, owner(), &[KIND]).unwrap();
        assert!(began.elapsed() < PATIENCE / 2, "{:?}", began.elapsed());
        server.0.wait().unwrap();
    }
}
