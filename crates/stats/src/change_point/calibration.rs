//! Calibrates the penalty for a change.

use super::History;
use super::segmentation::Sums;
use crate::orders::Stream;

/// The smallest penalty at which no more than a `share` (0 to 1) of histories without changes show any boundary. Such histories are made
/// from this one: within each round the effects are permuted among the versions at random, `relabellings` times, from a seed. 0 if no
/// version has two rounds.
pub fn calibrated_penalty(history: &History, share: f64, relabellings: usize, seed: u64) -> f64 {
    let relabelled = |index: usize| {
        let mut history = history.clone();
        deal(&mut history.versions, &mut Stream::new(seed, "relabel", "", index));
        Sums::of(&history).map_or(0.0, |sums| sums.largest_penalty())
    };
    let mut largest: Vec<f64> = (0..relabellings).map(relabelled).collect();
    largest.sort_by(f64::total_cmp);
    let above = (share * relabellings as f64) as usize;
    largest.len().checked_sub(above + 1).map_or(0.0, |place| largest[place])
}

/// Permutes the effects of each round among the versions that have it.
fn deal(versions: &mut [Vec<f64>], stream: &mut Stream) {
    let rounds = versions.iter().map(Vec::len).max().unwrap_or(0);
    for round in 0..rounds {
        let mut effects: Vec<f64> = versions.iter().filter_map(|rounds| rounds.get(round).copied()).collect();
        stream.shuffle(&mut effects);
        let places = versions.iter_mut().filter_map(|rounds| rounds.get_mut(round));
        places.zip(effects).for_each(|(place, effect)| *place = effect);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dealing_keeps_every_round_together() {
        let mut versions = vec![vec![1.0, 10.0], vec![2.0], vec![3.0, 30.0, 300.0]];
        deal(&mut versions, &mut Stream::new(5, "", "", 0));
        let mut first: Vec<f64> = versions.iter().map(|rounds| rounds[0]).collect();
        first.sort_by(f64::total_cmp);
        assert_eq!(first, [1.0, 2.0, 3.0]);
        assert_eq!(versions[0][1] + versions[2][1], 40.0);
        assert_eq!(versions[2][2], 300.0);
    }

    #[test]
    fn a_history_that_says_nothing_needs_no_penalty() {
        assert_eq!(calibrated_penalty(&History::default(), 0.05, 20, 1), 0.0);
        assert_eq!(calibrated_penalty(&History::default(), 0.05, 0, 1), 0.0);
    }
}
