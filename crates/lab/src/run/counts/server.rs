//! A server whose sessions are counted.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use basecase_client::Endpoint;
use basecase_load::{SerialCounts, SerialGroup};
use basecase_model::{CandidateFacts, OperationClass};
use basecase_server::{callgrind_folder, copy_data_sparsely};

use super::callgrind::CallgrindTally;
use super::events::planned;
use super::hardware::HardwareTally;
use super::images::image_of;
use super::start::{Start, changes_rows};
use super::tally::{Counts, Tally};
use super::windows::SessionCount;
use crate::plan::InstructionMeter;
use crate::run::deployment::{Content, LiveDeployment};
use crate::run::measure::prepare;
use crate::run::rounds::images::remove_folder;

/// A session that has executed its events.
pub(super) struct Session {
    operations: u64,
    events: u64,
    /// The sessions that count, by the numbers that the tally has for them.
    numbers: Vec<u32>,
}

impl Session {
    /// What it did.
    pub(super) fn count(&self, counts: &Counts) -> Result<SessionCount> {
        counts.of(&self.numbers, self.operations, self.events)
    }
}

/// A server whose sessions are counted.
pub(super) struct Server {
    deployment: LiveDeployment,
    /// Where the sessions are opened that are counted.
    endpoint: Endpoint,
    directory: PathBuf,
    tally: Box<dyn Tally>,
}

impl Server {
    /// Starts the server on a copy of the step's image, and reads all pages of the tables.
    pub(super) fn start(start: &Start<'_>, step: usize) -> Result<Self> {
        let directory = start.directory();
        let image = image_of(start.plan, start.candidate(), start.number, step);
        let bring = || copy_data_sparsely(&image, &directory).map(drop);
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
        let (endpoint, library, folder) = match deployment.served.endpoint() {
            Endpoint::Sqlite(file) => (
                start.sessions.endpoint(start.candidate(), file)?,
                file.library.path().map(Path::to_path_buf),
                start.sessions.folder(start.candidate()),
            ),
            endpoint => (endpoint.clone(), None, callgrind_folder(&directory)),
        };
        let tally: Box<dyn Tally> = match start.meter {
            InstructionMeter::Callgrind(_) => Box::new(CallgrindTally::new(folder, dbms, library)),
            InstructionMeter::Hardware(event) => Box::new(HardwareTally::new(*event, folder)),
        };
        Ok(Server { deployment, endpoint, directory, tally })
    }

    /// Whether sessions have nothing in common but the data, because each of them is the dbms.
    pub(super) fn is_embedded(&self) -> bool {
        self.deployment.served.dbms().is_embedded()
    }

    /// Windows of a step in each start.
    pub(super) fn windows(&self) -> usize {
        self.tally.windows()
    }

    /// Executes so many events of a step in sessions of its own.
    pub(super) fn session(&mut self, start: &Start<'_>, step: usize, events: u64) -> Result<Session> {
        let facts = &start.plan.steps[step].facts;
        let (class, stop) = (facts.headline.class(), start.stop);
        let (done, numbers) = self.session_of(start, step, |group| Ok(group.run(events, class, stop)?))?;
        if done.events < events {
            bail!("{} ends after {} events, before the {events} of its window", facts.label, done.events);
        }
        let operations = match facts.headline_items {
            Some(items) => items * done.events,
            None => done.items,
        };
        Ok(Session { operations, events: done.events, numbers })
    }

    /// Executes events of a step in sessions of its own, as many as `work` wants. Returns what was done, and the numbers of the sessions that count.
    pub(super) fn session_of(
        &mut self,
        start: &Start<'_>,
        step: usize,
        work: impl FnOnce(&mut SerialGroup) -> Result<SerialCounts>,
    ) -> Result<(SerialCounts, Vec<u32>)> {
        let step_plan = planned(start.plan, start.candidate(), step)?;
        let class = start.plan.steps[step].facts.headline.class();
        prepare(&mut self.deployment, &step_plan)?;
        let LiveDeployment { served, control, tables, .. } = &mut self.deployment;
        if changes_rows(start.plan, step) {
            served.hold_purge(control.as_mut())?;
        }
        let mut group = SerialGroup::assemble(step_plan, &self.endpoint)?;
        if served.dbms().is_embedded() && step > 0 {
            for (_, session) in group.sessions() {
                tables.iter().try_for_each(|table| served.warm(session, table))?;
            }
        }
        // Writers in the background of queries are other work.
        let is_counted = |role| class != OperationClass::Query || role == class;
        let numbers = self.tally.begin(served.as_ref(), &mut group, &is_counted)?;
        let done = work(&mut group);
        let finished = self.tally.finish(group);
        // Of a session that failed there may be no count.
        let done = done?;
        finished?;
        if done.mismatches > 0 {
            bail!("{} replies were not as expected", done.mismatches);
        }
        Ok((done, numbers))
    }

    /// The candidate, completed by what the server reports. Asked after all sessions, so that none of them counts what it takes.
    pub(super) fn identify(&mut self, start: &Start<'_>) -> Result<CandidateFacts> {
        self.deployment.identify(&start.candidate().facts)
    }

    /// Stops the server and removes its data.
    pub(super) fn end(self) -> Result<Counts> {
        let Server { mut deployment, directory, tally, .. } = self;
        let ended = deployment.served.stop();
        // A server that was stopped by force has written no counts.
        let counts = match (tally.end(), ended) {
            (Err(error), Some(ended)) => return Err(error.context(ended)),
            (counts, _) => counts?,
        };
        drop(deployment);
        remove_folder(&directory)?;
        Ok(counts)
    }
}
