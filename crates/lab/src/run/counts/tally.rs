//! What the sessions of one start of a server did, whoever counts it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use basecase_load::SerialGroup;
use basecase_model::OperationClass;
use basecase_server::Served;

use super::windows::SessionCount;

/// Counts the sessions of one start.
pub(super) trait Tally {
    /// Windows of a step in each start.
    fn windows(&self) -> usize;

    /// Takes note of sessions that have begun and executed nothing yet. Those of the roles that `is_counted` are the parts of what is
    /// counted; returns the numbers by which [`Counts`] knows them.
    ///
    /// # Errors
    /// When a session cannot be told from others, or not be counted.
    fn begin(
        &mut self,
        served: &dyn Served,
        group: &mut SerialGroup,
        is_counted: &dyn Fn(OperationClass) -> bool,
    ) -> Result<Vec<u32>>;

    /// Takes over the sessions that [`Tally::begin`] saw last. They have executed their events, or failed.
    ///
    /// # Errors
    /// When it cannot be told what they did.
    fn finish(&mut self, group: SerialGroup) -> Result<()>;

    /// What all sessions did. The server has stopped.
    ///
    /// # Errors
    /// When that cannot be told.
    fn end(self: Box<Self>) -> Result<Counts>;
}

/// What each session did, by the number that [`Tally::begin`] gave.
#[derive(Debug, Default)]
pub(super) struct Counts(pub(super) BTreeMap<u32, SessionCount>);

impl Counts {
    /// The sum over these sessions, which together executed so many operations in so many events.
    ///
    /// # Errors
    /// When one of them was not counted.
    pub(super) fn of(&self, numbers: &[u32], operations: u64, events: u64) -> Result<SessionCount> {
        let mut sum = SessionCount::of(operations, events);
        for number in numbers {
            sum.merge(self.0.get(number).context("a session was not counted")?);
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_session_are_added_and_one_that_is_missing_is_an_error() {
        let counts = [(3, 100), (4, 20)]
            .map(|(number, instructions)| (number, SessionCount::of_instructions(instructions)));
        let counts = Counts(counts.into());
        let sum = counts.of(&[3, 4], 30, 10).unwrap();
        assert_eq!((sum.instructions, sum.operations, sum.events), (120, 30, 10));
        assert!(counts.of(&[3, 5], 30, 10).is_err());
    }
}
