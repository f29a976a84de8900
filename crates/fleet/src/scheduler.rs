//! What a scheduler does for a fleet.

use std::collections::BTreeSet;

use crate::{FleetError, FleetFolder};

/// What starts the nodes of a fleet on the machines of a cluster.
pub trait Scheduler {
    /// Its name, as in `--fleet slurm`.
    fn name(&self) -> &str;

    /// Submits a job with an element for each node, and returns its id.
    ///
    /// # Errors
    /// If the scheduler is not installed or refuses.
    fn submit(&self, job: &Job) -> Result<String, FleetError>;

    /// The ids of the jobs that run the script of this folder, as far as the scheduler still knows them.
    ///
    /// # Errors
    /// If the scheduler does not answer.
    fn jobs(&self, folder: &FleetFolder) -> Result<Vec<String>, FleetError>;

    /// What the scheduler knows of the elements of the job with this id. Those of which it knows nothing any more are missing.
    ///
    /// # Errors
    /// If the scheduler does not answer.
    fn elements(&self, job: &str) -> Result<Vec<Element>, FleetError>;

    /// Ends all elements of the job with this id.
    ///
    /// # Errors
    /// If the scheduler does not answer or refuses.
    fn cancel(&self, job: &str) -> Result<(), FleetError>;
}

/// What is submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// A name for people.
    pub name: String,
    /// The fleet's folder, in which [`FleetFolder::script`] runs the node whose number it is told.
    pub folder: FleetFolder,
    /// The numbers of the nodes, from 1: an element for each.
    pub nodes: BTreeSet<u32>,
    /// Words of the user for the scheduler, e.g. `--partition=bench`.
    pub options: Vec<String>,
}

/// One element of a job: a node of the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// The node, from 1.
    pub node: u32,
    /// What it does.
    pub state: ElementState,
    /// The machine that it runs on or ran on last.
    pub host: Option<String>,
    /// Why it waits or failed, in the scheduler's words.
    pub reason: Option<String>,
}

/// What an element does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementState {
    /// It waits for a machine.
    Waiting,
    /// It runs.
    Running,
    /// It was broken off, e.g. because its machine died or others came first, and waits to go on.
    Requeued,
    /// It ended well.
    Done,
    /// It ended otherwise.
    Failed {
        /// The exit code, or 128 and the number of the signal that killed it; `None` if it had neither.
        exit_code: Option<i32>,
    },
    /// Somebody cancelled it.
    Cancelled,
    /// The scheduler knows nothing of it, and it left no exit code.
    Gone,
}

impl ElementState {
    /// Whether the element will do nothing any more.
    pub fn has_ended(self) -> bool {
        !matches!(self, ElementState::Waiting | ElementState::Running | ElementState::Requeued)
    }

    /// Whether it has ended, and not well.
    pub fn has_failed(self) -> bool {
        self.has_ended() && self != ElementState::Done
    }
}
