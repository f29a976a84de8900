//! The share of all time that each function took.

use std::collections::{BTreeMap, BTreeSet};

use basecase_model::{Profile, ProfileKind};

/// A function's share of all time, in two profiles.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionShare {
    /// Its name.
    pub function: String,
    /// Its share of the first profile, 0 to 1.
    pub base: f64,
    /// Its share of the second profile, 0 to 1.
    pub candidate: f64,
}

impl FunctionShare {
    /// How much larger the second share is.
    pub fn growth(&self) -> f64 {
        self.candidate - self.base
    }
}

/// Every function of either profile with its own time, without the functions it called, as a share of all; those that grew most come first.
///
/// Off the processors, every stack ends in the kernel's scheduler, so the time counts for the innermost function of the program.
pub(crate) fn functions_that_grew(base: &Profile, candidate: &Profile) -> Vec<FunctionShare> {
    let (of_base, of_candidate) = (by_function(base), by_function(candidate));
    let functions: BTreeSet<&str> = of_base.keys().chain(of_candidate.keys()).copied().collect();
    let share = |amounts: &BTreeMap<&str, u64>, function, total: u64| {
        amounts.get(function).map_or(0.0, |amount| *amount as f64 / total as f64)
    };
    let (total_base, total_candidate) = (total(base), total(candidate));
    let mut shares: Vec<FunctionShare> = functions
        .into_iter()
        .map(|function| FunctionShare {
            function: function.to_owned(),
            base: share(&of_base, function, total_base),
            candidate: share(&of_candidate, function, total_candidate),
        })
        .collect();
    shares.sort_by(|one, other| other.growth().total_cmp(&one.growth()));
    shares
}

fn by_function(profile: &Profile) -> BTreeMap<&str, u64> {
    let mut amounts = BTreeMap::new();
    for (stack, amount) in stacks(profile) {
        let function = match profile.kind {
            ProfileKind::Cpu => stack.rsplit(';').next(),
            ProfileKind::OffCpu => stack.rsplit(';').find(|frame| !is_of_kernel(frame)),
        };
        *amounts.entry(function.unwrap_or(stack)).or_insert(0) += amount;
    }
    amounts
}

fn is_of_kernel(frame: &str) -> bool {
    frame.ends_with("_[k]") || frame == "[preempted]"
}

/// Each stack and its count. Lines of another form are skipped.
pub fn stacks(profile: &Profile) -> impl Iterator<Item = (&str, u64)> {
    profile.stacks.lines().filter_map(|line| {
        let (stack, amount) = line.rsplit_once(' ')?;
        Some((stack, amount.parse().ok()?))
    })
}

/// The total count of all stacks.
pub fn total(profile: &Profile) -> u64 {
    stacks(profile).map(|(_, amount)| amount).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(kind: ProfileKind, stacks: &str) -> Profile {
        Profile { kind, frequency_hz: 333, samples: 3, lost: 0, stacks: stacks.into(), modules: Vec::new() }
    }

    fn grew(base: &Profile, candidate: &Profile) -> Vec<(String, f64, f64)> {
        let shares = functions_that_grew(base, candidate);
        shares.into_iter().map(|share| (share.function, share.base, share.candidate)).collect()
    }

    #[test]
    fn time_in_a_function_itself_is_compared_by_shares() {
        let base = profile(ProfileKind::Cpu, "p;f;g 5\np;h;g 1\np;f 2\np;gone 2\n");
        let candidate = profile(ProfileKind::Cpu, "p;f;g 40\np;f 20\np;new 40\nnot folded\n");
        let expected = [("new", 0.0, 0.4), ("f", 0.2, 0.2), ("g", 0.6, 0.4), ("gone", 0.2, 0.0)];
        assert_eq!(grew(&base, &candidate), expected.map(|(name, b, c)| (name.to_owned(), b, c)));
    }

    #[test]
    fn waiting_counts_for_the_function_that_waits() {
        let profile =
            profile(ProfileKind::OffCpu, "p;recv;schedule_[k] 3\np;send;schedule_[k];[preempted] 1\n");
        let expected = [("recv", 0.75, 0.75), ("send", 0.25, 0.25)];
        assert_eq!(grew(&profile, &profile), expected.map(|(name, b, c)| (name.to_owned(), b, c)));
    }

    #[test]
    fn nothing_has_no_share() {
        let (empty, one) = (profile(ProfileKind::Cpu, ""), profile(ProfileKind::Cpu, "p;f 1\n"));
        assert!(grew(&empty, &empty).is_empty());
        assert_eq!(grew(&empty, &one), [("f".to_owned(), 0.0, 1.0)]);
    }
}
