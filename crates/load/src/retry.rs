//! What can be done about an error of a session.

use basecase_client::{Error, Kind};
use basecase_workload::{Restart, Script};

/// What can be done about an error.
pub(crate) enum Retry {
    /// Execute the operation again.
    Operation,
    /// Begin the event anew, with other values.
    Event {
        /// Whether its transaction is rolled back first.
        rolls_back: bool,
    },
    /// Nothing.
    Never,
}

/// How often in a row an event is begun anew: many roles may compete for few rows.
pub(crate) const EVENT_ATTEMPTS: u32 = 10_000;

/// What can be done about an error of an operation of `script`, or of one without.
#[cold]
pub(crate) fn retry_after(error: &Error, script: Option<&mut dyn Script>) -> Retry {
    let is_duplicate = match error.kind() {
        Kind::Retryable => false,
        // Another role has inserted the same row since it was deleted here: the same values would find it again.
        Kind::Duplicate => true,
        Kind::Refused | Kind::Disconnected => return Retry::Never,
    };
    match script.map_or(Restart::Operation, Script::restart) {
        Restart::Event { rolls_back } => Retry::Event { rolls_back },
        Restart::Operation if is_duplicate => Retry::Never,
        Restart::Operation => Retry::Operation,
    }
}
