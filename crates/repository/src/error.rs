//! Why a repository does not say what is asked.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a repository does not say what is asked.
#[derive(Debug, Error)]
pub enum RepositoryError {
    /// Git refused.
    #[error("git cannot read {}: {reason}\nhint: check the repository and the tag or commit after '@'", repository.display())]
    Git {
        /// The repository.
        repository: PathBuf,
        /// What git says.
        reason: String,
    },
    /// Git could not be run.
    #[error("cannot run git on {}: {source}", repository.display())]
    Run {
        /// The repository.
        repository: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A range cannot be searched.
    #[error("the range {range} of {}: {reason}\nhint: {hint}", repository.display())]
    Range {
        /// The repository.
        repository: PathBuf,
        /// As it was written.
        range: String,
        /// What is wrong with it.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// Files of a commit are not in the repository, because it was cloned without them.
    #[error(
        "{} lacks {count} files of {commit}, among them {example}: it was cloned in part\nhint: get them, which basecase does not do: git -C {} fetch --refetch --no-filter",
        repository.display(), repository.display()
    )]
    Partial {
        /// The repository.
        repository: PathBuf,
        /// The commit.
        commit: String,
        /// How many of its files are missing.
        count: usize,
        /// One of them.
        example: String,
    },
}
