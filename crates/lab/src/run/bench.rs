//! Where candidates are brought up, measured and brought down: all that a run does not decide by itself.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use basecase_load::{Limits, Outcome, Progress};
use basecase_model::{CandidateFacts, Check, Measures, Observation, Place, State, Trial, TrialStatus};
use basecase_workload::StepPlan;

use super::deployment::Content;
use super::measure::profiling::ProfileOrder;
use super::rounds::interleaving::{Interleaved, RunningCandidate};
use crate::plan::{Candidate, Plan};
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

    /// Brings it down and leaves its data. Returns a note when it did not stop smoothly.
    fn stop(self) -> Option<String>;

    /// Brings it down and removes its data. Returns a note when it did not stop smoothly.
    ///
    /// # Errors
    /// When something of the data stays.
    fn discard(self) -> Result<Option<String>>;
}

/// A step of one candidate by itself.
pub(crate) struct Alone<'a> {
    pub(crate) number: usize,
    pub(crate) place: Place,
    /// How it is looked at.
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
    /// How long a candidate may work at most, where the usual time tells too little.
    pub(crate) most_work: Duration,
    /// The smallest change that matters, as a logarithm.
    pub(crate) margin: f64,
    /// How often it is looked whether the machine is quiet before it begins all the same.
    pub(crate) patience: &'a mut u32,
    pub(crate) limits: Limits<'a>,
}

/// Where candidates are brought up, measured and brought down. A run decides what is done when; nothing that follows here depends on
/// what was decided before but through the deployments and their data.
pub(crate) trait Bench {
    type Deployment: Deployment;

    /// The time that budgets are counted by.
    fn now(&self) -> Instant;

    /// Brings a candidate up in a directory. `None` when its content was to be found again, and nothing was left that could be.
    ///
    /// # Errors
    /// When it does not come up.
    fn open(
        &mut self,
        plan: &Plan,
        candidate: &Candidate,
        directory: &Path,
        content: Content<'_>,
    ) -> Result<Option<Self::Deployment>>;

    /// Removes what a finished candidate left when the run was cut short before it cleaned up.
    ///
    /// # Errors
    /// When something of it stays.
    fn sweep(&mut self, plan: &Plan, candidate: &Candidate) -> Result<()>;

    /// Lets the candidate's program be read anew, into other places of memory than the last time.
    fn forget(&mut self, candidate: &Candidate);

    /// Settles as the plan says. How it went, and what was left.
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
    /// When it cannot begin; what fails later is told in the outcome.
    fn execute(
        &mut self,
        plan: &Plan,
        deployment: &mut Self::Deployment,
        step_plan: StepPlan,
        limits: &Limits<'_>,
    ) -> Result<Outcome>;

    /// Measures a step. `begins` is called before the clock starts. `None` when the user stopped it.
    ///
    /// # Errors
    /// When it cannot begin; what fails later is told in the trial.
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
    /// Never for the sake of one candidate, whose failure is a trial.
    fn take_turns(
        &mut self,
        plan: &Plan,
        all_running: &mut [&mut RunningCandidate<Self::Deployment>],
        step: Together<'_>,
        begins: &mut dyn FnMut(Vec<Arc<Progress>>),
    ) -> Result<Option<Interleaved>>;
}
