//! Data goes to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result};
use basecase_model::{printable, printable_json};

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
    print_to(&mut io::stdout().lock(), text)
}

/// Writes values as a JSON document to standard output.
///
/// # Errors
/// As [`print_report`].
pub(crate) fn print_json(values: Vec<serde_json::Value>) -> Result<()> {
    print_report(&printable_json(&format!("{:#}\n", serde_json::Value::Array(values))))
}

fn print_to(output: &mut impl Write, text: &str) -> Result<()> {
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context(
            "cannot write to standard output\nhint: `basecase report` prints the report of a run again, from its store",
        ),
    }
}

/// Writes a message to standard error. What it cites of others cannot steer the terminal.
pub(crate) fn complain(text: &str) {
    // When standard error is gone there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{}", printable(text));
}

/// Says what went wrong.
pub(crate) fn complain_of(error: &anyhow::Error) {
    complain(&format!("error: {}", basecase_lab::explain(error)));
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

    /// What refuses every byte.
    struct Refusal(io::ErrorKind);

    impl Write for Refusal {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn defect_08_a_reader_that_went_away_is_no_error() {
        assert!(print_to(&mut Refusal(io::ErrorKind::BrokenPipe), "text").is_ok());
        assert!(print_to(&mut Refusal(io::ErrorKind::StorageFull), "text").is_err());
    }
}
