//! When the data that rounds begin with is loaded anew, because what all rounds of one load have in common is in no interval.

use std::time::Duration;

/// How many loads an experiment has at least, unless the user says otherwise or the budget is too short.
pub const LOADS: u32 = 3;
/// In each so many rounds there is a new load, until there are enough.
const ROUNDS: u32 = 2;
/// Further loads take at most this share of the time of the rounds since the last.
const SHARE: f64 = 0.1;
/// A budget pays for a further load if this many would fit in what is left of it.
const AFFORDABLE: u32 = 5;

/// What is known when a round begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loads {
    /// How many there were.
    pub(crate) count: u32,
    /// How many there are to be at least.
    pub(crate) wanted: u32,
    /// Rounds since the last.
    pub(crate) rounds_since: u32,
    /// How long the last took, over all candidates.
    pub(crate) last: Duration,
    /// How long a round takes without one.
    pub(crate) round: Duration,
    /// What is left of the budget.
    pub(crate) left: Option<Duration>,
}

impl Loads {
    /// Whether the round begins with data that is loaded anew.
    pub(crate) fn is_due(self) -> bool {
        let Loads { count, wanted, rounds_since, last, round, left } = self;
        if count == 0 || rounds_since == 0 || wanted <= 1 || left.is_some_and(|left| last * AFFORDABLE > left)
        {
            return false;
        }
        let is_cheap = last.as_secs_f64() <= SHARE * f64::from(rounds_since) * round.as_secs_f64();
        is_cheap || count < wanted && rounds_since >= ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);
    /// A second load that is due.
    const SECOND: Loads =
        Loads { count: 1, wanted: LOADS, rounds_since: ROUNDS, last: S, round: S, left: None };

    /// In which of ten rounds of 10 s the data is loaded, if that takes so long.
    fn rounds(load: Duration, wanted: u32, left: impl Fn(u32) -> Option<Duration>) -> Vec<u32> {
        let mut loaded = vec![0_u32];
        for number in 1..10 {
            let loads = Loads {
                count: loaded.len() as u32,
                wanted,
                rounds_since: number - loaded.last().unwrap(),
                last: load,
                round: 10 * S,
                left: left(number),
            };
            if loads.is_due() {
                loaded.push(number);
            }
        }
        loaded
    }

    #[test]
    fn three_loads_come_early_and_cheap_ones_go_on() {
        assert_eq!(rounds(60 * S, LOADS, |_| None), [0, 2, 4]);
        assert_eq!(rounds(S / 2, LOADS, |_| None), (0..10).collect::<Vec<_>>());
        assert_eq!(rounds(3 * S, LOADS, |_| None), [0, 2, 4, 7], "at most a tenth of the time");
        assert_eq!(rounds(60 * S, 1, |_| None), [0]);
        assert_eq!(rounds(S / 2, 1, |_| None), [0], "one load if the user wants one");
    }

    #[test]
    fn a_budget_that_is_too_short_has_one_load() {
        let of_100 = |number: u32| Some((100 - 10 * u64::from(number)) as u32 * S);
        assert_eq!(rounds(20 * S, LOADS, of_100), [0]);
        assert_eq!(rounds(15 * S, LOADS, of_100), [0, 2]);
        let left = |left| Loads { left: Some(left * S), ..SECOND };
        assert!(left(5).is_due() && !left(4).is_due(), "what would fit five times fits");
    }

    #[test]
    fn what_is_loaded_for_the_first_round_is_not_loaded_again_in_it() {
        let free = Loads { last: Duration::ZERO, ..SECOND };
        assert!(free.is_due());
        assert!(!Loads { count: 0, ..free }.is_due() && !Loads { rounds_since: 0, ..free }.is_due());
    }
}
