//! One run at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::Problem;

/// The right to run experiments into a store. Dropping it, or the end of the process, gives it back.
#[derive(Debug)]
pub struct RunLock {
    // The kernel's lock (flock) lives as long as the open file.
    _file: File,
}

pub(crate) fn acquire(store: &Path, command: &str) -> Result<RunLock, Problem> {
    // Two names of one file must not make two locks.
    let mut path = store.canonicalize()?.into_os_string();
    path.push("-lock");
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            file.read_to_string(&mut owner)?;
            let owner = owner.trim();
            return Err(Problem::Held {
                owner: if owner.is_empty() { "another process" } else { owner }.to_owned(),
            });
        }
        Err(TryLockError::Error(error)) => return Err(Problem::Io(error)),
    }
    // Not removed on release: another run may be waiting for this very file.
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "pid {} ({command})", std::process::id())?;
    Ok(RunLock { _file: file })
}
