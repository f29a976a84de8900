//! Builds from source: unpack, configure, compile and install into a folder of the library, once for each combination of
//! source, options and compiler.

mod debian;
mod error;
mod git;
mod hint;
mod job;
mod label;
mod origin;
mod shelf;
mod table;
#[cfg(test)]
mod tests;
mod toolchain;
mod tree;
mod workshop;

pub use error::{CompileError, StepError};
pub(crate) use shelf::Shelf;
pub use shelf::SourceBuild;
pub use table::Setup;

use crate::library::Library;
use crate::obtain_error::ObtainError;
use crate::recipe::BuildRequest;
use toolchain::Toolchain;
use workshop::Workshop;

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

impl Library {
    /// The build that `order` describes: compiled when it is not here yet. `notify` is called with a line for people before
    /// anything that takes long, and every minute while it goes on.
    ///
    /// # Errors
    /// When the source or a program that compiles is missing, or a step of the build fails.
    pub fn compile(
        &self,
        order: &SourceOrder,
        notify: &mut dyn FnMut(&str),
    ) -> Result<SourceBuild, ObtainError> {
        let workshop = Workshop {
            builds: self.builds().to_path_buf(),
            toolchain: Toolchain::system(self.account().cloned()),
            reserved: self.provider_names(),
        };
        Ok(workshop.make(order, notify)?)
    }

    /// The builds from source that are here, sorted by dbms, version and label.
    pub fn source_builds(&self) -> Vec<SourceBuild> {
        Shelf::read(self.builds()).builds()
    }
}
