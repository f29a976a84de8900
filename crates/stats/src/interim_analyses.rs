//! The schedule of interim analyses.

use thiserror::Error;

/// The earliest first analysis: with fewer rounds a t interval says nothing.
const FIRST: usize = 3;
/// The latest last analysis. The exact distribution of the signed-rank statistic grows with the square of the rounds.
const LAST: usize = 500;

/// The numbers of rounds after which verdicts may be given. They are fixed before the first round, so that the error over all interim
/// analyses is at most the planned one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterimAnalyses(Vec<usize>);

/// An interim analysis, and how much of the error may be spent by then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct InterimAnalysis {
    /// The number of rounds.
    pub(crate) rounds: usize,
    /// The share of the error over this and all analyses before it, 0 to 1.
    pub(crate) spent: f64,
}

/// Why numbers are no schedule of interim analyses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InterimAnalysesError {
    /// The schedule is empty.
    #[error(
        "no interim analysis is planned\nhint: name the numbers of rounds after which to judge, e.g. 5, 8, 12"
    )]
    None,
    /// The numbers do not increase.
    #[error(
        "the interim analysis after {later} rounds follows the one after {earlier}\nhint: the numbers of rounds must increase"
    )]
    NotRising {
        /// The number that comes first.
        earlier: usize,
        /// The number that should be larger.
        later: usize,
    },
    /// The first analysis is too early, or the last too late.
    #[error(
        "an interim analysis after {0} rounds is not possible\nhint: the first may be after {FIRST}, the last after {LAST}"
    )]
    OutOfRange(usize),
}

impl InterimAnalyses {
    /// Interim analyses after these numbers of rounds.
    ///
    /// # Errors
    /// When there is none, when they do not rise, or when one is below 3 or above 500.
    pub fn new(rounds: impl Into<Vec<usize>>) -> Result<Self, InterimAnalysesError> {
        let rounds = rounds.into();
        if rounds.is_empty() {
            return Err(InterimAnalysesError::None);
        }
        if let Some(wrong) = rounds.iter().find(|analysis| !(FIRST..=LAST).contains(*analysis)) {
            return Err(InterimAnalysesError::OutOfRange(*wrong));
        }
        if let Some(pair) = rounds.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(InterimAnalysesError::NotRising { earlier: pair[0], later: pair[1] });
        }
        Ok(InterimAnalyses(rounds))
    }

    /// Interim analyses for steps that read: from 5 to 40 rounds.
    pub fn general() -> Self {
        InterimAnalyses(vec![5, 6, 8, 10, 13, 16, 20, 25, 32, 40])
    }

    /// Interim analyses for steps that write, whose rounds are long: from 5 to 24 rounds.
    pub fn write_heavy() -> Self {
        InterimAnalyses(vec![5, 6, 8, 10, 12, 16, 20, 24])
    }

    /// The numbers of rounds, increasing.
    pub fn rounds(&self) -> &[usize] {
        &self.0
    }

    /// The number of rounds at the first interim analysis.
    pub fn first(&self) -> usize {
        self.0.first().copied().unwrap_or(FIRST)
    }

    /// The number of rounds at the last interim analysis.
    pub fn last(&self) -> usize {
        self.0.last().copied().unwrap_or(LAST)
    }

    /// The error is spent in proportion to the rounds: α·n/n_max up to the analysis after n of n_max rounds (Lan & DeMets 1983).
    pub(crate) fn by_rounds(&self) -> Vec<InterimAnalysis> {
        let last = self.last() as f64;
        self.0
            .iter()
            .map(|rounds| InterimAnalysis { rounds: *rounds, spent: *rounds as f64 / last })
            .collect()
    }

    /// The first interim analysis after at least this many rounds.
    pub(crate) fn at_or_after(&self, rounds: usize) -> Option<usize> {
        self.0.iter().copied().find(|analysis| *analysis >= rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_rise_within_bounds() {
        assert_eq!(InterimAnalyses::new([]), Err(InterimAnalysesError::None));
        assert_eq!(InterimAnalyses::new([2, 5]), Err(InterimAnalysesError::OutOfRange(2)));
        assert_eq!(InterimAnalyses::new([5, 501]), Err(InterimAnalysesError::OutOfRange(501)));
        assert_eq!(
            InterimAnalyses::new([5, 5]),
            Err(InterimAnalysesError::NotRising { earlier: 5, later: 5 })
        );
        let analyses = InterimAnalyses::new([5, 9, 12]).unwrap();
        assert_eq!((analyses.first(), analyses.last()), (5, 12));
        assert_eq!((analyses.at_or_after(6), analyses.at_or_after(13)), (Some(9), None));
    }

    #[test]
    fn the_standard_looks_are_looks() {
        for analyses in [InterimAnalyses::general(), InterimAnalyses::write_heavy()] {
            assert_eq!(InterimAnalyses::new(analyses.rounds()), Ok(analyses));
        }
    }
}
