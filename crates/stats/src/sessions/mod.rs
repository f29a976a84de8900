//! What the sessions of rounds tell besides their mean: two modes of a candidate, and what a unit of a counter costs.
//!
//! A session of the contender is always held against the session of the base case with the same round and number, which ran in turns with
//! it: what the machine did meanwhile is not in their ratio.

mod gap;
mod mode;
mod price;

use basecase_model::SessionRecord;

pub use self::mode::{SessionMode, SessionModes, Telltale};
pub use self::price::CounterPrice;

/// With fewer pairs of sessions, starts are looked at instead.
const LEAST_SESSIONS: usize = 10;

/// A session of the base case and one of the contender that ran in turns.
#[derive(Debug, Clone)]
pub(crate) struct SessionPair<'a> {
    /// Which of the rounds it belongs to: what its sessions have in common is the luck of that round's starts.
    pub(crate) start: usize,
    /// Of base and contender.
    pub(crate) records: [&'a SessionRecord; 2],
    /// The logarithm of the ratio of their throughputs, contender to base.
    pub(crate) effect: f64,
}

/// What the sessions of one contender and the base case tell on a step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sessions {
    /// How many sessions of each were compared.
    pub count: usize,
    /// The modes of the base case's sessions and of the contender's, where there are two.
    pub modes: [Option<SessionModes>; 2],
    /// What counters cost, where they varied.
    pub prices: Vec<CounterPrice>,
}

impl Sessions {
    /// From the pairs of all rounds that count, in their order; `None` if too few sessions were told apart. `margin` is the smallest effect
    /// that matters.
    pub(crate) fn among(pairs: &[SessionPair<'_>], margin: f64) -> Option<Sessions> {
        let starts = pairs.chunk_by(|one, next| one.start == next.start).count();
        // With one session each, they are the starts.
        (pairs.len() >= LEAST_SESSIONS && pairs.len() > starts).then(|| Sessions {
            count: pairs.len(),
            modes: SessionModes::of_both(pairs, margin),
            prices: price::prices(pairs),
        })
    }

    /// What an operation takes longer for one unit more of a counter; `None` if it did not vary.
    pub fn price(&self, counter: &str) -> Option<&CounterPrice> {
        self.prices.iter().find(|price| price.counter == counter)
    }

    /// Whether there are two modes between which the effect differs by so much.
    pub(crate) fn has_modes_apart(&self, margin: f64) -> bool {
        self.modes.iter().flatten().any(|modes| modes.difference().abs() >= margin)
    }
}

#[cfg(test)]
mod tests;
