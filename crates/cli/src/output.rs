//! Data goes to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result};

/// Writes data to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).context("cannot write to standard output")
}

/// Writes a message to standard error.
pub(crate) fn complain(text: &str) {
    // When standard error is gone there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Whether a word of the command line may hold a password: it is a URL, or nearly one.
pub(crate) fn may_hold_password(word: &str) -> bool {
    word.starts_with("url:") || word.contains("://")
}

/// Whether the reader of standard output went away, which is its right.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Whether standard output may be coloured: a terminal, and `NO_COLOR` unset (<https://no-color.org>).
pub(crate) fn may_colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
