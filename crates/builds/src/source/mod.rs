//! Builds from source: unpack, configure, compile and install into a folder of the library, once for each combination of
//! source, options and compiler.

mod build_cache;
mod build_step;
mod builder;
mod debian;
mod error;
mod git;
mod hint;
mod label;
mod origin;
mod source_tree;
mod table;
#[cfg(test)]
mod tests;
mod toolchain;

pub(crate) use build_cache::BuildCache;
pub use build_cache::SourceBuild;
pub(crate) use builder::Builder;
pub use error::{CompileError, StepError};
pub use table::Setup;
pub(crate) use toolchain::Toolchain;

use crate::recipe::BuildRequest;

/// What is to be compiled, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOrder {
    /// Dbms and version, e.g. `postgres:17.6`, or `postgres:17.x` for whatever version of that branch the source is.
    pub request: BuildRequest,
    /// The source: a folder, an archive or `REPOSITORY@TAG`; without it, Debian's where that is known.
    pub source: Option<String>,
    /// What the compiler is told.
    pub setup: Setup,
    /// The name by which the build is told from others of its version; derived from setup and source when there is none.
    pub label: Option<String>,
    /// More arguments of configure or CMake.
    pub configure: Vec<String>,
    /// How many compilers run at once; as many as there are processors when none is given.
    pub jobs: Option<u32>,
}
