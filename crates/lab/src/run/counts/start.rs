//! One start of a candidate's server under callgrind, and the sessions that are counted in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use basecase_client::Endpoint;
use basecase_client::sqlite::{File, SessionProcess};
use basecase_load::SerialGroup;
use basecase_model::{CandidateFacts, CountEngine, OperationClass, StepCount};
use basecase_probe::{CallgrindProfile, CountedPart};
use basecase_server::{
    Callgrind, callgrind_file_of, callgrind_files, callgrind_folder, copy_data_unsynced, is_command, is_mark,
};

use super::events::{Events, planned};
use super::images::image_of;
use super::windows::{SessionCount, windows};
use crate::message::explain;
use crate::plan::{Candidate, Plan};
use crate::run::deployment::{Content, LiveDeployment};
use crate::run::measure::prepare;
use crate::run::rounds::images::remove_folder;

/// Windows of a step in each start, where sessions are processes.
const WINDOWS: usize = 2;
/// The same where they are threads, which stay open until the server ends.
const WINDOWS_OF_THREADS: usize = 1;
/// The most steps of a start, where sessions are threads: with the session before its window, a step has three, and InnoDB of MySQL 8.0
/// spends 70 million instructions on every sixteenth session that is open at once (`trx_allocate_for_mysql`).
pub(super) const MOST_STEPS_OF_THREADS: usize = 4;

/// The starts of one candidate for some steps.
pub(super) struct Start<'a> {
    pub(super) plan: &'a Plan,
    pub(super) callgrind: &'a Callgrind,
    pub(super) candidate: usize,
    /// Which of the candidate's starts it is, from 0.
    pub(super) number: u32,
    /// The steps: several only if none changes rows.
    pub(super) steps: Vec<usize>,
    /// The events of the sessions, by step.
    pub(super) events: &'a BTreeMap<usize, Events>,
    pub(super) stop: &'a AtomicBool,
}

/// The command of this program that serves one session with SQLite, see [`basecase_client::sqlite::serve`].
pub const SQLITE_SESSION: &str = "sqlite-session";

/// What the sessions of one step did, as far as they went.
type StepSessions = Result<Vec<Session>>;

/// A session that has executed its events.
struct Session {
    operations: u64,
    events: u64,
    /// What the dbms calls the sessions that count.
    numbers: Vec<u32>,
}

/// What a start told.
pub(super) struct Told {
    /// The count of each step.
    pub(super) counts: Vec<StepCount>,
    /// The candidate, completed by what its server under callgrind reports; `None` if no server got through its sessions.
    pub(super) facts: Option<CandidateFacts>,
}

impl Start<'_> {
    /// Counts the steps. One that fails says why in its count.
    pub(super) fn count(&self) -> Told {
        let started_at = jiff::Timestamp::now().to_string();
        let mut facts = None;
        let counted = if self.steps.iter().any(|step| changes_rows(self.plan, *step)) {
            self.in_starts_of_their_own(&mut facts)
        } else {
            self.in_one_start(&mut facts)
        };
        let results = match counted {
            Ok(results) => results,
            Err(error) => {
                let reason = explain(&error);
                self.steps.iter().map(|_| Err(anyhow::anyhow!(reason.clone()))).collect()
            }
        };
        let counts = self.steps.iter().zip(results);
        let counts = counts.map(|(&step, pairs)| self.step_count(step, &started_at, pairs)).collect();
        Told { counts, facts }
    }

    fn candidate(&self) -> &Candidate {
        &self.plan.candidates[self.candidate]
    }

    /// The directory of the server: of each start its own, because several run at once.
    fn directory(&self) -> PathBuf {
        let steps = self.steps.first().copied().unwrap_or(0);
        self.candidate().directory.join("counts").join(format!("start-{}-{steps}", self.number))
    }

    /// Two windows of each step, one step after the other. Before them, a session of the same statements fills the caches.
    fn in_one_start(
        &self,
        facts: &mut Option<CandidateFacts>,
    ) -> Result<Vec<Result<Vec<[SessionCount; 2]>>>> {
        let mut server = Server::start(self, self.steps[0])?;
        let sessions: Vec<StepSessions> = self
            .steps
            .iter()
            .map(|&step| {
                let Events { shorter, longer } = self.events_of(step)?;
                // Threads have one window for each start, so theirs has to be as warm as can be.
                server.session(self, step, if server.has_threads { longer } else { shorter })?;
                let windows = if server.has_threads { WINDOWS_OF_THREADS } else { WINDOWS };
                let lengths = [shorter, longer].into_iter().cycle().take(2 * windows);
                lengths.map(|events| server.session(self, step, events)).collect()
            })
            .collect();
        // After a failure the server may be gone, and the failure is what the user must be told.
        if sessions.iter().all(Result::is_ok) {
            *facts = Some(server.identify(self)?);
        }
        let counts = server.end()?;
        let pairs = |sessions: Vec<Session>| -> Result<Vec<[SessionCount; 2]>> {
            sessions.chunks_exact(2).map(|pair| Ok([counts.of(&pair[0])?, counts.of(&pair[1])?])).collect()
        };
        Ok(sessions.into_iter().map(|sessions| sessions.and_then(pairs)).collect())
    }

    /// One window of each step. Both of its sessions begin with the same data, each in a start of its own.
    fn in_starts_of_their_own(
        &self,
        facts: &mut Option<CandidateFacts>,
    ) -> Result<Vec<Result<Vec<[SessionCount; 2]>>>> {
        let mut alone = |step: usize, events: u64| -> Result<SessionCount> {
            let mut server = Server::start(self, step)?;
            let session = server.session(self, step, events);
            if session.is_ok() && facts.is_none() {
                *facts = Some(server.identify(self)?);
            }
            let counts = server.end()?;
            counts.of(&session?)
        };
        let pair = |&step: &usize| {
            let Events { shorter, longer } = self.events_of(step)?;
            Ok(vec![[alone(step, shorter)?, alone(step, longer)?]])
        };
        Ok(self.steps.iter().map(pair).collect())
    }

    fn events_of(&self, step: usize) -> Result<Events> {
        self.events.get(&step).copied().context("it was not found out how long an event takes")
    }

    fn step_count(&self, step: usize, started_at: &str, pairs: Result<Vec<[SessionCount; 2]>>) -> StepCount {
        let facts = &self.plan.steps[step].facts;
        let counted = pairs.and_then(|pairs| {
            windows(&pairs).with_context(|| {
                format!("{} ends too soon for a window\nhint: give it more rows", facts.label)
            })
        });
        let (counted, failure) = match counted {
            Ok(counted) => (counted, None),
            Err(error) => (Default::default(), Some(explain(&error))),
        };
        let mut warnings = Vec::new();
        if !self.callgrind.fixes_addresses() {
            warnings.push(
                "addresses were randomised, because this process may not prevent it: counts scatter more"
                    .to_owned(),
            );
        }
        StepCount {
            cell: self.candidate().cells[step].key(),
            step: facts.name.clone(),
            candidate: self.candidate().facts.name.to_string(),
            start: self.number,
            started_at: started_at.to_owned(),
            engine: CountEngine::Callgrind,
            engine_version: self.callgrind.version().to_owned(),
            failure,
            operation: facts.headline.class(),
            windows: counted.0,
            functions: counted.1,
            warnings,
        }
    }
}

/// A server under callgrind.
struct Server {
    deployment: LiveDeployment,
    /// Where the sessions are opened that are counted.
    endpoint: Endpoint,
    directory: PathBuf,
    /// Whether sessions are threads of the server rather than processes.
    has_threads: bool,
    /// Sessions that are threads, with all that were begun besides them: a thread that ended would share its number with a later one.
    open: Vec<SerialGroup>,
    /// What the dbms calls the sessions that are counted; a thread bears the place of its session here, from 1, as its mark.
    numbers: Vec<u32>,
    counts: Counts,
}

/// What each session did, by the number that the dbms gives it.
#[derive(Default)]
struct Counts(BTreeMap<u32, SessionCount>);

impl Counts {
    /// The sum over the parts of a session.
    fn of(&self, session: &Session) -> Result<SessionCount> {
        let mut sum = SessionCount::of(session.operations, session.events);
        for number in &session.numbers {
            sum.merge(self.0.get(number).context("callgrind did not count the session")?);
        }
        Ok(sum)
    }
}

impl Server {
    /// Starts the server on a copy of the step's image, and reads all pages of the tables.
    fn start(start: &Start<'_>, step: usize) -> Result<Self> {
        let directory = start.directory();
        let image = image_of(start.plan, start.candidate(), step);
        let bring = || copy_data_unsynced(&image, &directory).map(drop);
        let opened = LiveDeployment::open_counted(
            start.plan,
            start.candidate(),
            &directory,
            Content::Brought(&bring),
            start.callgrind,
        )?;
        let mut deployment = opened.context("the data that was just copied is gone")?;
        let dbms = start.candidate().facts.build.dbms;
        // Before a load there are no tables.
        if step > 0 && !dbms.is_embedded() {
            deployment.warm()?;
        }
        let has_threads = dbms.has_threads();
        let endpoint = match deployment.served.endpoint() {
            Endpoint::Sqlite(file) => {
                Endpoint::SqliteProcess(session_process(file.clone(), start.callgrind, &directory)?)
            }
            endpoint => endpoint.clone(),
        };
        let counts = Counts::default();
        let (open, numbers) = Default::default();
        Ok(Server { deployment, endpoint, directory, has_threads, open, numbers, counts })
    }

    /// Executes events of a step in sessions of its own.
    fn session(&mut self, start: &Start<'_>, step: usize, events: u64) -> Result<Session> {
        let step_plan = planned(start.plan, start.candidate(), step)?;
        let facts = &start.plan.steps[step].facts;
        let class = facts.headline.class();
        prepare(&mut self.deployment, &step_plan)?;
        let LiveDeployment { served, tables, .. } = &self.deployment;
        let mut group = SerialGroup::assemble(step_plan, &self.endpoint)?;
        let (mut all, mut numbers) = (Vec::new(), Vec::new());
        let is_embedded = served.dbms().is_embedded();
        for (role, session) in group.sessions() {
            if is_embedded && step > 0 {
                tables.iter().try_for_each(|table| served.warm(session, table))?;
            }
            let number = served.session_number(session)?.context("the dbms does not number its sessions")?;
            self.numbers.push(number);
            served.mark(session, self.numbers.len())?;
            all.push(number);
            // Writers in the background of queries are other work.
            if class != OperationClass::Query || role == class {
                numbers.push(number);
            }
        }
        if !self.has_threads {
            all.iter().enumerate().for_each(|(role, process)| group.pace(role, *process));
        }
        let done = group.run(events, class, start.stop);
        self.keep(group, &numbers)?;
        let done = done?;
        if done.events < events {
            bail!("{} ends after {} events, before the {events} of its window", facts.label, done.events);
        }
        if done.mismatches > 0 {
            bail!("{} replies were not as expected", done.mismatches);
        }
        let operations = match facts.headline_items {
            Some(items) => items * done.events,
            None => done.items,
        };
        Ok(Session { operations, events: done.events, numbers })
    }

    /// Ends sessions that are processes, and reads what they did. Keeps those that are threads.
    fn keep(&mut self, group: SerialGroup, numbers: &[u32]) -> Result<()> {
        if self.has_threads {
            self.open.push(group);
            return Ok(());
        }
        drop(group);
        let folder = callgrind_folder(&self.directory);
        for &number in numbers {
            let profile = CallgrindProfile::read(&callgrind_file_of(&folder, number)?)?;
            let mut count = SessionCount::default();
            // SQLite's client is in the same process.
            match &self.endpoint {
                Endpoint::SqliteProcess(process) => {
                    let library = process.file.library.path().context("SQLite's library is not a file")?;
                    count.add_part(&profile.within_object(library));
                }
                _ => count.add(&profile),
            }
            count.subtract_part(&profile.within_function(is_by_the_clock));
            self.counts.0.insert(number, count);
        }
        Ok(())
    }

    /// The candidate, completed by what the server reports. Asked after all sessions, so that none of them counts what it takes.
    fn identify(&mut self, start: &Start<'_>) -> Result<CandidateFacts> {
        self.deployment.identify(&start.candidate().facts)
    }

    /// Stops the server and removes its data.
    fn end(self) -> Result<Counts> {
        let Server { mut deployment, directory, has_threads, open, numbers, mut counts, .. } = self;
        deployment.served.stop();
        if has_threads {
            let files = callgrind_files(&callgrind_folder(&directory));
            counts.0 = threads(
                &numbers,
                files.into_iter().filter(|((_, thread), _)| *thread > 0).map(|(_, path)| path),
            )?;
        }
        drop((open, deployment));
        remove_folder(&directory)?;
        Ok(counts)
    }
}

/// Whether a step leaves other data than it begins with, so that each of its sessions needs a start of its own.
pub(super) fn changes_rows(plan: &Plan, step: usize) -> bool {
    plan.workload.is_chain() || plan.steps[step].facts.writes
}

/// A process under callgrind for each session with SQLite.
fn session_process(file: File, callgrind: &Callgrind, directory: &Path) -> Result<SessionProcess> {
    let folder = callgrind_folder(directory);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut command =
        Command::new(std::env::current_exe().context("this program does not know its own file")?);
    command.arg(SQLITE_SESSION);
    let (program, arguments) = callgrind.enclose(&command, &folder, false);
    Ok(SessionProcess { program, arguments, file })
}

/// What each session did that is a thread: the part of its commands, because a thread also begins and ends. `numbers` are the sessions
/// with a mark, which rises; `files` are those of all threads. Numbers of threads say nothing: one that ended leaves its own to another.
fn threads(numbers: &[u32], files: impl Iterator<Item = PathBuf>) -> Result<BTreeMap<u32, SessionCount>> {
    let mut sessions: BTreeMap<u64, CountedPart> = BTreeMap::new();
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
