//! One candidate while it is up: started, found again after a crash, or the user's own.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use basecase_builds::Build;
use basecase_client::{Endpoint, Session};
use basecase_model::{CandidateFacts, Check, Measures, State, TableState, TrialStatus, names};
use basecase_probe::{Target, Watch};
use basecase_process::Owner;
use basecase_server::{
    Config, Debt, Depth, Instance, InstanceError, InstanceSpec, Served, SqliteServer, TableCheck, Transport,
    debt, drain, of_instance, of_url,
};

use crate::checks;
use crate::message::explain;
use crate::plan::complete;
use crate::plan::{Candidate, InstructionMeter, Plan, Source};
use crate::request::Pin;
use crate::workload::WorkloadState;

/// How long a server may take to get ready.
const START_PATIENCE: Duration = Duration::from_secs(600);
/// The same on data that an interrupted run left: after a crash the server recovers first.
const RECOVERY_PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// Lines of the server's log that a failed trial keeps.
const LOG_LINES: usize = 40;

/// One candidate while it is up.
pub(crate) struct LiveDeployment {
    pub(crate) served: Box<dyn Served>,
    pub(crate) control: Box<dyn Session>,
    pub(crate) watch: Watch,
    pub(crate) pin: Pin,
    pub(crate) tables: Vec<String>,
    /// Sessions that write at once, at most.
    writers: usize,
}

/// What a candidate's directory is to hold.
pub(crate) enum Content<'a> {
    /// Begin with nothing.
    Fresh,
    /// Find again what an interrupted run left.
    Left,
    /// What this puts there, while no server runs in the directory.
    Brought(&'a dyn Fn() -> Result<(), InstanceError>),
}

impl Content<'_> {
    pub(crate) fn is_fresh(&self) -> bool {
        matches!(self, Content::Fresh)
    }

    fn patience(&self) -> Duration {
        if matches!(self, Content::Left) { RECOVERY_PATIENCE } else { START_PATIENCE }
    }

    pub(crate) fn bring(&self) -> Result<(), InstanceError> {
        if let Content::Brought(bring) = self { bring() } else { Ok(()) }
    }
}

impl LiveDeployment {
    /// Starts a candidate in a directory and on these processors. `None` when leftover content was wanted and nothing usable was left.
    pub(crate) fn open(
        plan: &Plan,
        candidate: &Candidate,
        directory: &Path,
        content: Content<'_>,
        pin: Pin,
    ) -> Result<Option<LiveDeployment>> {
        Self::open_with(plan, candidate, directory, content, pin, None)
    }

    /// [`LiveDeployment::open`] with a server whose instructions are counted, by `meter`.
    pub(crate) fn open_counted(
        plan: &Plan,
        candidate: &Candidate,
        directory: &Path,
        content: Content<'_>,
        meter: &InstructionMeter,
    ) -> Result<Option<LiveDeployment>> {
        // The work is the same on any processor, and several starts work side by side.
        Self::open_with(plan, candidate, directory, content, Pin::default(), Some(meter))
    }

    fn open_with(
        plan: &Plan,
        candidate: &Candidate,
        directory: &Path,
        content: Content<'_>,
        pin: Pin,
        meter: Option<&InstructionMeter>,
    ) -> Result<Option<LiveDeployment>> {
        let served: Box<dyn Served> = match &candidate.source {
            Source::Build(build, config) => {
                let mut instance = instance(plan, candidate, build, config, directory)?;
                instance.confine(pin.server.clone());
                if let Some(meter) = meter {
                    instance.count_instructions(meter.callgrind().cloned());
                }
                content.bring()?;
                if content.is_fresh() {
                    instance.initialise()?;
                } else if !instance.is_initialised()? {
                    return Ok(None);
                }
                instance.start(content.patience())?;
                let Some(server) = of_instance(instance, content.is_fresh())? else {
                    return Ok(None);
                };
                server
            }
            Source::Embedded(_, config) => {
                let library = candidate.source.library().context("SQLite has a library")?;
                let mut server = SqliteServer::open(directory, library, config, owner(plan, candidate))?;
                content.bring()?;
                if content.is_fresh() {
                    server.initialise()?;
                } else if !server.is_initialised()? {
                    return Ok(None);
                }
                Box::new(server)
            }
            Source::Url(endpoint) => {
                of_url(endpoint.clone(), candidate.facts.engine)?.context("a URL names a server")?
            }
        };
        let control = connect(served.endpoint())?;
        let watch = Watch::new(Target {
            device: plan.device.clone(),
            server: served.pid(),
            group: served.group_counts(),
        });
        let mut deployment = LiveDeployment {
            served,
            control,
            watch,
            pin,
            tables: plan.workload.tables(),
            writers: plan.workload.clients() as usize,
        };
        deployment.catch_up()?;
        Ok(Some(deployment))
    }

    /// Whether the tables hold exactly what the workload says they do. A missing table does not.
    ///
    /// # Errors
    /// When the dbms does not tell.
    pub(crate) fn holds(&mut self, workload_state: &mut dyn WorkloadState) -> Result<bool> {
        match self.state(workload_state, true).and_then(|state| self.compare(workload_state, &state)) {
            Ok(checks) => Ok(checks::failures(&checks).is_empty()),
            Err(error) if error.downcast_ref().is_some_and(basecase_client::Error::is_absence) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// These facts of the candidate, completed by what the running server reports. A server of another version is refused.
    pub(crate) fn identify(&mut self, facts: &CandidateFacts) -> Result<CandidateFacts> {
        let report = self.served.report(self.control.as_mut())?;
        let mut facts = facts.clone();
        let build = &mut facts.build;
        if !build.version.is_empty() && build.version != report.version {
            bail!(
                "{} should be version {}, but the running server says {}\nhint: the build's files were changed; remove its folder and get it again",
                build.requested,
                build.version,
                report.version
            );
        }
        complete(build, report);
        facts.running = self.served.settings(self.control.as_mut())?;
        Ok(facts)
    }

    /// How a trial failed. That the server was killed for memory says more than what its clients saw.
    pub(crate) fn failure(&mut self, error: &anyhow::Error) -> TrialStatus {
        let reason = match self.served.killed_for_memory() {
            Some(killed) => killed.to_string(),
            None => explain(error),
        };
        TrialStatus::Failed { reason, log_tail: self.served.log_tail(LOG_LINES) }
    }

    /// The server's own counters.
    pub(crate) fn statistics(&mut self) -> Result<Measures> {
        Ok(self.served.statistics(self.control.as_mut(), &self.tables, self.writers)?)
    }

    /// Waits until the server's own counters hold that the control session began, and what ended sessions did.
    pub(crate) fn catch_up(&mut self) -> Result<()> {
        Ok(self.served.catch_up(self.control.as_mut())?)
    }

    /// The server's debt.
    pub(crate) fn debt(&mut self) -> Result<Debt> {
        Ok(debt(self.served.as_ref(), self.control.as_mut(), &self.tables)?)
    }

    /// Pays the server's debt. Returns what that took, or nothing if the debt was not paid in time.
    pub(crate) fn drain(&mut self, stop: &AtomicBool) -> Result<Measures> {
        let before = self.watch.snapshot();
        let seconds = drain(self.served.as_ref(), self.control.as_mut(), &self.tables, stop)?;
        let used = self.watch.snapshot().since(&before);
        let mut measures = Measures::new();
        if let Some(seconds) = seconds {
            measures.set(names::DRAIN_SECONDS, seconds);
            if let Some(cpu_us) = used.get(names::SERVER_CPU_US) {
                measures.set(names::DRAIN_SERVER_CPU_US, cpu_us);
            }
        }
        Ok(measures)
    }

    /// All counters and levels that the server reports.
    pub(crate) fn telemetry(&mut self) -> Result<Measures> {
        Ok(self.served.telemetry().read(self.control.as_mut())?)
    }

    /// What the server counted from one reading to another, and its levels at the end.
    pub(crate) fn counters_and_levels(&self, start: &Measures, end: &Measures) -> (Measures, Measures) {
        let telemetry = self.served.telemetry();
        let (mut counters, mut levels) = (Measures::new(), Measures::new());
        for (name, added) in end.since(start).iter() {
            match end.get(name).filter(|_| telemetry.is_level(name)) {
                Some(level) => levels.set(name, level),
                // What did not move says nothing, and there are hundreds.
                None if added == 0.0 && !name.starts_with(names::SERVER_PREFIX) => {}
                None => counters.set(name, added),
            }
        }
        (counters, levels)
    }

    /// What the tables hold. Rows are counted only where the plan says so.
    pub(crate) fn state(&mut self, workload_state: &dyn WorkloadState, counts_rows: bool) -> Result<State> {
        let mut tables: Vec<TableState> = Vec::new();
        for table in workload_state.tables() {
            tables.push(self.served.table(
                self.control.as_mut(),
                TableCheck {
                    table: &table.name,
                    key: table.key.as_deref(),
                    depth: if counts_rows { Depth::Full } else { Depth::From(table.least_id) },
                    asks_last_value: table.has_last_value,
                },
            )?);
        }
        Ok(State { tables })
    }

    /// Compares the tables' rows and indexes with what is expected. Rows alone do not suffice: an interrupted index build leaves them all in
    /// place.
    pub(crate) fn compare(
        &mut self,
        workload_state: &mut dyn WorkloadState,
        state: &State,
    ) -> Result<Vec<Check>> {
        let mut checks = workload_state.check_state(state);
        for table in workload_state.tables() {
            let present = self.served.secondary_indexes(self.control.as_mut(), &table.name)?;
            checks.push(Check::equal(
                format!("{} secondary indexes", table.name),
                &table.secondary_indexes,
                &present,
            ));
        }
        Ok(checks)
    }

    /// Reads all pages of the tables, so that they are in the cache.
    pub(crate) fn warm(&mut self) -> Result<()> {
        for table in &self.tables {
            self.served.warm(self.control.as_mut(), table)?;
        }
        Ok(())
    }

    /// Stops the candidate and leaves its data. Returns a note when the server did not shut down cleanly.
    pub(crate) fn shut_down(self) -> Option<String> {
        let LiveDeployment { mut served, control, .. } = self;
        drop(control);
        served.stop()
    }

    /// Stops the candidate and removes its data. Returns a note when the server did not shut down cleanly.
    pub(crate) fn discard(self) -> Result<Option<String>> {
        let LiveDeployment { served, control, tables, .. } = self;
        Ok(served.discard(control, &tables)?)
    }
}

/// Removes what a finished candidate left if the run was interrupted before it cleaned up. A server that is still running is stopped.
pub(crate) fn sweep(plan: &Plan, candidate: &Candidate) -> Result<()> {
    if !candidate.directory.exists() {
        return Ok(());
    }
    match &candidate.source {
        Source::Build(build, config) => {
            instance(plan, candidate, build, config, &candidate.directory)?.destroy()?;
        }
        Source::Embedded(_, config) => {
            let library = candidate.source.library().context("SQLite has a library")?;
            SqliteServer::open(&candidate.directory, library, config, owner(plan, candidate))?.destroy()?;
        }
        Source::Url(_) => {}
    }
    Ok(())
}

fn instance(
    plan: &Plan,
    candidate: &Candidate,
    build: &Build,
    config: &Config,
    directory: &Path,
) -> Result<Instance> {
    let mut instance = Instance::open(InstanceSpec {
        build: build.clone(),
        engine: candidate.facts.engine,
        config: config.clone(),
        directory: directory.to_path_buf(),
        transport: plan.transport.unwrap_or(Transport::published(build.facts.dbms)),
        owner: owner(plan, candidate),
    })?;
    if let Some((groups, bytes)) = plan.groups.clone().zip(candidate.facts.memory_limit_bytes) {
        instance.limit_memory(groups, bytes);
    }
    if let Some((plant, library)) = &candidate.plant {
        instance.plant(*plant, library);
    }
    Ok(instance)
}

fn owner(plan: &Plan, candidate: &Candidate) -> Owner {
    Owner { experiment: plan.experiment.id.clone(), candidate: candidate.facts.name.to_string() }
}

fn connect(endpoint: &Endpoint) -> Result<Box<dyn Session>> {
    endpoint.connect().context("the server is ready but its database cannot be reached")
}
