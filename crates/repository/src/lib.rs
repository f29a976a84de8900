//! Local git repositories: commits, ranges of them, their files, and what they change. Nothing is fetched, nothing is written, and no
//! program is run that a repository's settings name.

mod change;
mod error;
mod git;
mod range;
mod repository;

pub use change::{Change, ChangedFile};
pub use error::RepositoryError;
pub use git::Git;
pub use range::{Range, RangeStart};
pub use repository::Repository;
