//! A process that serves one session with SQLite, so that it can be counted: see [`basecase_client::sqlite::serve`].

use std::ffi::OsString;
use std::fs;
use std::io::{stdin, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use basecase_client::Error;
use basecase_client::sqlite::{Meter, serve};
use basecase_probe::{CounterEvent, InstructionCounter, PerfError};

/// The command of this program that serves one session with SQLite.
pub const SQLITE_SESSION: &str = "sqlite-session";

/// The arguments of a process that counts an event while its statements are executed, and leaves the count in a folder.
pub(super) fn arguments(event: CounterEvent, folder: &Path) -> Vec<OsString> {
    vec![SQLITE_SESSION.into(), event.name().into(), folder.into()]
}

/// What a process that has ended left of its count.
///
/// # Errors
/// When it left none, or could not count.
pub(super) fn count_of(folder: &Path, process: u32) -> Result<u64> {
    let path = file_of(folder, process);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse().map_err(|_| anyhow!(text))
}

/// The file with the count of a process.
fn file_of(folder: &Path, process: u32) -> PathBuf {
    folder.join(process.to_string())
}

/// Serves one session with SQLite on standard input and output: what a program does whose first argument is [`SQLITE_SESSION`].
/// `arguments` are those after it.
///
/// # Errors
/// When they are not those of basecase, the session is broken, or nothing can be counted.
pub fn serve_sqlite_session(arguments: impl Iterator<Item = OsString>) -> Result<()> {
    match &arguments.collect::<Vec<_>>()[..] {
        [] => Ok(serve(stdin().lock(), stdout().lock(), &mut ())?),
        [event, folder] => {
            let event = event.to_str().and_then(CounterEvent::named);
            let event = event.context("the event to count is unknown")?;
            let mut counter = OwnCounter(InstructionCounter::of_this_thread(event)?);
            serve(stdin().lock(), stdout().lock(), &mut counter)?;
            counter.leave(Path::new(folder))
        }
        _ => bail!("basecase alone runs {SQLITE_SESSION}\nhint: see basecase --help"),
    }
}

/// Counts this thread while a statement is executed.
struct OwnCounter(InstructionCounter);

impl OwnCounter {
    /// Leaves the count, or why there is none, to the process that asked for it.
    fn leave(mut self, folder: &Path) -> Result<()> {
        let path = file_of(folder, std::process::id());
        let text = self.0.read().map_or_else(|error| error.to_string(), |count| count.to_string());
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Meter for OwnCounter {
    fn start(&mut self) -> Result<(), Error> {
        self.0.start().map_err(|error| refused(&error))
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.0.stop().map_err(|error| refused(&error))
    }
}

fn refused(error: &PerfError) -> Error {
    let text = error.to_string();
    let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, "see perf_event_open(2)"));
    Error::refusal(message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_leaves_its_count_or_the_reason_for_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(file_of(folder.path(), 7), "123").unwrap();
        fs::write(file_of(folder.path(), 8), "it was shared\nhint: end the other").unwrap();
        assert_eq!(count_of(folder.path(), 7).unwrap(), 123);
        let said = |process| count_of(folder.path(), process).unwrap_err().to_string();
        assert_eq!(said(8), "it was shared\nhint: end the other");
        assert!(said(9).starts_with("cannot read "));
    }

    #[test]
    fn statements_are_counted_and_what_is_between_them_is_not() {
        let counter = InstructionCounter::of_this_thread(CounterEvent::TaskClock);
        let mut counter = match counter {
            Ok(counter) => OwnCounter(counter),
            Err(error) => return println!("skipped: {error}"),
        };
        let work = || {
            std::hint::black_box((0..200_000_u64).fold(0, |sum, number| std::hint::black_box(sum ^ number)))
        };
        counter.start().unwrap();
        work();
        counter.stop().unwrap();
        let counted = counter.0.read().unwrap();
        assert!(counted > 0);
        work();
        let folder = tempfile::tempdir().unwrap();
        counter.leave(folder.path()).unwrap();
        assert_eq!(count_of(folder.path(), std::process::id()).unwrap(), counted);
    }

    #[test]
    fn what_basecase_does_not_ask_is_refused() {
        let refused = |words: &[&str]| serve_sqlite_session(words.iter().map(OsString::from)).is_err();
        assert!(refused(&["instructions"]) && refused(&["cycles", "/tmp"]) && refused(&["a", "b", "c"]));
    }
}
