//! Whether a failed operation is retried, and how.

use basecase_client::{Error, Kind};
use basecase_workload::{Restart, Script};

/// How to retry after an error.
pub(crate) enum Retry {
    /// Retry the operation.
    Operation,
    /// Restart the event with new values.
    Event {
        /// Whether its transaction is rolled back first.
        rolls_back: bool,
    },
    /// Do not retry.
    Never,
}

/// How often in a row an event is restarted: many roles may compete for few rows.
pub(crate) const EVENT_ATTEMPTS: u32 = 10_000;

/// How to retry an operation after an error. `script` is `None` for an operation that belongs to no script.
#[cold]
pub(crate) fn retry_after(error: &Error, script: Option<&mut dyn Script>) -> Retry {
    let is_duplicate = match error.kind() {
        Kind::Retryable => false,
        // Another role has inserted the same row since it was deleted here: retrying with the same values would fail again.
        Kind::Duplicate => true,
        Kind::Refused | Kind::Disconnected => return Retry::Never,
    };
    match script.map_or(Restart::Operation, Script::restart) {
        Restart::Event { rolls_back } => Retry::Event { rolls_back },
        Restart::Operation if is_duplicate => Retry::Never,
        Restart::Operation => Retry::Operation,
    }
}
