//! The bench that there is outside of tests: servers on this machine, and the embedded database.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use basecase_load::{Limits, Progress, StepOutcome};
use basecase_model::{CandidateFacts, Check, Measures, State, Trial, TrialStatus};
use basecase_workload::StepPlan;

use super::bench::{Alone, Bench, Deployment, Together};
use super::deployment::{self, Content, LiveDeployment};
use super::measure::settling::settle_deployment;
use super::measure::{assemble, measure, prepare};
use super::rounds::interleaving::{Interleaved, RunningCandidate, interleave_step};
use crate::plan::{Candidate, Plan, Source};
use crate::request::Pin;
use crate::workload::WorkloadState;

/// Servers on this machine, and the embedded database.
pub(crate) struct Servers;

impl Deployment for LiveDeployment {
    fn identify(&mut self, facts: &CandidateFacts) -> Result<CandidateFacts> {
        LiveDeployment::identify(self, facts)
    }

    fn holds(&mut self, workload_state: &mut dyn WorkloadState) -> Result<bool> {
        LiveDeployment::holds(self, workload_state)
    }

    fn state(&mut self, workload_state: &dyn WorkloadState, counts_rows: bool) -> Result<State> {
        LiveDeployment::state(self, workload_state, counts_rows)
    }

    fn compare(&mut self, workload_state: &mut dyn WorkloadState, state: &State) -> Result<Vec<Check>> {
        LiveDeployment::compare(self, workload_state, state)
    }

    fn failure(&mut self, error: &anyhow::Error) -> TrialStatus {
        LiveDeployment::failure(self, error)
    }

    fn stop(self) -> Option<String> {
        self.shut_down()
    }

    fn discard(self) -> Result<Option<String>> {
        LiveDeployment::discard(self)
    }
}

impl Bench for Servers {
    type Deployment = LiveDeployment;

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn open(
        &mut self,
        plan: &Plan,
        candidate: &Candidate,
        directory: &Path,
        content: Content<'_>,
        pin: Pin,
    ) -> Result<Option<LiveDeployment>> {
        LiveDeployment::open(plan, candidate, directory, content, pin)
    }

    fn sweep(&mut self, plan: &Plan, candidate: &Candidate) -> Result<()> {
        deployment::sweep(plan, candidate)
    }

    fn forget(&mut self, candidate: &Candidate) {
        if let Source::Build(build, _) = &candidate.source {
            build.forget_server();
        }
    }

    fn settle(
        &mut self,
        plan: &Plan,
        deployment: &mut LiveDeployment,
        limits: &Limits<'_>,
    ) -> Result<Measures> {
        settle_deployment(plan, deployment, limits.stop)
    }

    fn execute(
        &mut self,
        deployment: &mut LiveDeployment,
        step_plan: StepPlan,
        limits: &Limits<'_>,
    ) -> Result<StepOutcome> {
        prepare(deployment, &step_plan)?;
        let group = assemble(deployment, step_plan, None)?;
        let outcome = group.run(&deployment.watch, limits);
        if outcome.failure.is_none() {
            // What it did must not count as done by the step that is measured next.
            deployment.catch_up()?;
        }
        Ok(outcome)
    }

    fn measure(
        &mut self,
        plan: &Plan,
        candidate: &Candidate,
        deployment: &mut LiveDeployment,
        workload_state: &mut dyn WorkloadState,
        step: Alone<'_>,
        begins: &mut dyn FnMut(Arc<Progress>),
    ) -> Result<Option<Trial>> {
        measure(plan, candidate, deployment, workload_state, step, begins)
    }

    fn take_turns(
        &mut self,
        plan: &Plan,
        all_running: &mut [&mut RunningCandidate<LiveDeployment>],
        step: Together<'_>,
        begins: &mut dyn FnMut(Vec<Arc<Progress>>),
    ) -> Result<Option<Interleaved>> {
        interleave_step(plan, all_running, step, begins)
    }
}
