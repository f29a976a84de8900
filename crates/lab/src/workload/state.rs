//! One candidate's way through a workload: what is executed, and what must come of it.

use std::fmt::Debug;

use anyhow::Result;
use basecase_load::StepOutcome;
use basecase_model::{Check, State};
use basecase_workload::StepPlan;
use basecase_workload::insert_benchmark::Purpose;

use crate::checks::ServerCounts;

/// A table that a step may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedTable {
    /// Its name.
    pub name: String,
    /// The integer column that identifies its rows.
    pub key: Option<String>,
    /// An id at or below the smallest one.
    pub least_id: i64,
    /// Whether the last id that the dbms gave is known.
    pub has_last_value: bool,
    /// Its secondary indexes.
    pub secondary_indexes: u64,
}

/// A workload on one candidate, from step to step. Steps are counted from 0.
pub trait WorkloadState: Debug {
    /// The statements of a step.
    ///
    /// # Errors
    /// When the step does not fit the candidate's dialect.
    fn plan(&self, step: usize, purpose: Purpose) -> Result<StepPlan>;

    /// The load that has to be executed right before a step that begins with freshly loaded tables. [`WorkloadState::reset`] records that it
    /// was.
    ///
    /// # Errors
    /// As [`WorkloadState::plan`].
    fn reload(&self, step: usize) -> Result<Option<StepPlan>>;

    /// Records that the tables were reloaded.
    fn reset(&mut self);

    /// The steps that bring a fresh database to the state before `step`.
    fn past(&self, step: usize) -> Vec<usize>;

    /// Records that a step ran to its end.
    fn advance(&mut self, step: usize, outcome: &StepOutcome);

    /// Starts over from the state that the steps before `step` left in an earlier run.
    fn resume(&mut self, step: usize, left: &State);

    /// Compares the roles' counts with each other and with the plan, after [`WorkloadState::advance`].
    fn check_roles(&self, step: usize, outcome: &StepOutcome) -> Vec<Check>;

    /// Compares the server's own counters over the step with what the client did.
    fn check_server(&self, step: usize, server: ServerCounts<'_>, outcome: &StepOutcome) -> Vec<Check>;

    /// The tables that exist now.
    fn tables(&self) -> Vec<ExpectedTable>;

    /// Compares what the tables hold with what they must, and records it as known.
    fn check_state(&mut self, state: &State) -> Vec<Check>;
}
