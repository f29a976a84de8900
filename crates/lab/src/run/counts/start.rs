//! One start of a candidate's server, and the sessions that are counted in it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use basecase_client::Endpoint;
use basecase_load::SerialGroup;
use basecase_model::{CandidateFacts, OperationClass, StepCount};
use basecase_server::copy_data_unsynced;

use super::callgrind::CallgrindTally;
use super::events::{Events, planned};
use super::hardware::HardwareTally;
use super::images::image_of;
use super::tally::{Counts, Tally};
use super::windows::{SessionCount, windows};
use crate::message::explain;
use crate::plan::{Candidate, InstructionMeter, Plan};
use crate::run::deployment::{Content, LiveDeployment};
use crate::run::measure::prepare;
use crate::run::rounds::images::remove_folder;

/// The starts of one candidate for some steps.
pub(super) struct Start<'a> {
    pub(super) plan: &'a Plan,
    pub(super) meter: &'a InstructionMeter,
    pub(super) candidate: usize,
    /// Which of the candidate's starts it is, from 0.
    pub(super) number: u32,
    /// The steps: several only if none changes rows.
    pub(super) steps: Vec<usize>,
    /// The events of the sessions, by step.
    pub(super) events: &'a BTreeMap<usize, Events>,
    pub(super) stop: &'a AtomicBool,
}

/// What the sessions of one step did, as far as they went.
type StepSessions = Result<Vec<Session>>;

/// A session that has executed its events.
struct Session {
    operations: u64,
    events: u64,
    /// The sessions that count, by the numbers that the tally has for them.
    numbers: Vec<u32>,
}

impl Session {
    /// What it did.
    fn count(&self, counts: &Counts) -> Result<SessionCount> {
        counts.of(&self.numbers, self.operations, self.events)
    }
}

/// What a start told.
pub(super) struct Told {
    /// The count of each step.
    pub(super) counts: Vec<StepCount>,
    /// The candidate, completed by what its server reports while it is counted; `None` if no server got through its sessions.
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
                let windows = server.tally.windows();
                // One window alone has to be as warm as can be.
                server.session(self, step, if windows == 1 { longer } else { shorter })?;
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
            let of = |session: &Session| session.count(&counts);
            sessions.chunks_exact(2).map(|pair| Ok([of(&pair[0])?, of(&pair[1])?])).collect()
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
            session?.count(&counts)
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
        if self.meter.callgrind().is_some_and(|callgrind| !callgrind.fixes_addresses()) {
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
            engine: self.meter.engine(),
            engine_version: self.meter.version(&self.plan.experiment.host),
            failure,
            operation: facts.headline.class(),
            windows: counted.0,
            functions: counted.1,
            warnings,
        }
    }
}

/// A server whose sessions are counted.
struct Server<'a> {
    deployment: LiveDeployment,
    /// Where the sessions are opened that are counted.
    endpoint: Endpoint,
    directory: PathBuf,
    tally: Box<dyn Tally + 'a>,
}

impl<'a> Server<'a> {
    /// Starts the server on a copy of the step's image, and reads all pages of the tables.
    fn start(start: &Start<'a>, step: usize) -> Result<Self> {
        let directory = start.directory();
        let image = image_of(start.plan, start.candidate(), step);
        let bring = || copy_data_unsynced(&image, &directory).map(drop);
        let opened = LiveDeployment::open_counted(
            start.plan,
            start.candidate(),
            &directory,
            Content::Brought(&bring),
            start.meter,
        )?;
        let mut deployment = opened.context("the data that was just copied is gone")?;
        let dbms = start.candidate().facts.build.dbms;
        // Before a load there are no tables.
        if step > 0 && !dbms.is_embedded() {
            deployment.warm()?;
        }
        let library = match deployment.served.endpoint() {
            Endpoint::Sqlite(file) => Some(file.library.path().context("SQLite's library is not a file")?),
            _ => None,
        };
        let program = &start.plan.program;
        let tally: Box<dyn Tally + 'a> = match start.meter {
            InstructionMeter::Callgrind(callgrind) => {
                Box::new(CallgrindTally::new(callgrind, program, &directory, dbms, library))
            }
            InstructionMeter::Hardware(event) => Box::new(HardwareTally::new(*event, program, &directory)),
        };
        let endpoint = tally.endpoint(deployment.served.endpoint())?;
        Ok(Server { deployment, endpoint, directory, tally })
    }

    /// Executes events of a step in sessions of its own.
    fn session(&mut self, start: &Start<'_>, step: usize, events: u64) -> Result<Session> {
        let step_plan = planned(start.plan, start.candidate(), step)?;
        let facts = &start.plan.steps[step].facts;
        let class = facts.headline.class();
        prepare(&mut self.deployment, &step_plan)?;
        let LiveDeployment { served, tables, .. } = &self.deployment;
        let mut group = SerialGroup::assemble(step_plan, &self.endpoint)?;
        if served.dbms().is_embedded() && step > 0 {
            for (_, session) in group.sessions() {
                tables.iter().try_for_each(|table| served.warm(session, table))?;
            }
        }
        // Writers in the background of queries are other work.
        let is_counted = |role| class != OperationClass::Query || role == class;
        let numbers = self.tally.begin(served.as_ref(), &mut group, &is_counted)?;
        let done = group.run(events, class, start.stop);
        let finished = self.tally.finish(group);
        // Of a session that failed there may be no count.
        let done = done?;
        finished?;
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

    /// The candidate, completed by what the server reports. Asked after all sessions, so that none of them counts what it takes.
    fn identify(&mut self, start: &Start<'_>) -> Result<CandidateFacts> {
        self.deployment.identify(&start.candidate().facts)
    }

    /// Stops the server and removes its data.
    fn end(self) -> Result<Counts> {
        let Server { mut deployment, directory, tally, .. } = self;
        deployment.served.stop();
        let counts = tally.end()?;
        drop(deployment);
        remove_folder(&directory)?;
        Ok(counts)
    }
}

/// Whether a step leaves other data than it begins with, so that each of its sessions needs a start of its own.
pub(super) fn changes_rows(plan: &Plan, step: usize) -> bool {
    plan.workload.is_chain() || plan.steps[step].facts.writes
}
