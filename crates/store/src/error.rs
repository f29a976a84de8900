//! Errors of a store.

use std::io;
use std::path::{Path, PathBuf};

use basecase_model::HistogramError;
use rusqlite::ErrorCode;
use thiserror::Error;

/// A problem with a store; the message names the file and says what to do.
#[derive(Debug, Error)]
#[error("the store {}: {problem}", path.display())]
pub struct StoreError {
    /// The store's file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a store.
#[derive(Debug, Error)]
pub enum Problem {
    /// There is no such file.
    #[error("there is no such file\nhint: `basecase run` and `basecase compare` create a store")]
    Missing,
    /// The file is something else. It was not touched.
    #[error("it is not a basecase store and was left untouched\nhint: name another file")]
    Foreign,
    /// A newer basecase wrote it.
    #[error(
        "its version is {found}, but this basecase reads versions up to {known}\nhint: use a newer basecase"
    )]
    Newer {
        /// The store's version.
        found: u32,
        /// The newest version that this basecase reads.
        known: u32,
    },
    /// Another run writes to it.
    #[error("it is in use by {owner}\nhint: wait for that run to end, or use another store")]
    Held {
        /// The other run: `pid 1234 (its command)`.
        owner: String,
    },
    /// The file system is full.
    #[error(
        "no space is left on its file system\nhint: free some space and run again; all trials stored so far are kept"
    )]
    Full,
    /// The file or its directory cannot be written, or not even opened.
    #[error(
        "it cannot be opened or written: {0}\nhint: check that its directory exists, and the permissions of both"
    )]
    Denied(String),
    /// Another process held its lock for longer than we wait.
    #[error("it is locked by another process\nhint: try again when that process has ended")]
    Busy,
    /// Its content is not what basecase writes.
    #[error("it is damaged: {0}\nhint: `basecase store verify` lists all problems")]
    Damaged(String),
    /// A trial was passed with another trial's cell.
    #[error("the trial belongs to cell {trial}, not to cell {cell}")]
    WrongCell {
        /// The trial's cell.
        trial: String,
        /// The key of the cell passed with it.
        cell: String,
    },
    /// The experiment already has a complete trial of the same cell and round.
    #[error(
        "round {round} of {step} is already stored\nhint: this is a bug in basecase, please report it; nothing was changed"
    )]
    Repeated {
        /// The step's name.
        step: String,
        /// The round, from 1.
        round: u32,
    },
    /// Two stores have different results of the same work.
    #[error(
        "it and {} have different results of the same round: {what}\nhint: keep one of the two; `basecase store show` tells when each was measured", other.display()
    )]
    Contradiction {
        /// The other store.
        other: PathBuf,
        /// The candidate, the step and the round, from 1.
        what: String,
    },
    /// A number that every trial must have is infinite or NaN.
    #[error("the trial's {0} is not a finite number")]
    NotFinite(&'static str),
    /// A file beside it, or the file itself, could not be read or written.
    #[error("{0}\nhint: name a file that this user may read and write")]
    Io(#[from] io::Error),
    /// Any other error of SQLite.
    #[error("{0}\nhint: check its file system, and try again")]
    Sqlite(rusqlite::Error),
}

impl Problem {
    /// The error of the store at `path`.
    pub(crate) fn at(self, path: &Path) -> StoreError {
        StoreError { path: path.to_owned(), problem: self }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Problem::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Problem::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Problem::Damaged(error.to_string()),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
                // SQLite may append the file's full path, which every message of a store already has.
                let text = error.to_string();
                Problem::Denied(text.split(": /").next().unwrap_or_default().to_owned())
            }
            // A table or a column is missing, or a value has the wrong type for its column.
            Some(ErrorCode::Unknown) | None => Problem::Damaged(error.to_string().replace('\n', " ")),
            _ => Problem::Sqlite(error),
        }
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Problem::Damaged(error.to_string())
    }
}

impl From<HistogramError> for Problem {
    fn from(error: HistogramError) -> Self {
        Problem::Damaged(error.to_string())
    }
}
