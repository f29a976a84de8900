//! Sessions that callgrind counts: in the end it writes what each process, or each thread of a server with threads, has done.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use basecase_load::SerialGroup;
use basecase_model::{Dbms, OperationClass};
use basecase_probe::{CallgrindProfile, CountedPart};
use basecase_server::{Served, callgrind_file_of, callgrind_files, is_command, is_mark};

use super::tally::{Counts, Tally};
use super::windows::SessionCount;

/// Windows of a step in each start of a server whose sessions are processes.
const WINDOWS: usize = 2;
/// The same where they are threads, which stay open until the server ends, and where each of them is the dbms itself: such sessions have
/// nothing in common that another start would not have, too.
const ONE_WINDOW: usize = 1;

/// The sessions of one start, which callgrind counts.
pub(super) struct CallgrindTally {
    /// The folder of callgrind's files.
    folder: PathBuf,
    /// Whether sessions are threads of the server rather than processes.
    has_threads: bool,
    /// SQLite's library, where the client is in the same process.
    library: Option<PathBuf>,
    /// Sessions that are threads, with all that were begun besides them: a thread that ended would share its number with a later one.
    open: Vec<SerialGroup>,
    /// The sessions whose numbers are marked: the place here, from 1, is the mark that a thread bears.
    numbers: Vec<u32>,
    /// The counted sessions that began last.
    latest: Vec<u32>,
    counts: Counts,
}

impl CallgrindTally {
    /// Of no sessions yet. Callgrind's files are in `folder`; `library` is that of SQLite.
    pub(super) fn new(folder: PathBuf, dbms: Dbms, library: Option<PathBuf>) -> Self {
        CallgrindTally {
            folder,
            has_threads: dbms.has_threads(),
            library,
            open: Vec::new(),
            numbers: Vec::new(),
            latest: Vec::new(),
            counts: Counts::default(),
        }
    }
}

impl Tally for CallgrindTally {
    fn windows(&self) -> usize {
        if self.has_threads || self.library.is_some() { ONE_WINDOW } else { WINDOWS }
    }

    fn begin(
        &mut self,
        served: &dyn Served,
        group: &mut SerialGroup,
        is_counted: &dyn Fn(OperationClass) -> bool,
    ) -> Result<Vec<u32>> {
        let mut all = Vec::new();
        self.latest.clear();
        for (role, session) in group.sessions() {
            let number = served.session_number(session)?.context("the dbms does not number its sessions")?;
            self.numbers.push(number);
            served.mark(session, self.numbers.len())?;
            all.push(number);
            if is_counted(role) {
                self.latest.push(number);
            }
        }
        if !self.has_threads {
            all.iter().enumerate().for_each(|(role, process)| group.pace(role, *process));
        }
        Ok(self.latest.clone())
    }

    /// Ends sessions that are processes, and reads what they did. Keeps those that are threads.
    fn finish(&mut self, group: SerialGroup) -> Result<()> {
        if self.has_threads {
            self.open.push(group);
            return Ok(());
        }
        drop(group);
        for number in self.latest.drain(..) {
            let file = callgrind_file_of(&self.folder, number)?;
            let profile = CallgrindProfile::read(&file)?;
            // The system may give the number to a later process.
            std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
            let mut count = SessionCount::default();
            match &self.library {
                Some(library) => count.add_part(&profile.within_object(library)),
                None => count.add(&profile),
            }
            count.subtract_part(&profile.within_function(is_by_the_clock));
            self.counts.0.insert(number, count);
        }
        Ok(())
    }

    fn end(mut self: Box<Self>) -> Result<Counts> {
        if self.has_threads {
            let files = callgrind_files(&self.folder).into_iter();
            let files = files.filter(|((_, thread), _)| *thread > 0).map(|(_, path)| path);
            self.counts.0 = threads(&self.numbers, files)?;
        }
        Ok(std::mem::take(&mut self.counts))
    }
}

/// What each session did that is a thread: the part of its commands, because a thread also begins and ends. `numbers` are the sessions
/// with a mark, which rises; `files` are those of all threads. Numbers of threads say nothing: one that ended leaves its own to another.
fn threads(numbers: &[u32], files: impl Iterator<Item = PathBuf>) -> Result<BTreeMap<u32, SessionCount>> {
    let mut sessions: BTreeMap<u64, CountedPart> = BTreeMap::new();
    let mut files = files.peekable();
    if files.peek().is_none() {
        bail!(
            "callgrind wrote no counts: the server did not end as it should\nhint: the same command tries it again"
        );
    }
    for path in files {
        let profile = CallgrindProfile::read(&path)?;
        let mark = profile.within_function(is_mark).calls;
        if mark > 0 {
            sessions.insert(mark, profile.within_function(is_command));
        }
    }
    if sessions.len() != numbers.len() || sessions.values().any(|part| part.calls == 0) {
        bail!(
            "callgrind knows {} threads with a mark, and there were {} sessions\nhint: the build's symbols may be stripped: dispatch_command and Item_func_crc32::val_int are looked for",
            sessions.len(),
            numbers.len()
        );
    }
    let count = |part: &CountedPart| {
        let mut count = SessionCount::default();
        count.add_part(part);
        count
    };
    Ok(numbers.iter().copied().zip(sessions.values().map(count)).collect())
}

/// Whether a function works when a time has passed, and not for an operation: Postgres reports its statistics each second.
fn is_by_the_clock(name: &str) -> bool {
    name == "pgstat_report_stat"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_wrote_no_counts_is_not_said_to_lack_symbols() {
        let error = threads(&[7], std::iter::empty()).unwrap_err().to_string();
        assert!(error.starts_with("callgrind wrote no counts"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("callgrind.out.1-01");
        std::fs::write(&file, "events: Ir\nfn=(1) other\n1 5\n").unwrap();
        let error = threads(&[7], [file].into_iter()).unwrap_err().to_string();
        assert!(error.starts_with("callgrind knows 0 threads with a mark"), "{error}");
    }
}
