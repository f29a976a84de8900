//! Rounds that correlate with the round before.

use crate::sample::{SMALLEST_SD, Sample, mean};

/// From this many rounds on, dependence is tested.
const ROUNDS: usize = 10;

/// The autocorrelation above which neighbours are merged: an autocorrelation of 0.3, left alone, turns an error of 5 % into 18 %.
const LARGEST: f64 = 0.25;

/// The lag-1 autocorrelation; `None` if the values do not vary.
fn of_neighbours(values: &[f64]) -> Option<f64> {
    let sample = Sample::of(values)?;
    let products = values.windows(2).map(|pair| (pair[0] - sample.mean) * (pair[1] - sample.mean));
    let squares: f64 = values.iter().map(|value| (value - sample.mean).powi(2)).sum();
    (sample.sd > SMALLEST_SD).then(|| products.sum::<f64>() / squares)
}

/// Effects whose neighbours have been merged until they no longer correlate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merged {
    /// The merged effects, each the mean of `rounds_each` rounds.
    pub(crate) effects: Vec<f64>,
    /// How many rounds each effect averages: 1, 2, 4 ….
    pub(crate) rounds_each: usize,
}

impl Merged {
    /// Merges pairs while there are ten values or more with an autocorrelation above 0.25. A last value without a partner is left out until
    /// it has one.
    pub(crate) fn of(mut effects: Vec<f64>) -> Self {
        let mut rounds_each = 1;
        while effects.len() >= ROUNDS && of_neighbours(&effects).is_some_and(|found| found > LARGEST) {
            effects = effects.chunks_exact(2).map(mean).collect();
            rounds_each *= 2;
        }
        Merged { effects, rounds_each }
    }

    /// Means of `rounds_each` neighbours.
    pub(crate) fn by(effects: Vec<f64>, rounds_each: usize) -> Vec<f64> {
        if rounds_each == 1 { effects } else { effects.chunks_exact(rounds_each).map(mean).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_is_merged_and_an_alternation_is_not() {
        let wave: Vec<f64> = (0..21).map(|round| if round % 8 < 4 { 0.01 } else { -0.01 }).collect();
        let merged = Merged::of(wave);
        assert!(merged.rounds_each >= 2 && merged.effects.len() == 21 / merged.rounds_each);
        let alternation: Vec<f64> = (0..20).map(|round| if round & 1 == 0 { 0.01 } else { -0.01 }).collect();
        assert_eq!(Merged::of(alternation).rounds_each, 1);
        assert_eq!(Merged::of(vec![-0.03; 12]).rounds_each, 1);
        assert_eq!(Merged::of(vec![]).rounds_each, 1);
    }
}
