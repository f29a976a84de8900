//! The lock that admits one run at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::Problem;

/// How long a lock may outlive its process: a child holds a copy between fork and exec.
const COPY_PATIENCE: Duration = Duration::from_secs(5);

/// The exclusive right to run experiments into a store, released when dropped or when the process ends.
#[derive(Debug)]
pub struct RunLock {
    // The kernel's lock (flock) lives as long as the open file.
    _file: File,
}

pub(crate) fn acquire(store: &Path, command: &str) -> Result<RunLock, Problem> {
    // Two names for one file must share a lock.
    let mut path = store.canonicalize()?.into_os_string();
    path.push("-lock");
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    lock(&mut file)?;
    // Not removed on release: another run may be waiting for this very file.
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "pid {} ({command})", std::process::id())?;
    Ok(RunLock { _file: file })
}

/// Locks the file, or names its owner.
fn lock(file: &mut File) -> Result<(), Problem> {
    let until = Instant::now() + COPY_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(Problem::Io(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        let mut owner = String::new();
        file.rewind()?;
        file.read_to_string(&mut owner)?;
        if Instant::now() >= until || !is_gone(&owner) {
            let owner = owner.trim();
            return Err(Problem::Held {
                owner: if owner.is_empty() { "another process" } else { owner }.to_owned(),
            });
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the owner that wrote this, `pid 1234 (its command)`, is gone.
fn is_gone(owner: &str) -> bool {
    let pid = owner.strip_prefix("pid ").and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_dead_owners_lock_is_waited_for_and_a_living_owner_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("s.sqlite");
        File::create(&store).unwrap();
        let held = acquire(&store, "first").unwrap();
        let Err(Problem::Held { owner }) = acquire(&store, "second").map(drop) else {
            panic!("two runs hold the lock")
        };
        assert_eq!(owner, format!("pid {} (first)", std::process::id()));
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        std::fs::write(folder.path().join("s.sqlite-lock"), format!("pid {} (first)\n", gone.id())).unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| acquire(&store, "second").map(drop));
            drop(held);
            second.join().unwrap().unwrap();
        });
    }

    #[test]
    fn only_a_number_without_a_process_is_gone() {
        assert!(!is_gone(&format!("pid {} (x)", std::process::id())));
        assert!(!is_gone("") && !is_gone("pid x (y)"));
        assert!(is_gone("pid 4294967294 (x)"));
    }
}
