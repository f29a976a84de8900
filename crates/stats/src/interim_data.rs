//! What an interim analysis sees, and how it takes it. Both follow from the rounds up to it alone: whatever comes later, an interim analysis that was taken stays
//! as it was.

use crate::autocorrelation::Merged;
use crate::comparison::{Comparison, Round};
use crate::trend::is_other_than_zero;

/// How the effects of rounds are taken. Interim analyses are held against each other only where they take them alike: a difference of means is of
/// something else than a typical difference, and rounds that hang together are fewer than they look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Basis {
    /// Whether one side stalls more than the other, so that means are compared.
    pub(crate) has_stalls: bool,
    /// How many rounds are averaged to a value.
    pub(crate) rounds_each: usize,
}

/// The values that an interim analysis after so many rounds sees.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InterimData {
    /// How many rounds.
    pub(crate) rounds: usize,
    /// How they were taken.
    pub(crate) basis: Basis,
    /// Effects, merged where they hang together.
    pub(crate) values: Vec<f64>,
}

impl InterimData {
    /// At all rounds of a comparison.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        InterimData::after(comparison, comparison.rounds.len())
    }

    /// At the first rounds of a comparison, as if there were no others.
    pub(crate) fn after(comparison: &Comparison, rounds: usize) -> Self {
        let seen = &comparison.rounds[..rounds];
        let has_stalls = has_stalls(seen, comparison.margin);
        let merged = Merged::of(effects(seen, has_stalls));
        let basis = Basis { has_stalls, rounds_each: merged.rounds_each };
        InterimData { rounds, basis, values: merged.effects }
    }
}

impl Basis {
    /// All rounds of a comparison, taken like this.
    pub(crate) fn values(self, comparison: &Comparison) -> Vec<f64> {
        Merged::by(effects(&comparison.rounds, self.has_stalls), self.rounds_each)
    }
}

/// The effects of rounds: the typical ones, or where one side stalls more than the other the differences of means.
pub(crate) fn effects(rounds: &[Round], has_stalls: bool) -> Vec<f64> {
    let weight = if has_stalls { 1.0 } else { 0.0 };
    rounds.iter().map(|round| round.effect + weight * round.stalls).collect()
}

/// Whether one side stalls more than the other: Student's test over rounds at 1 %, and a mean of more than half of the margin. What
/// others do hits either side by chance.
fn has_stalls(rounds: &[Round], margin: f64) -> bool {
    let stalls: Vec<f64> = rounds.iter().map(|round| round.stalls).collect();
    is_other_than_zero(&stalls) && crate::sample::mean(&stalls).abs() > margin / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_of_one_side_count_and_those_by_chance_do_not() {
        let of = |stalls: [f64; 5]| {
            let round = |stalls| Round { effect: 0.004, stalls, ..Round::default() };
            let comparison = Comparison { rounds: stalls.map(round).into(), margin: 0.02 };
            let InterimData { basis, values, .. } = InterimData::of(&comparison);
            (basis.has_stalls, values[4])
        };
        assert_eq!(of([0.02, -0.015, 0.0, 0.01, -0.018]), (false, 0.004));
        let (stalls, last) = of([-0.03, -0.028, -0.032, -0.029, -0.03]);
        assert!(stalls && (last + 0.026).abs() < 1e-12);
    }
}
