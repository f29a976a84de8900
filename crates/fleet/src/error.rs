//! Errors of a fleet.

use std::io;
use std::path::{Path, PathBuf};

use basecase_store::StoreError;
use thiserror::Error;

/// Why something about a fleet cannot be done.
#[derive(Debug, Error)]
pub enum FleetError {
    /// A file or folder cannot be read or written.
    #[error("cannot use {}: {source}\nhint: check that it is there, that this user may write it, and that its disk is not full", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder has no fleet's id.
    #[error("{} is not the folder of a fleet\nhint: name the store that the fleet was started with", path.display())]
    NoFleet {
        /// The folder.
        path: PathBuf,
    },
    /// What was submitted cannot be read.
    #[error("{} does not say what was submitted: {reason}\nhint: use the basecase that submitted it", path.display())]
    Submission {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The scheduler's program of a command that was killed still submits.
    #[error("an earlier command was killed, and what it ran still submits this fleet ({} is locked)\nhint: try again when that program has ended, e.g. sbatch; `ps` shows it", path.display())]
    Submitting {
        /// The file that is locked.
        path: PathBuf,
    },
    /// A delivered store is not what its checksum says.
    #[error("{who} does not fit its checksum: {} has {found}\nhint: it is read again once it is delivered anew; if that node is finished, remove it there and run that node again", path.display())]
    Mismatch {
        /// The delivery: of which node, or in which folder.
        who: String,
        /// The delivered file.
        path: PathBuf,
        /// The checksum that the file has.
        found: String,
    },
    /// A program of the scheduler is not installed.
    #[error(
        "there is no {program} here\nhint: install Slurm's client programs, or run the nodes yourself with --node 1/{nodes}"
    )]
    NoProgram {
        /// The program.
        program: String,
        /// How many nodes there are, or `N` if that is not known.
        nodes: String,
    },
    /// A program of the scheduler cannot be run.
    #[error("cannot run {program}: {source}\nhint: check that this user may execute it")]
    Run {
        /// The program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// The scheduler refuses.
    #[error("{program} refuses: {reason}\nhint: {hint}")]
    Refused {
        /// The program that said so.
        program: String,
        /// In its own words.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// A store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl FleetError {
    /// The error of the file or folder at `path`.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> FleetError {
        let path = path.to_owned();
        move |source| FleetError::File { path, source }
    }
}
