//! The data of one interim analysis, and the basis on which effects are computed. Both depend only on the rounds up to the analysis, so
//! later rounds never change an earlier analysis.

use crate::autocorrelation::Merged;
use crate::comparison::{Comparison, Round};
use crate::load_correlation::design_effect;
use crate::sample::{Sample, mean};
use crate::scheduled::RANKS_FROM;
use crate::signed_rank::{median, walsh_averages};
use crate::trend::is_other_than_zero;

/// How the effects of rounds are computed. Interim analyses are combined only if they share a basis: a difference of means estimates
/// something else than a typical difference, and correlated rounds are worth fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Basis {
    /// Whether one side stalls more than the other, so that means are compared.
    pub(crate) has_stalls: bool,
    /// How many rounds are averaged into one value.
    pub(crate) rounds_each: usize,
    /// How many nodes the rounds are of: each further one changes what their mean estimates.
    pub(crate) nodes: usize,
}

/// The values that an interim analysis uses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InterimData {
    /// The number of rounds at the analysis.
    pub(crate) rounds: usize,
    /// How the values were computed.
    pub(crate) basis: Basis,
    /// Effects, merged if they correlate, and spread out as far as rounds of one load resemble each other.
    pub(crate) values: Vec<f64>,
    /// Of several nodes: mean and scatter within nodes, in place of those of the values.
    pub(crate) within_nodes: Option<Sample>,
}

impl InterimData {
    /// The data after all rounds of a comparison, without a regard to loads.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        InterimData::after(comparison, comparison.rounds.len(), 0.0)
    }

    /// The data after the first `rounds` rounds of a comparison, as if there were no others. Rounds of one load correlate by
    /// `load_correlation`, 0 to 1.
    pub(crate) fn after(comparison: &Comparison, rounds: usize, load_correlation: f64) -> Self {
        let seen = &comparison.rounds[..rounds];
        let has_stalls = has_stalls(seen, comparison.margin);
        let merged = Merged::of(effects(seen, has_stalls));
        let basis = Basis { has_stalls, rounds_each: merged.rounds_each, nodes: 1 };
        let values = match merged.rounds_each {
            1 => {
                let effect = design_effect(seen.iter().map(|round| round.conditions.load), load_correlation);
                spread(merged.effects, effect.sqrt())
            }
            // Rounds that were merged are merged with their mates.
            _ => merged.effects,
        };
        InterimData { rounds, basis, values, within_nodes: None }
    }
}

impl Basis {
    /// All rounds of a comparison on this basis.
    pub(crate) fn values(self, comparison: &Comparison) -> Vec<f64> {
        Merged::by(effects(&comparison.rounds, self.has_stalls), self.rounds_each)
    }
}

/// The effects of rounds: typical differences, or differences of means if one side stalls more than the other.
pub(crate) fn effects(rounds: &[Round], has_stalls: bool) -> Vec<f64> {
    let weight = if has_stalls { 1.0 } else { 0.0 };
    rounds.iter().map(|round| round.effect + weight * round.stalls).collect()
}

/// Values so many times as far from their centre, which is that of the interval's estimate.
pub(crate) fn spread(values: Vec<f64>, factor: f64) -> Vec<f64> {
    if factor <= 1.0 {
        return values;
    }
    let centre = if values.len() < RANKS_FROM { mean(&values) } else { median(&mut walsh_averages(&values)) };
    values.into_iter().map(|value| centre + factor * (value - centre)).collect()
}

/// Whether one side stalls more than the other: Student's test over rounds at 1 %, and a mean of more than half of the margin. Disturbances
/// by others hit either side by chance.
pub(crate) fn has_stalls(rounds: &[Round], margin: f64) -> bool {
    let stalls: Vec<f64> = rounds.iter().map(|round| round.stalls).collect();
    is_other_than_zero(&stalls) && crate::sample::mean(&stalls).abs() > margin / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_of_one_side_count_and_those_by_chance_do_not() {
        let stalls_of = |stalls: [f64; 5]| {
            let round = |stalls| Round { effect: 0.004, stalls, ..Round::default() };
            let comparison = Comparison { rounds: stalls.map(round).into(), margin: 0.02 };
            let InterimData { basis, values, .. } = InterimData::of(&comparison);
            (basis.has_stalls, values[4])
        };
        assert_eq!(stalls_of([0.02, -0.015, 0.0, 0.01, -0.018]), (false, 0.004));
        let (stalls, last) = stalls_of([-0.03, -0.028, -0.032, -0.029, -0.03]);
        assert!(stalls && (last + 0.026).abs() < 1e-12);
    }
}
