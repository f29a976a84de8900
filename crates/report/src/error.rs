//! Errors of writing a report.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a report could not be written.
#[derive(Debug, Error)]
pub enum Error {
    /// The directory for the pages could not be made.
    #[error(
        "cannot create the report directory {}: {source}\nhint: name a directory that you may write to",
        path.display()
    )]
    CreateDirectory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory for the pages is somebody else's.
    #[error(
        "{} holds files, and none of them tells that it is a report or a history of basecase\nhint: name a new or empty directory, or one that \
         an earlier report or history was written to",
        .0.display()
    )]
    OthersFolder(PathBuf),
    /// A page or an asset could not be written.
    #[error("cannot write {}: {source}\nhint: check free space and permissions of the directory", path.display())]
    WriteFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A format of verdicts was requested, and there are none.
    #[error(
        "the experiment is not in rounds and has no verdicts\nhint: `basecase compare … --rounds 5` measures in rounds; --format text shows \
         single runs"
    )]
    NoVerdicts,
    /// A format of another program was requested, and no step has a number.
    #[error(
        "no step of the experiment has a value to export\nhint: `basecase store show` tells which trials failed; the command that began it measures \
         what is missing"
    )]
    NothingToExport,
    /// There is nothing to write.
    #[error(transparent)]
    Analysis(#[from] basecase_analysis::Error),
    /// A flame graph could not be drawn.
    #[error(
        "cannot draw a flame graph: {0}\nhint: the profile's stacks are not in folded form; run the step with --profile again"
    )]
    FlameGraph(io::Error),
}
