//! Functions of the server whose share of the time moved.

use basecase_model::{Profile, ProfileKind};

use crate::function_share::{FunctionShare, functions_that_grew};

/// Functions whose share moved less are left out.
const LEAST_GROWTH: f64 = 0.002;

/// The shares of functions in two profiles of one kind.
pub struct FunctionShares {
    /// What was counted.
    pub kind: ProfileKind,
    /// Samples of the base case.
    pub base_samples: u64,
    /// Samples of the candidate.
    pub candidate_samples: u64,
    /// Functions whose own share of the time grew or shrank, the largest moves first.
    pub shares: Vec<FunctionShare>,
}

/// Profiles of the same kind.
pub(super) fn pairs<'a>(base: &'a [Profile], candidate: &'a [Profile]) -> Vec<(&'a Profile, &'a Profile)> {
    let same = |base: &'a Profile| Some((base, candidate.iter().find(|profile| profile.kind == base.kind)?));
    base.iter().filter_map(same).collect()
}

impl FunctionShares {
    pub(super) fn of(base: &Profile, candidate: &Profile) -> Self {
        let mut shares = functions_that_grew(base, candidate);
        shares.retain(|share| share.growth().abs() >= LEAST_GROWTH);
        shares.sort_by(|left, right| right.growth().abs().total_cmp(&left.growth().abs()));
        FunctionShares {
            kind: base.kind,
            base_samples: base.samples,
            candidate_samples: candidate.samples,
            shares,
        }
    }
}
