//! Submitting a fleet, and what is kept of it.

use std::collections::BTreeSet;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::{Element, ElementState, FleetError, FleetFolder, Job, Scheduler, file, job_script};

/// The file in the fleet's folder.
const FILE: &str = "submission.json";

/// What was submitted, as it is kept in the fleet's folder for whoever comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The scheduler's name.
    pub scheduler: String,
    /// The ids of its jobs, the last one at the end: nodes that join later or are run again are jobs of their own.
    pub jobs: Vec<String>,
    /// How many nodes the fleet has.
    pub nodes: u32,
    /// The words behind `basecase` that every node runs, without the options of the node.
    pub command: Vec<String>,
    /// When it was submitted, as in RFC 3339.
    pub submitted_at: String,
}

/// What is to be submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// How many nodes the fleet has.
    pub nodes: u32,
    /// The nodes that are submitted, from 1: all, or those that failed before.
    pub submitted: BTreeSet<u32>,
    /// The words behind `basecase` that every node runs, without the options of the node. Nodes start in the folder in which the
    /// job was submitted, as is usual with the scheduler.
    pub command: Vec<String>,
    /// Words of the user for the scheduler.
    pub options: Vec<String>,
    /// When it is submitted, as in RFC 3339.
    pub submitted_at: String,
}

/// Submits the nodes of a fleet whose folder has been created, and keeps what was submitted in the folder.
///
/// # Errors
/// If the scheduler refuses, or the folder cannot be written.
pub fn submit(
    folder: &FleetFolder,
    scheduler: &dyn Scheduler,
    order: &Order,
) -> Result<Submission, FleetError> {
    for node in &order.submitted {
        let folder = folder.node(*node);
        fs::create_dir_all(&folder).map_err(FleetError::at(&folder))?;
        // That of an earlier try says nothing any more.
        file::if_there(fs::remove_file(folder.join("exit"))).map_err(FleetError::at(&folder))?;
    }
    let script = job_script::text(folder, &folder.id()?, order.nodes, &order.command);
    file::replace(&folder.script(), script.as_bytes())?;
    let name = folder.path().file_stem().map(|name| format!("basecase {}", name.to_string_lossy()));
    let job = scheduler.submit(&Job {
        name: name.unwrap_or_else(|| "basecase".to_owned()),
        folder: folder.clone(),
        nodes: order.submitted.clone(),
        options: order.options.clone(),
    })?;
    let before = folder.submission()?.map(|before| before.jobs);
    let submission = Submission {
        scheduler: scheduler.name().to_owned(),
        jobs: before.into_iter().flatten().chain([job]).collect(),
        nodes: order.nodes,
        command: order.command.clone(),
        submitted_at: order.submitted_at.clone(),
    };
    let path = folder.path().join(FILE);
    let text = serde_json::to_vec_pretty(&submission).map_err(std::io::Error::from);
    file::replace(&path, &text.map_err(FleetError::at(&path))?)?;
    Ok(submission)
}

impl Submission {
    /// What each node does, in their order. Of a node that was submitted again, the last job tells. Where the scheduler knows nothing any
    /// more, the exit code that the node left tells.
    ///
    /// # Errors
    /// If the scheduler does not answer.
    pub fn elements(
        &self,
        folder: &FleetFolder,
        scheduler: &dyn Scheduler,
    ) -> Result<Vec<Element>, FleetError> {
        let mut known = Vec::new();
        for job in &self.jobs {
            known.extend(scheduler.elements(job)?);
        }
        let element = |node: u32| {
            let told = known.iter().rfind(|element| element.node == node);
            told.cloned().unwrap_or_else(|| {
                let state = match folder.exit_code(node) {
                    None => ElementState::Gone,
                    Some(0) => ElementState::Done,
                    code => ElementState::Failed { exit_code: code },
                };
                Element { node, state, host: None, reason: None }
            })
        };
        Ok((1..=self.nodes).map(element).collect())
    }

    /// The ids of its jobs, for people.
    pub fn job_names(&self) -> String {
        self.jobs.join(", ")
    }
}

impl FleetFolder {
    /// What was submitted; `None` if nothing was.
    ///
    /// # Errors
    /// If the file cannot be read, or says something else.
    pub fn submission(&self) -> Result<Option<Submission>, FleetError> {
        let path = self.path().join(FILE);
        let Some(text) = file::if_there(fs::read(&path)).map_err(FleetError::at(&path))? else {
            return Ok(None);
        };
        let read = serde_json::from_slice(&text);
        read.map(Some).map_err(|error| FleetError::Submission { path, reason: error.to_string() })
    }
}
