//! Why a file of callgrind cannot be read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a file cannot be read, and where in it.
#[derive(Debug, Error)]
#[error("cannot read what callgrind counted: {}{}: {problem}", path.display(), place(*line))]
pub struct CallgrindError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0 if it is about the whole file.
    pub line: u64,
    /// What is wrong.
    pub problem: CallgrindProblem,
}

/// What is wrong with a file of callgrind.
#[derive(Debug, Error)]
pub enum CallgrindProblem {
    /// The system refuses it.
    #[error("{0}\nhint: check that it exists and that this user may read it")]
    Read(#[from] io::Error),
    /// It has not a byte. With `--separate-threads=yes`, the one whose name has no number stays empty.
    #[error("it is empty\nhint: the counts of threads are in the files whose names end in a number")]
    Empty,
    /// It has no `events:` line before its first count.
    #[error(
        "it does not say which events it counts\nhint: check that it is a file of `valgrind --tool=callgrind`"
    )]
    NoEvents,
    /// Instructions (`Ir`) are not among its events.
    #[error("its events are `{0}`, without Ir\nhint: count instructions, which callgrind does by default")]
    NoInstructions(String),
    /// It ends without the sum that callgrind writes last.
    #[error(
        "it ends before its totals, so callgrind did not finish it\nhint: count again, and let the process end by itself"
    )]
    Cut,
    /// Its functions do not add up to its totals.
    #[error(
        "its functions have {counted} instructions together, but its totals say {told}\nhint: the file is damaged; count again"
    )]
    Totals {
        /// What the lines add up to.
        counted: u64,
        /// What the file says.
        told: u64,
    },
    /// A line that no rule of the format allows.
    #[error("`{0}` is no line of callgrind\nhint: the file is damaged; count again")]
    Line(String),
    /// A count or a call stands before any function.
    #[error("a count before the first `fn=`\nhint: the file is damaged; count again")]
    NoFunction,
    /// A number stands for a name that was not told.
    #[error("({0}) stands for a name that the file has not told\nhint: the file is damaged; count again")]
    UnknownName(u64),
    /// A line, or all names together, are longer than any program needs.
    #[error("{what} longer than {most_bytes} bytes\nhint: check that it is a file of callgrind")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// The most that is read.
        most_bytes: usize,
    },
}

fn place(line: u64) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}
