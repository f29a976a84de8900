//! The results file: one SQLite database that holds experiments and their trials.
//!
//! Every trial is stored whole or not at all, in one transaction that is on disk when [`Store::save_trial`] returns.
//! One run writes at a time ([`Store::lock_for_run`]); any number of readers may read meanwhile. `docs/formats.md` describes
//! every table and column.

mod bytes;
mod error;
mod experiment;
mod lock;
mod measure;
mod merge;
mod plan;
mod profile;
mod progress;
mod role;
mod round_trials;
mod samples;
mod schema;
mod server_reading;
mod session_record;
mod slice;
mod statement;
mod step_count;
mod store;
mod track;
mod trial;
mod verify;

#[cfg(test)]
mod tests;

pub use error::{Problem, StoreError};
pub use lock::RunLock;
pub use merge::Added;
pub use progress::InFlight;
pub use store::Store;
pub use trial::{Detail, TrialCounts};
