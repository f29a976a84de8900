//! Data goes to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use anyhow::{Context, Result};
use basecase_lab::{CandidateSpec, may_hold_password};
use basecase_model::{printable, printable_json};
use basecase_report::Answer;
use basecase_stop::Direction;

/// The command line with the passwords of URLs left out.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().map(|word| safe_word(&word.to_string_lossy()));
    // The path of the program is nobody's business, and its name is.
    std::iter::once("basecase".to_owned()).chain(words.skip(1)).collect::<Vec<_>>().join(" ")
}

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

/// Writes an answer to standard output: as JSON, or for people.
///
/// # Errors
/// As [`print_report`].
pub(crate) fn print_answer(answer: Answer, json: bool) -> Result<()> {
    print_report(&if json { answer.json } else { answer.document.text(may_colour()) })
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

/// Writes a line to standard error that is safe to write.
pub(crate) fn complain_in_json(line: &str) {
    // As in `complain`.
    let _ = write(io::stderr().lock(), &format!("{line}\n"));
}

/// What went wrong, without passwords.
pub(crate) fn explained(error: &anyhow::Error) -> String {
    without_passwords(&basecase_lab::explain(error))
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

/// Text without the words of the command line that may hold a password: whatever complains of a word repeats it.
pub(crate) fn without_passwords(text: &str) -> String {
    let mut text = text.to_owned();
    for word in std::env::args_os().skip(1) {
        let word = word.to_string_lossy();
        // Also as the value of an option, and without the word that says that it is a URL.
        let value = word.strip_prefix("--").and_then(|option| option.split_once('=')).map(|(_, value)| value);
        for word in [Some(&*word), value, word.strip_prefix("url:")].into_iter().flatten() {
            if safe_word(word) != word && !is_address_of_code(word) {
                // As it is, and as messages quote it.
                let quoted = format!("{word:?}");
                text = text.replace(word, "url:…").replace(quoted.trim_matches('"'), "url:…");
            }
        }
    }
    text
}

/// Whether a word names a repository, without a login that would have to be kept secret.
fn is_address_of_code(word: &str) -> bool {
    let schemes = ["https://", "http://", "ssh://", "git://", "file://"];
    !word.contains('@') && schemes.iter().any(|scheme| word.starts_with(scheme))
}

/// Tells what clap says of the command line: a mistake, or the help that was asked for.
pub(crate) fn tell_mistake(error: &clap::Error) -> ExitCode {
    let plain = error.render().to_string();
    if without_passwords(&plain) == plain {
        // With its colours. There is nobody left to tell when it cannot be written.
        let _ = error.print();
    } else {
        complain(without_passwords(&plain).trim_end());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

/// A word of the command line as it may be shown.
pub(crate) fn safe_word(word: &str) -> String {
    match word.parse::<CandidateSpec>() {
        Ok(spec) if spec.is_url() => spec.to_string(),
        _ if may_hold_password(word) => "url:…".to_owned(),
        _ => word.to_owned(),
    }
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
