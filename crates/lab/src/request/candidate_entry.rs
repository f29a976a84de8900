//! One entry of the list of candidates in an experiment file.

use serde::Deserialize;

use super::{CandidateError, CandidateSpec, MemorySize};

/// A candidate as it is written.
#[derive(Deserialize, Clone)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "write a candidate as \"postgres:18.6\" or { name = \"postgres:18.6\", memory = \"400M\" }"
)]
pub(super) enum CandidateEntry {
    /// As on the command line.
    Name(String),
    /// With a limit on its server's memory.
    Limited {
        /// As on the command line.
        name: String,
        /// The limit.
        memory: MemorySize,
    },
}

impl CandidateEntry {
    /// What it means.
    pub(super) fn spec(&self) -> Result<CandidateSpec, CandidateError> {
        match self {
            CandidateEntry::Name(name) => name.parse(),
            CandidateEntry::Limited { name, memory } => {
                Ok(CandidateSpec { memory: Some(*memory), ..name.parse()? })
            }
        }
    }
}
