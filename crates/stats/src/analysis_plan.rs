//! The statistical analysis plan, fixed before the first round.

use thiserror::Error;

use crate::discovery::Dependence;
use crate::interim_analyses::InterimAnalyses;

/// The smallest error rate that a plan may ask for.
const SMALLEST_ERROR: f64 = 1e-4;
/// The largest error rate that a plan may ask for.
const LARGEST_ERROR: f64 = 0.5;

/// How a family of comparisons is judged. It is fixed before the first round: changing it after an interim analysis voids the guarantees.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalysisPlan {
    /// The probability that an interval misses the effect at any interim analysis, 0 to 1.
    pub alpha: f64,
    /// When verdicts may be given.
    pub sequential: Sequential,
    /// The accepted share of false discoveries among all reported changes, 0 to 1.
    pub false_discovery_rate: f64,
    /// How the comparisons may depend on each other.
    pub dependence: Dependence,
}

/// When a series may be analysed, and how the interval of an analysis is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sequential {
    /// After fixed numbers of rounds. It needs fewer rounds, and ends with the last interim analysis.
    Scheduled(InterimAnalyses),
    /// After every round, without a limit. It takes about a quarter more rounds.
    Anytime,
}

/// Why a plan is invalid.
#[derive(Debug, Clone, PartialEq, Error)]
#[error(
    "{what} of {value} is not possible\nhint: give a share from {SMALLEST_ERROR} to {LARGEST_ERROR}, usually 0.05"
)]
pub struct AnalysisPlanError {
    what: &'static str,
    value: f64,
}

impl Default for AnalysisPlan {
    /// 5 % for both error rates, with the interim analyses for steps that read.
    fn default() -> Self {
        AnalysisPlan {
            alpha: 0.05,
            sequential: Sequential::Scheduled(InterimAnalyses::general()),
            false_discovery_rate: 0.05,
            dependence: Dependence::Positive,
        }
    }
}

impl AnalysisPlan {
    pub(crate) fn check(&self) -> Result<(), AnalysisPlanError> {
        let shares = [("an error", self.alpha), ("a false discovery rate", self.false_discovery_rate)];
        match shares.into_iter().find(|(_, value)| !(SMALLEST_ERROR..=LARGEST_ERROR).contains(value)) {
            Some((what, value)) => Err(AnalysisPlanError { what, value }),
            None => Ok(()),
        }
    }
}
