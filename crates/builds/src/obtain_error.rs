//! Why a build could not be obtained.

use std::io;
use std::path::PathBuf;

use basecase_model::Dbms;
use thiserror::Error;

use crate::build::BuildError;
use crate::commit_request::CommitError;
use crate::home::HomeError;
use crate::recipe::RecipeError;
use crate::source::CompileError;

/// What was to be downloaded, from where, and by which program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its coordinates at the provider.
    pub coordinates: String,
    /// Who offers it.
    pub provider: String,
    /// The program that downloads, or what to install if it is missing.
    pub client: String,
    /// What else provides the same version, as a clause.
    pub other: String,
}

/// What became of an attempt to compile a commit.
#[derive(Debug)]
pub enum Attempt {
    /// It is compiled.
    Built {
        /// Equal for builds whose code and data are equal; `None` if that cannot be told.
        imprint: Option<String>,
        /// Whether it was compiled now, and not before.
        is_new: bool,
    },
    /// It does not compile: why, for people.
    Broken(String),
}

/// Why a build could not be obtained.
#[derive(Debug, Error)]
pub enum ObtainError {
    /// The program that downloads is missing.
    #[error("cannot download {} from {}: {reason}\nhint: install {}, or use {}", artifact.coordinates, artifact.provider, artifact.client, artifact.other)]
    Client {
        /// What was to be downloaded.
        artifact: Box<Artifact>,
        /// What is missing.
        reason: String,
    },
    /// The download failed.
    #[error("{} could not download {} from {}:\n{tail}\nhint: check that {} reaches its registry or mirror, or use {}", artifact.client, artifact.coordinates, artifact.provider, artifact.client, artifact.other)]
    Download {
        /// What was to be downloaded.
        artifact: Box<Artifact>,
        /// The program's last lines.
        tail: String,
    },
    /// The artifact is not the one of the recipe.
    #[error("{} from {} has SHA-256 {actual}, but its recipe says {expected}\nhint: the registry or a mirror served another file; clear the cache of {} and try again, or use {}", artifact.coordinates, artifact.provider, artifact.client, artifact.other)]
    Checksum {
        /// What was downloaded.
        artifact: Box<Artifact>,
        /// What was found.
        actual: String,
        /// What the recipe says.
        expected: String,
    },
    /// The suite has moved on to another version.
    #[error("{suite} now has {dbms} {actual}, not {wanted}\nhint: {hint}")]
    Moved {
        /// The dbms.
        dbms: Dbms,
        /// The suite of Debian.
        suite: String,
        /// What the suite has.
        actual: String,
        /// What was asked for.
        wanted: String,
        /// What to request instead.
        hint: String,
    },
    /// The artifact is for another kind of machine.
    #[error("{} from {} runs on {wanted}, but this machine is {actual}\nhint: use an installed build with path:DIR", artifact.coordinates, artifact.provider)]
    Platform {
        /// What was to be downloaded.
        artifact: Box<Artifact>,
        /// Where it runs.
        wanted: String,
        /// What this machine is.
        actual: String,
    },
    /// The artifact could not be unpacked.
    #[error("cannot unpack {artifact}: {source}\nhint: check the free space of {}", folder.display())]
    Unpack {
        /// The artifact.
        artifact: String,
        /// Where to.
        folder: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// The home cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The tree is not a usable build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// It could not be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The request matches no recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// The commit cannot be had.
    #[error(transparent)]
    Commit(#[from] CommitError),
}
