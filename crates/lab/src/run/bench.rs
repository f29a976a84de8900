//! Where candidates are started, measured and stopped: everything that a run orders but does not do itself.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use basecase_load::{Limits, Progress, StepOutcome};
use basecase_model::{CandidateFacts, Check, Measures, Observation, Place, State, Trial, TrialStatus};
use basecase_workload::StepPlan;

use super::deployment::Content;
use super::measure::profiling::ProfileOrder;
use super::rounds::interleaving::{Interleaved, RunningCandidate};
use super::rounds::slice_scheduler::Experience;
use crate::plan::{Candidate, Plan};
use crate::request::Pin;
use crate::workload::WorkloadState;

/// One candidate while it is up.
pub(crate) trait Deployment {
    /// These facts of the candidate, completed by what it says of itself.
    ///
    /// # Errors
    /// When it is another version, or does not say.
    fn identify(&mut self, facts: &CandidateFacts) -> Result<CandidateFacts>;

    /// Whether the tables hold exactly what the workload says they do.
    ///
    /// # Errors
    /// When the dbms does not tell.
    fn holds(&mut self, workload_state: &mut dyn WorkloadState) -> Result<bool>;

    /// What the tables hold.
    ///
    /// # Errors
    /// When the dbms does not tell.
    fn state(&mut self, workload_state: &dyn WorkloadState, counts_rows: bool) -> Result<State>;

    /// Compares what the tables hold with what they must.
    ///
    /// # Errors
    /// When the dbms does not tell.
    fn compare(&mut self, workload_state: &mut dyn WorkloadState, state: &State) -> Result<Vec<Check>>;

    /// How a trial failed, with the end of the log.
    fn failure(&mut self, error: &anyhow::Error) -> TrialStatus;

    /// Stops it and leaves its data. Returns a note when it did not shut down cleanly.
    fn stop(self) -> Option<String>;

    /// Stops it and removes its data. Returns a note when it did not shut down cleanly.
    ///
    /// # Errors
    /// When some of the data cannot be removed.
    fn discard(self) -> Result<Option<String>>;
}

/// A step of one candidate by itself.
pub(crate) struct Alone<'a> {
    pub(crate) number: usize,
    pub(crate) place: Place,
    /// How it is observed.
    pub(crate) observation: Observation,
    pub(crate) profile: Option<&'a ProfileOrder>,
    pub(crate) limits: Limits<'a>,
}

/// A step in which candidates take turns.
pub(crate) struct Together<'a> {
    pub(crate) number: usize,
    /// Whether the servers have just been started.
    pub(crate) is_first: bool,
    pub(crate) round: u32,
    /// The longest that a candidate may work, where that tells more than another start.
    pub(crate) most_work: Duration,
    /// What the rounds before tell of this step, if there were enough of them.
    pub(crate) experience: Option<Experience>,
    /// How often the machine is polled for quiet before the step begins anyway.
    pub(crate) patience: &'a mut u32,
    pub(crate) limits: Limits<'a>,
}

/// Where candidates are started, measured and stopped. The run decides what happens when. Calls depend on earlier ones only through the
/// deployments and their data.
pub(crate) trait Bench {
    type Deployment: Deployment;

    /// The time that budgets are counted by.
    fn now(&self) -> Instant;

    /// Starts a candidate in a directory and on these processors. `None` when leftover content was wanted and nothing usable was left.
    ///
    /// # Errors
    /// When it does not come up.
    fn open(
        &mut self,
        plan: &Plan,
        candidate: &Candidate,
        directory: &Path,
        content: Content<'_>,
        pin: Pin,
    ) -> Result<Option<Self::Deployment>>;

    /// Removes what a finished candidate left if the run was interrupted before it cleaned up.
    ///
    /// # Errors
    /// When some of it cannot be removed.
    fn sweep(&mut self, plan: &Plan, candidate: &Candidate) -> Result<()>;

    /// Drops the candidate's program from the page cache, so that it is loaded at other memory addresses than the last time.
    fn forget(&mut self, candidate: &Candidate);

    /// Settles as the plan says. Returns how it went, and the debt that was left.
    ///
    /// # Errors
    /// When the dbms refuses or does not answer.
    fn settle(
        &mut self,
        plan: &Plan,
        deployment: &mut Self::Deployment,
        limits: &Limits<'_>,
    ) -> Result<Measures>;

    /// Executes a step that is not measured.
    ///
    /// # Errors
    /// When it cannot begin. A later failure is part of the outcome.
    fn execute(
        &mut self,
        deployment: &mut Self::Deployment,
        step_plan: StepPlan,
        limits: &Limits<'_>,
    ) -> Result<StepOutcome>;

    /// Measures a step. `begins` is called before the clock starts. `None` when the user stopped it.
    ///
    /// # Errors
    /// When it cannot begin. A later failure is part of the trial.
    fn measure(
        &mut self,
        plan: &Plan,
        candidate: &Candidate,
        deployment: &mut Self::Deployment,
        workload_state: &mut dyn WorkloadState,
        step: Alone<'_>,
        begins: &mut dyn FnMut(Arc<Progress>),
    ) -> Result<Option<Trial>>;

    /// Measures a step of several candidates in turns. `begins` is called before the clock starts. `None` when the user stopped it.
    ///
    /// # Errors
    /// Never because one candidate fails: that failure is a trial.
    fn take_turns(
        &mut self,
        plan: &Plan,
        all_running: &mut [&mut RunningCandidate<Self::Deployment>],
        step: Together<'_>,
        begins: &mut dyn FnMut(Vec<Arc<Progress>>),
    ) -> Result<Option<Interleaved>>;
}
