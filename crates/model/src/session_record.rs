//! One session of a trial: what it did before it was measured, and what the server did for it.

use serde::{Deserialize, Serialize};

use crate::Measures;

/// One session of each role in a step whose candidates take turns. A round has several, each with a history of its own, because what a
/// session did before decides how its statements fare: see `docs/method.md`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Its number in the trial, from 0.
    pub number: u32,
    /// The seed from which its history was drawn: what it executed before the step's statements. 0 if it executed nothing.
    pub seed: u64,
    /// Its first pass that counts.
    pub first_pass: u32,
    /// How many passes it has.
    pub passes: u32,
    /// Operations that the server executed during them, in the unit of the step's headline: also those that do not count.
    pub operations: u64,
    /// What the server's processes used meanwhile.
    pub counters: Measures,
}

impl SessionRecord {
    /// Whether this pass is one of its own.
    pub fn has_pass(&self, pass: u32) -> bool {
        pass.checked_sub(self.first_pass).is_some_and(|nth| nth < self.passes)
    }

    /// A counter per operation; `None` if it was not read or nothing was done.
    pub fn per_operation(&self, counter: &str) -> Option<f64> {
        Some(self.counters.get(counter)? / self.operations as f64).filter(|value| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_knows_its_passes_and_what_an_operation_took() {
        let mut session =
            SessionRecord { first_pass: 3, passes: 2, operations: 40, ..SessionRecord::default() };
        session.counters.set("server.minor_faults", 100.0);
        assert_eq!([2, 3, 4, 5].map(|pass| session.has_pass(pass)), [false, true, true, false]);
        assert_eq!(session.per_operation("server.minor_faults"), Some(2.5));
        assert_eq!(session.per_operation("server.cpu_us"), None);
        session.operations = 0;
        assert_eq!(session.per_operation("server.minor_faults"), None);
    }
}
