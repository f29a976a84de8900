//! Detects starts that fall into two groups.

use crate::sample::{SMALLEST_SD, mean};

/// With fewer starts, two groups cannot be told from chance.
const STARTS: usize = 10;
/// How many within-group standard deviations the gap between the groups must exceed. With three, one in 25 candidates with ten unimodal
/// starts is taken for bimodal; with four, one in 80.
const GAP: f64 = 4.0;
/// The smallest share of starts in the smaller group.
const SHARE: f64 = 0.15;

/// A slow and a fast mode of one candidate's starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// The share of starts in the slow mode, 0 to 1.
    pub slow_share: f64,
    /// Mean ln throughput of the slow starts.
    pub slow: f64,
    /// Mean ln throughput of the fast starts.
    pub fast: f64,
}

impl Modes {
    /// The two modes of mean ln throughput over starts, split at the largest gap; `None` if there is one mode, or fewer than ten starts.
    pub fn of(starts: &[f64]) -> Option<Self> {
        if starts.len() < STARTS {
            return None;
        }
        let mut sorted = starts.to_vec();
        sorted.sort_by(f64::total_cmp);
        let gap = |split: &usize| sorted[*split] - sorted[split - 1];
        let split = (1..sorted.len()).max_by(|left, right| gap(left).total_cmp(&gap(right)))?;
        let (slow, fast) = sorted.split_at(split);
        let smaller = slow.len().min(fast.len()) as f64 / starts.len() as f64;
        (clearness(&sorted, split) > GAP && smaller >= SHARE).then(|| Modes {
            slow_share: slow.len() as f64 / starts.len() as f64,
            slow: mean(slow),
            fast: mean(fast),
        })
    }
}

/// The gap before this place among sorted values, in standard deviations within the groups on either side.
pub(crate) fn clearness(sorted: &[f64], split: usize) -> f64 {
    let (lower, upper) = sorted.split_at(split);
    let squares = |group: &[f64]| {
        let middle = mean(group);
        group.iter().map(|value| (value - middle).powi(2)).sum::<f64>()
    };
    let within = ((squares(lower) + squares(upper)) / (sorted.len() - 2) as f64).sqrt().max(SMALLEST_SD);
    (sorted[split] - sorted[split - 1]) / within
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_modes_are_found_with_their_shares() {
        let start =
            |index: usize| if index.is_multiple_of(3) { 1.0 } else { 1.1 } + 0.001 * (index % 4) as f64;
        let modes = Modes::of(&(0..12).map(start).collect::<Vec<_>>()).unwrap();
        assert!((modes.slow_share - 1.0 / 3.0).abs() < 1e-12);
        assert!(modes.fast - modes.slow > 0.09);
    }

    #[test]
    fn an_outlier_and_an_even_spread_are_no_modes() {
        let mut starts = vec![1.0; 12];
        assert_eq!(Modes::of(&starts), None);
        starts[3] = 2.0;
        assert_eq!(Modes::of(&starts), None);
        assert_eq!(Modes::of(&(0..12).map(f64::from).collect::<Vec<_>>()), None);
        assert_eq!(Modes::of(&[1.0, 2.0]), None);
    }
}
