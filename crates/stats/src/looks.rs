//! After which rounds a series is looked at.

use thiserror::Error;

/// The fewest rounds of a first look: below it a t interval says nothing.
const FIRST: usize = 3;
/// The most rounds of a last look. The exact distribution of the signed-rank statistic grows with their square.
const LAST: usize = 500;

/// The numbers of rounds after which verdicts may be given. They are fixed before the first round: the error of all
/// looks together is then at most what was agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looks(Vec<usize>);

/// Why numbers are no looks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LooksError {
    /// There is none.
    #[error("there is no look\nhint: name the numbers of rounds after which to judge, e.g. 5, 8, 12")]
    None,
    /// They do not rise.
    #[error("look {later} stands after look {earlier}\nhint: numbers of rounds rise from look to look")]
    NotRising {
        /// The number of rounds that stands first.
        earlier: usize,
        /// The number that should be larger.
        later: usize,
    },
    /// The first comes too early or the last too late.
    #[error(
        "a look after {0} rounds is not possible\nhint: the first may be after {FIRST}, the last after {LAST}"
    )]
    OutOfRange(usize),
}

impl Looks {
    /// Looks after so many rounds each.
    ///
    /// # Errors
    /// When there is none, when they do not rise, or when one is below 3 or above 500.
    pub fn new(rounds: impl Into<Vec<usize>>) -> Result<Self, LooksError> {
        let rounds = rounds.into();
        if rounds.is_empty() {
            return Err(LooksError::None);
        }
        if let Some(wrong) = rounds.iter().find(|look| !(FIRST..=LAST).contains(*look)) {
            return Err(LooksError::OutOfRange(*wrong));
        }
        if let Some(pair) = rounds.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(LooksError::NotRising { earlier: pair[0], later: pair[1] });
        }
        Ok(Looks(rounds))
    }

    /// Looks for steps that read: from 5 to 40 rounds.
    pub fn general() -> Self {
        Looks(vec![5, 6, 8, 10, 13, 16, 20, 25, 32, 40])
    }

    /// Looks for steps that write, whose rounds are long: from 5 to 24 rounds.
    pub fn write_heavy() -> Self {
        Looks(vec![5, 6, 8, 10, 12, 16, 20, 24])
    }

    /// The numbers of rounds, rising.
    pub fn rounds(&self) -> &[usize] {
        &self.0
    }

    /// The rounds of the first look.
    pub fn first(&self) -> usize {
        self.0.first().copied().unwrap_or(FIRST)
    }

    /// The rounds of the last look.
    pub fn last(&self) -> usize {
        self.0.last().copied().unwrap_or(LAST)
    }

    /// The first look after at least so many rounds.
    pub(crate) fn at_or_after(&self, rounds: usize) -> Option<usize> {
        self.0.iter().copied().find(|look| *look >= rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_rise_within_bounds() {
        assert_eq!(Looks::new([]), Err(LooksError::None));
        assert_eq!(Looks::new([2, 5]), Err(LooksError::OutOfRange(2)));
        assert_eq!(Looks::new([5, 501]), Err(LooksError::OutOfRange(501)));
        assert_eq!(Looks::new([5, 5]), Err(LooksError::NotRising { earlier: 5, later: 5 }));
        let looks = Looks::new([5, 9, 12]).unwrap();
        assert_eq!((looks.first(), looks.last()), (5, 12));
        assert_eq!((looks.at_or_after(6), looks.at_or_after(13)), (Some(9), None));
    }

    #[test]
    fn the_standard_looks_are_looks() {
        for looks in [Looks::general(), Looks::write_heavy()] {
            assert_eq!(Looks::new(looks.rounds()), Ok(looks));
        }
    }
}
