//! One candidate of a plan.

use std::path::PathBuf;

use anyhow::Result;
use basecase_builds::Build;
use basecase_client::Endpoint;
use basecase_client::sqlite::Library;
use basecase_model::{CandidateFacts, Cell};
use basecase_server::{Config, Plant};
use basecase_workload::Dialect;

use crate::observer::Phase;
use crate::workload::{Workload, WorkloadState};

/// What is needed to start a candidate.
#[derive(Debug)]
pub(crate) enum Source {
    Build(Box<Build>, Config),
    /// SQLite in this process: with the bundled library, or that of a build.
    Embedded(Option<Box<Build>>, Config),
    Url(Endpoint),
}

impl Source {
    /// The text that its config has for behind CREATE TABLE.
    pub(crate) fn table_options(&self) -> Option<String> {
        match self {
            Source::Build(_, config) => config.table_options().map(str::to_owned),
            Source::Embedded(..) | Source::Url(_) => None,
        }
    }

    /// The library of SQLite that works on its database; `None` if it has a server.
    pub(crate) fn library(&self) -> Option<Library> {
        match self {
            Source::Embedded(build, _) => {
                let own = build.as_ref().and_then(|build| build.library().cloned());
                Some(own.unwrap_or_else(Library::bundled))
            }
            Source::Build(..) | Source::Url(_) => None,
        }
    }
}

/// One candidate of a plan.
#[derive(Debug)]
pub struct Candidate {
    /// What reports show.
    pub facts: CandidateFacts,
    /// Its own folder for data.
    pub(crate) directory: PathBuf,
    pub(crate) source: Source,
    /// The cells of its steps, in their order.
    pub(crate) cells: Vec<Cell>,
    pub(crate) dialect: Dialect,
    /// Text behind CREATE TABLE.
    pub(crate) table_options: Option<String>,
    /// A slowdown that is planted in its server, with the library that does so.
    pub(crate) plant: Option<(Plant, PathBuf)>,
}

impl Candidate {
    /// The state of the workload on this candidate before the first step.
    ///
    /// # Errors
    /// When the workload does not fit the dialect.
    pub(crate) fn workload_state(&self, workload: &dyn Workload) -> Result<Box<dyn WorkloadState>> {
        workload.state(self.dialect, self.table_options.as_deref())
    }

    /// What bringing it up is called.
    pub(crate) fn opening(&self) -> Phase<'static> {
        match self.source {
            Source::Build(..) => Phase::InitialiseServer,
            Source::Embedded(..) => Phase::InitialiseDatabase,
            Source::Url(_) => Phase::Connect,
        }
    }

    /// What bringing it down is called.
    pub(crate) fn closing(&self) -> Phase<'static> {
        match self.source {
            Source::Build(..) => Phase::RemoveServer,
            Source::Embedded(..) => Phase::RemoveDatabase,
            Source::Url(_) => Phase::DropTables,
        }
    }
}
