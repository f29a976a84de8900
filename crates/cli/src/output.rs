//! Data goes to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use anyhow::{Context, Result};
use basecase_model::{printable, printable_json};
use basecase_stop::Direction;

/// What the user is told who stopped a run.
pub(crate) const INTERRUPTED: &str = "interrupted\nhint: the same command goes on where this one stopped";

/// Writes words to standard output. What they cite of others cannot steer the terminal.
///
/// # Errors
/// As [`print_report`].
pub(crate) fn print(text: &str) -> Result<()> {
    print_report(&printable(text))
}

/// Writes a report of `basecase_report` to standard output, which escapes what it cites and may be coloured. That the reader went away is
/// its right, and no error.
///
/// # Errors
/// When the report cannot be written for another reason, such as a full disk.
pub(crate) fn print_report(text: &str) -> Result<()> {
    told(write(io::stdout().lock(), text))
}

/// Writes values as a JSON document to standard output.
///
/// # Errors
/// As [`print_report`].
pub(crate) fn print_json(values: Vec<serde_json::Value>) -> Result<()> {
    print_report(&printable_json(&format!("{:#}\n", serde_json::Value::Array(values))))
}

fn told(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context(
            "cannot write to standard output\nhint: `basecase report` prints the report of a run again, from its store",
        ),
    }
}

/// Writes a message to standard error. What it cites of others cannot steer the terminal.
pub(crate) fn complain(text: &str) {
    // When standard error is gone there is nobody left to tell.
    let _ = write(io::stderr().lock(), &format!("{}\n", printable(text)));
}

/// Says what went wrong.
pub(crate) fn complain_of(error: &anyhow::Error) {
    complain(&format!("error: {}", basecase_lab::explain(error)));
}

/// So much goes through a pipe at once without waiting when there is room in it at all (`PIPE_BUF` of pipe(7)).
const PIECE_BYTES: usize = 4096;

/// Writes text, also to a reader that is slow, but not to one that takes in nothing while the user wants to stop.
fn write(mut output: impl Write + AsFd, text: &str) -> io::Result<()> {
    for piece in text.as_bytes().chunks(PIECE_BYTES) {
        basecase_stop::wait_ready(output.as_fd(), Direction::Write, None)?;
        output.write_all(piece)?;
        output.flush()?;
    }
    Ok(())
}

/// Whether a word of the command line may hold a password: it is a URL, or nearly one.
pub(crate) fn may_hold_password(word: &str) -> bool {
    word.starts_with("url:") || word.contains("://")
}

/// Whether standard output may be coloured: a terminal, and `NO_COLOR` unset (<https://no-color.org>).
pub(crate) fn may_colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_08_a_reader_that_went_away_is_no_error() {
        assert!(told(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(told(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
