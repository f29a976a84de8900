//! What may go wrong with a store.

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
    #[error("it is not a store of basecase and was left as it is\nhint: name another file")]
    Foreign,
    /// A newer basecase wrote it.
    #[error(
        "it has version {found}, and this basecase knows versions up to {known}\nhint: use a newer basecase"
    )]
    Newer {
        /// The store's version.
        found: u32,
        /// The newest version that this basecase knows.
        known: u32,
    },
    /// Another run writes to it.
    #[error("it is held by {owner}\nhint: wait until that run has ended, or give this one another store")]
    Held {
        /// The other run: `pid 1234 (its command)`.
        owner: String,
    },
    /// The file system is full.
    #[error(
        "no space is left for it\nhint: free some space and run again; every trial stored so far is kept"
    )]
    Full,
    /// The file or its directory may not be written, or not be opened at all.
    #[error(
        "it cannot be opened or written: {0}\nhint: check that its directory is there, and the permissions of both"
    )]
    Denied(String),
    /// Another process kept it locked for long.
    #[error("another process keeps it locked\nhint: try again once that process has ended")]
    Busy,
    /// Its content is not what basecase writes.
    #[error("it is damaged: {0}\nhint: `basecase store verify` lists everything that is wrong")]
    Damaged(String),
    /// A trial came with a cell that is not its own.
    #[error("the trial is of cell {trial} and not of cell {cell}")]
    WrongCell {
        /// The trial's cell.
        trial: String,
        /// The key of the cell that came with it.
        cell: String,
    },
    /// The experiment has a complete trial of the same cell and round.
    #[error(
        "round {round} of {step} is stored already\nhint: this is a mistake in basecase, and nothing was changed; please report it"
    )]
    Repeated {
        /// The step's name.
        step: String,
        /// The round, from 1.
        round: u32,
    },
    /// A number that every trial has is infinite or not a number.
    #[error("the trial's {0} is not a finite number")]
    NotFinite(&'static str),
    /// A file beside it, or the file itself, could not be read or written.
    #[error("{0}\nhint: name a file that this user may read and write")]
    Io(#[from] io::Error),
    /// SQLite reports anything else.
    #[error("{0}\nhint: check the file system that it lies on, and try again")]
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
                // SQLite may add the file's full path, and every message of a store names the file already.
                let text = error.to_string();
                Problem::Denied(text.split(": /").next().unwrap_or_default().to_owned())
            }
            // A table or a column is missing, or a value is not what its column holds.
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
