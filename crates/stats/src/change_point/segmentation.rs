//! Finds the segmentation that fits a history best.

use super::History;
use crate::sample::{SMALLEST_SD, Sample, mean};

/// Below this many rounds a version's own variance is not used.
const ROUNDS: usize = 10;

/// A version's own variance counts as at least this share of the pooled variance: with few rounds, values may be alike by chance, and would
/// weigh too much.
const LEAST_VARIANCE: f64 = 0.5;

/// The penalty of a further level, in squared standard errors: 2 ln V + 4 for V versions.
pub fn usual_penalty(versions: usize) -> f64 {
    2.0 * (versions.max(1) as f64).ln() + 4.0
}

/// Cumulative sums over versions, from which the cost of any segment follows at once.
pub(super) struct Sums(Vec<Sum>);

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    weight: f64,
    value: f64,
    square: f64,
}

impl Sums {
    /// Each version's mean, weighted by the inverse of its squared standard error; `None` if no version has two rounds.
    pub(super) fn of(history: &History) -> Option<Self> {
        let samples: Vec<Option<Sample>> = history.versions.iter().map(|rounds| Sample::of(rounds)).collect();
        let freedom: f64 = samples.iter().flatten().map(Sample::freedom).sum();
        let squares: f64 = samples.iter().flatten().map(|sample| sample.variance() * sample.freedom()).sum();
        let pooled = if freedom > 0.0 { squares / freedom } else { return None };
        let all: Vec<f64> = history.versions.concat();
        let middle = mean(&all);
        let mut sum = Sum::default();
        let mut sums = vec![sum];
        let sharing = history.sharing();
        for ((rounds, sample), places) in history.versions.iter().zip(&samples).zip(&history.rounds) {
            let own = sample.filter(|sample| sample.count >= ROUNDS).map(|sample| sample.variance());
            let variance =
                own.map_or(pooled, |own| own.max(LEAST_VARIANCE * pooled)).max(SMALLEST_SD.powi(2));
            if !rounds.is_empty() {
                // Versions of one round may share all of its noise; then they weigh as much as one.
                let rounds_of_its_own: f64 = places.iter().map(|round| 1.0 / sharing[round]).sum();
                let (weight, value) = (rounds_of_its_own / variance, mean(rounds) - middle);
                sum.weight += weight;
                sum.value += weight * value;
                sum.square += weight * value * value;
            }
            sums.push(sum);
        }
        Some(Sums(sums))
    }

    /// Weighted squares around one level, for the versions from `start` to before `end`.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let (before, after) = (self.0[start], self.0[end]);
        let weight = after.weight - before.weight;
        let value = after.value - before.value;
        let square = after.square - before.square;
        if weight > 0.0 { (square - value * value / weight).max(0.0) } else { 0.0 }
    }

    /// The first version of each level but the first, minimising the squares around the levels plus a penalty for each change: exact, by
    /// dynamic programming over all pairs of versions (Jackson et al. 2005).
    pub(super) fn boundaries(&self, penalty: f64) -> Vec<usize> {
        let versions = self.0.len() - 1;
        let mut best = vec![-penalty];
        let mut starts = vec![0];
        for end in 1..=versions {
            let with_start = |start: usize| best[start] + self.cost(start, end) + penalty;
            let start = (0..end).min_by(|left, right| with_start(*left).total_cmp(&with_start(*right)));
            let start = start.unwrap_or(0);
            best.push(with_start(start));
            starts.push(start);
        }
        let mut boundaries = Vec::new();
        let mut at = starts[versions];
        while at > 0 {
            boundaries.push(at);
            at = starts[at];
        }
        boundaries.reverse();
        boundaries
    }

    /// The largest penalty at which there still is a boundary; 0 if there never is one.
    pub(super) fn largest_penalty(&self) -> f64 {
        let versions = self.0.len() - 1;
        let whole = self.cost(0, versions);
        let mut largest = 0.0;
        loop {
            let boundaries = self.boundaries(largest);
            let ends = boundaries.iter().copied().chain([versions]);
            let starts = [0].into_iter().chain(boundaries.iter().copied());
            let cost: f64 = starts.zip(ends).map(|(start, end)| self.cost(start, end)).sum();
            // Each iteration finds a larger gain per boundary, until there is none (Dinkelbach 1967).
            let gain = (whole - cost) / boundaries.len() as f64;
            if boundaries.is_empty() || gain <= largest * (1.0 + 1e-12) {
                return largest;
            }
            largest = gain;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums(levels: &[f64]) -> Sums {
        let rounds = |level: &f64| vec![level - 1.0, level + 1.0];
        Sums::of(&History::new(levels.iter().map(rounds).collect(), 1.0).unwrap()).unwrap()
    }

    #[test]
    fn levels_are_found() {
        assert_eq!(sums(&[0.0, 0.0, 9.0, 9.0, 9.0, 2.0]).boundaries(4.0), [2, 5]);
        assert_eq!(sums(&[3.0; 7]).boundaries(4.0), [0usize; 0]);
        assert_eq!(sums(&[0.0]).boundaries(1.0), [0usize; 0]);
    }

    #[test]
    fn versions_without_rounds_bear_no_level() {
        let versions = vec![vec![0.0, 0.1], vec![], vec![5.0, 5.1], vec![]];
        let sums = Sums::of(&History::new(versions, 1.0).unwrap()).unwrap();
        assert_eq!(sums.boundaries(4.0).len(), 1);
        assert!(Sums::of(&History::default()).is_none());
    }

    proptest! {
        #[test]
        fn no_other_segmentation_is_better(levels in prop::collection::vec(-5.0..5.0f64, 1..10), penalty in 0.1..20.0f64) {
            let sums = sums(&levels);
            let total = |boundaries: &[usize]| {
                let mut ends = boundaries.to_vec();
                ends.push(levels.len());
                let starts = [0].into_iter().chain(boundaries.iter().copied());
                let cost: f64 = starts.zip(ends).map(|(start, end)| sums.cost(start, end)).sum();
                cost + penalty * boundaries.len() as f64
            };
            let best = total(&sums.boundaries(penalty));
            for pattern in 0..1usize << (levels.len() - 1) {
                let other: Vec<usize> = (1..levels.len()).filter(|at| pattern >> (at - 1) & 1 == 1).collect();
                prop_assert!(best <= total(&other) + 1e-6);
            }
        }

        #[test]
        fn the_largest_penalty_divides_some_from_none(levels in prop::collection::vec(-5.0..5.0f64, 2..12)) {
            let sums = sums(&levels);
            let largest = sums.largest_penalty();
            prop_assert!(sums.boundaries(largest * 1.001 + 1e-9).is_empty());
            prop_assert!(!sums.boundaries(largest * 0.999).is_empty());
        }
    }
}
