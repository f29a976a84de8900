//! Builds from source: unpacks, configures, compiles and installs into a folder of the library, once for each combination of
//! source, options and compiler.

mod build_cache;
mod build_step;
mod builder;
mod debian;
mod error;
mod hint;
mod kept_folder;
mod label;
mod origin;
mod patch;
mod table;
#[cfg(test)]
mod tests;
mod toolchain;

pub(crate) use build_cache::BuildCache;
pub use build_cache::SourceBuild;
pub(crate) use builder::Builder;
pub use error::{CompileError, StepError};
pub(crate) use toolchain::Toolchain;

use std::path::PathBuf;

use crate::commit_request::{CommitError, CommitRequest};
use crate::recipe::BuildRequest;
use crate::setup::Setup;

/// What to compile, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOrder {
    /// Dbms and version, e.g. `postgres:17.6`, or `postgres:17.x` for any version of that branch.
    pub request: BuildRequest,
    /// The source: a folder, an archive or `REPOSITORY@TAG`. Defaults to Debian's, if that is known.
    pub source: Option<String>,
    /// The build type or compiler flags.
    pub setup: Setup,
    /// The name that tells the build from others of its version. By default it is derived from setup and source.
    pub label: Option<String>,
    /// Files with patches that are applied to the source, in this order.
    pub patches: Vec<PathBuf>,
    /// Further arguments of configure or CMake.
    pub configure: Vec<String>,
    /// Whether the label of the build names the commit that it is of, although a tag points at it.
    pub names_commit: bool,
    /// Whether it is compiled in a folder that is kept, where only what has changed is compiled again.
    pub is_incremental: bool,
    /// How many compilers run at once. Defaults to the number of processors.
    pub jobs: Option<u32>,
}

impl SourceOrder {
    /// What a candidate that is a commit asks for.
    ///
    /// # Errors
    /// If the repository does not say, or lacks files of the commit.
    pub(crate) fn of_commit(commit: &CommitRequest) -> Result<SourceOrder, CommitError> {
        let folder = commit.repository.display();
        let source =
            if commit.is_working_tree { folder.to_string() } else { format!("{folder}@{}", commit.commit) };
        Ok(SourceOrder {
            request: BuildRequest::Version { dbms: commit.dbms, version: commit.version()?, provider: None },
            source: Some(source),
            setup: commit.setup.clone(),
            label: None,
            patches: commit.patches.clone(),
            configure: commit.configure.clone(),
            names_commit: true,
            is_incremental: commit.keeps_folder(),
            jobs: None,
        })
    }
}
