//! Data goes to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use basecase_lab::{CandidateSpec, may_hold_password};
use basecase_model::{printable, printable_json};
use basecase_report::{Answer, Export, Written};
use basecase_stop::Direction;

/// Columns of a terminal whose width is not known, and the most that text is set in.
const COLUMNS: [usize; 2] = [80, 140];

/// How many columns there are for text on standard output.
pub(crate) fn columns() -> usize {
    let [usual, most] = COLUMNS;
    let found = rustix::termios::tcgetwinsize(io::stdout()).map(|size| usize::from(size.ws_col));
    found.ok().filter(|columns| *columns > 0).map_or(usual, |columns| columns.clamp(usual, most))
}

/// Words that stand in the user's files and not on the command line.
static CONFIGURED: OnceLock<Vec<String>> = OnceLock::new();

/// Notes words that stand in the user's files, so that [`command_line`] says the same without those files.
pub(crate) fn configured(words: Vec<String>) {
    // There is one command line.
    let _ = CONFIGURED.set(words);
}

/// The words of the command line with what the user's files add to it, without the program.
pub(crate) fn words() -> Vec<String> {
    let typed = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).skip(1);
    typed.chain(CONFIGURED.get().into_iter().flatten().cloned()).collect()
}

/// The command line with what the user's files add to it, without the passwords of URLs.
pub(crate) fn command_line() -> String {
    // Only the program's name: its path may tell too much about the user.
    let words = words().into_iter().map(|word| quoted(safe_word(&word)));
    std::iter::once("basecase".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it back, with quotes only where it would be several words.
fn quoted(word: String) -> String {
    let is_plain =
        !word.is_empty() && !word.contains(|letter: char| letter.is_whitespace() || "'\"\\".contains(letter));
    if is_plain { word } else { shlex::try_quote(&word).map_or_else(|_| word.clone(), Into::into) }
}

/// The message to a user who stopped a run.
pub(crate) const INTERRUPTED: &str = "interrupted\nhint: run the same command again to resume";

/// Prints a report, or where its pages are.
///
/// # Errors
/// As [`print_report`].
pub(crate) fn print_written(written: Written) -> Result<()> {
    match written {
        Written::Text(text) => print_report(&text),
        Written::Export(export) => print_export(&export),
        Written::Page(page) => print(&format!("{}\n", page.display())),
    }
}

/// Writes text to standard output. Quoted text of others cannot steer the terminal.
///
/// # Errors
/// As [`print_report`].
pub(crate) fn print(text: &str) -> Result<()> {
    print_report(&printable(text))
}

/// Writes a report of `basecase_report` to standard output. It already escapes what it quotes, and may be coloured. A reader that
/// went away is no error.
///
/// # Errors
/// When the report cannot be written for another reason, such as a full disk.
pub(crate) fn print_report(text: &str) -> Result<()> {
    ignoring_broken_pipe(write(io::stdout().lock(), text))
}

/// Writes an answer to standard output: as JSON, or for people.
///
/// # Errors
/// As [`print_report`].
pub(crate) fn print_answer(answer: Answer, json: bool) -> Result<()> {
    print_report(&if json { answer.json } else { answer.document.text(may_colour()) })
}

/// Writes what another program reads to standard output, and what it leaves out to standard error.
///
/// # Errors
/// As [`print_report`].
pub(crate) fn print_export(export: &Export) -> Result<()> {
    export.notes.iter().for_each(|note| print_message(note));
    print_report(&export.text)
}

/// Writes values as a JSON document to standard output.
///
/// # Errors
/// As [`print_report`].
pub(crate) fn print_json(values: Vec<serde_json::Value>) -> Result<()> {
    print_report(&printable_json(&format!("{:#}\n", serde_json::Value::Array(values))))
}

fn ignoring_broken_pipe(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context(
            "cannot write to standard output\nhint: `basecase report` prints the report again from the store",
        ),
    }
}

/// Writes a message to standard error. Quoted text of others cannot steer the terminal.
pub(crate) fn print_message(text: &str) {
    // If standard error is gone, there is nowhere to report it.
    let _ = write(io::stderr().lock(), &format!("{}\n", printable(text)));
}

/// Writes a line to standard error that needs no escaping.
pub(crate) fn print_event(line: &str) {
    // As in `print_message`.
    let _ = write(io::stderr().lock(), &format!("{line}\n"));
}

/// An error's message, without passwords.
pub(crate) fn error_text(error: &anyhow::Error) -> String {
    without_passwords(&basecase_lab::explain(error))
}

/// The largest write to a pipe that does not block once the pipe is ready (`PIPE_BUF` of pipe(7)).
const PIECE_BYTES: usize = 4096;

/// Writes text even to a slow reader, but gives up on a stalled one when the user wants to stop.
fn write(mut output: impl Write + AsFd, text: &str) -> io::Result<()> {
    for piece in text.as_bytes().chunks(PIECE_BYTES) {
        basecase_stop::wait_ready(output.as_fd(), Direction::Write, None)?;
        output.write_all(piece)?;
        output.flush()?;
    }
    Ok(())
}

/// Text without those words of the command line that may hold a password, which error messages repeat.
pub(crate) fn without_passwords(text: &str) -> String {
    let mut text = text.to_owned();
    for word in std::env::args_os().skip(1) {
        let word = word.to_string_lossy();
        // Also as the value of an option, and without the prefix of a URL.
        let value = word.strip_prefix("--").and_then(|option| option.split_once('=')).map(|(_, value)| value);
        for word in [Some(&*word), value, word.strip_prefix("url:")].into_iter().flatten() {
            if safe_word(word) != word && !is_address_of_code(word) {
                // Verbatim, and as messages quote it.
                let quoted = format!("{word:?}");
                text = text.replace(word, "url:…").replace(quoted.trim_matches('"'), "url:…");
            }
        }
    }
    text
}

/// Whether a word is the address of a repository without a login in it.
fn is_address_of_code(word: &str) -> bool {
    let schemes = ["https://", "http://", "ssh://", "git://", "file://"];
    !word.contains('@') && schemes.iter().any(|scheme| word.starts_with(scheme))
}

/// Prints clap's message: an error in the command line, or the requested help.
pub(crate) fn print_usage_error(error: &clap::Error) -> ExitCode {
    let plain = error.render().to_string();
    if without_passwords(&plain) == plain {
        // With clap's colours. If this fails, there is nowhere to report it.
        let _ = error.print();
    } else {
        print_message(without_passwords(&plain).trim_end());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

/// A word of the command line, safe to show.
pub(crate) fn safe_word(word: &str) -> String {
    match word.parse::<CandidateSpec>() {
        Ok(spec) if spec.is_url() => spec.to_string(),
        _ if may_hold_password(word) => "url:…".to_owned(),
        _ => word.to_owned(),
    }
}

/// Whether to colour standard output: on a terminal, unless `NO_COLOR` is set (<https://no-color.org>).
pub(crate) fn may_colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_08_a_reader_that_went_away_is_no_error() {
        assert!(ignoring_broken_pipe(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(ignoring_broken_pipe(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
