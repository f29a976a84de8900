//! Processes that serve one session with SQLite each, so that it can be counted: see [`basecase_client::sqlite::serve_forked`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use basecase_client::sqlite::{File, ForkedFile, ForkedSessions, Meter, serve_forked};
use basecase_client::{Endpoint, Error};
use basecase_probe::{CounterEvent, InstructionCounter, PerfError, write_bare_program};
use basecase_server::Callgrind;

use crate::plan::{Candidate, InstructionMeter, Plan};

/// The command of this program that serves sessions with SQLite.
pub const SQLITE_SESSION: &str = "sqlite-session";

/// This program in a folder of counts, without what callgrind need not read.
const BARE_PROGRAM: &str = "basecase";

/// The sessions with SQLite of one start of each candidate: its library is loaded once, and each session is a child of the process that
/// did so. Another start has another such process, since addresses may be others there.
pub(super) struct SqliteSessions<'a> {
    plan: &'a Plan,
    meter: &'a InstructionMeter,
    /// The number of the start.
    number: u32,
    /// By the folder of their counts.
    started: Mutex<BTreeMap<PathBuf, Arc<ForkedSessions>>>,
}

impl<'a> SqliteSessions<'a> {
    /// Starts nothing yet.
    pub(super) fn new(plan: &'a Plan, meter: &'a InstructionMeter, number: u32) -> Self {
        SqliteSessions { plan, meter, number, started: Mutex::default() }
    }

    /// The number of the start.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Where a candidate's sessions leave their counts.
    pub(super) fn folder(&self, candidate: &Candidate) -> PathBuf {
        candidate.directory.join("counts").join(format!("sessions-{}", self.number))
    }

    /// Where sessions with a candidate's file are opened.
    ///
    /// # Errors
    /// When the process that serves them cannot be started.
    pub(super) fn endpoint(&self, candidate: &Candidate, file: &File) -> Result<Endpoint> {
        let folder = self.folder(candidate);
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = match started.get(&folder) {
            Some(sessions) => sessions.clone(),
            None => {
                let sessions = Arc::new(self.start(&folder, file)?);
                started.insert(folder, sessions.clone());
                sessions
            }
        };
        Ok(Endpoint::SqliteForked(ForkedFile { sessions, file: file.clone() }))
    }

    fn start(&self, folder: &Path, file: &File) -> Result<ForkedSessions> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let library = file.library.path().context("SQLite's library is not a file")?;
        let mut arguments = vec![OsString::from(SQLITE_SESSION), library.into()];
        Ok(match self.meter {
            InstructionMeter::Callgrind(callgrind) => self.under_callgrind(callgrind, folder, &arguments)?,
            InstructionMeter::Hardware(event) => {
                arguments.extend([event.name().into(), folder.into()]);
                ForkedSessions::start(&self.plan.program, &arguments)?
            }
        })
    }

    fn under_callgrind(
        &self,
        callgrind: &Callgrind,
        folder: &Path,
        arguments: &[OsString],
    ) -> Result<ForkedSessions> {
        let bare = folder.join(BARE_PROGRAM);
        // The whole program counts as much, and takes longer to start.
        let program = write_bare_program(&self.plan.program, &bare).map_or(&self.plan.program, |()| &bare);
        let mut command = Command::new(program);
        command.args(arguments);
        let (program, arguments) = callgrind.enclose(&command, folder, false);
        Ok(ForkedSessions::start(&program, &arguments)?)
    }
}

/// Takes what a process that has ended left of its count.
///
/// # Errors
/// When it left none, or could not count.
pub(super) fn count_of(folder: &Path, process: u32) -> Result<u64> {
    let path = file_of(folder, process);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    // The system may give the number to a later process.
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    text.parse().map_err(|_| anyhow!(text))
}

/// The file with the count of a process.
fn file_of(folder: &Path, process: u32) -> PathBuf {
    folder.join(process.to_string())
}

/// Serves sessions with SQLite, each in a child of this process: what a program does whose first argument is [`SQLITE_SESSION`].
/// `arguments` are those after it. Returns in each child as well. No other thread may run.
///
/// # Errors
/// When they are not those of basecase, the session is broken, or nothing can be counted.
pub fn serve_sqlite_session(arguments: impl Iterator<Item = OsString>) -> Result<()> {
    match &arguments.collect::<Vec<_>>()[..] {
        [library] => serve_forked(Path::new(library), || anyhow::Ok(())).map(drop),
        [library, event, folder] => {
            let event = event.to_str().and_then(CounterEvent::named);
            let event = event.context("the event to count is unknown")?;
            let counter = || anyhow::Ok(OwnCounter(InstructionCounter::of_this_thread(event)?));
            let served = serve_forked(Path::new(library), counter)?;
            served.map_or(Ok(()), |counter| counter.leave(Path::new(folder)))
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
        assert!(refused(&[]) && refused(&["/library"]) && refused(&["/library", "/tmp"]));
        assert!(refused(&["/library", "cycles", "/tmp"]) && refused(&["a", "b", "c", "d"]));
    }
}
