//! Tests whether throughput moves within a round, and whether the order favours a side.

use crate::comparison::Round;
use crate::sample::{Sample, mean};

/// The level at which a trend or an order effect is reported.
const LEVEL: f64 = 0.01;

/// With fewer rounds, neither can be told from chance.
const ROUNDS: usize = 3;

/// Whether a candidate's slices get faster or slower within rounds: Student's test over rounds at 1 %, on the change along each round's
/// least-squares line, and a mean change of more than half of the margin.
///
/// Tests on slices (Kendall's) assume that slices are independent, which they are not: with a lag-1 correlation of 0.7 and a drifting
/// machine they flag every fourth steady step.
pub(crate) fn is_not_steady<'a>(rounds: impl Iterator<Item = &'a [f64]>, margin: f64) -> bool {
    let changes: Vec<f64> = rounds.filter(|slices| slices.len() >= 2).map(change).collect();
    is_other_than_zero(&changes) && mean(&changes).abs() > margin / 2.0
}

/// Whether the first half of a round less the second differs between base and contender: Student's test over rounds at 1 %.
pub(crate) fn has_order_effect(rounds: &[Round]) -> bool {
    let difference = |slices: &[f64]| {
        let half = slices.len() / 2;
        (half > 0).then(|| mean(&slices[..half]) - mean(&slices[slices.len() - half..]))
    };
    let differences: Vec<f64> = rounds
        .iter()
        .filter_map(|round| Some(difference(&round.contender)? - difference(&round.base)?))
        .collect();
    is_other_than_zero(&differences)
}

/// Whether the mean of one value per round differs from 0.
pub(crate) fn is_other_than_zero(values: &[f64]) -> bool {
    values.len() >= ROUNDS && Sample::of(values).is_some_and(|sample| sample.p_value() < LEVEL)
}

/// The change from the first to the last of several values, along the least-squares line.
fn change(values: &[f64]) -> f64 {
    let middle = (values.len() - 1) as f64 / 2.0;
    let place = |index: usize| index as f64 - middle;
    let products: f64 = values.iter().enumerate().map(|(index, value)| place(index) * value).sum();
    2.0 * middle * products / (0..values.len()).map(|index| place(index).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fall_over_the_round_is_not_steady() {
        let fall: Vec<f64> = (0..20).map(|slice| 10.0 - 0.001 * f64::from(slice)).collect();
        assert!(is_not_steady([&fall[..], &fall, &fall].into_iter(), 0.02));
        assert!(!is_not_steady([&fall[..], &fall, &fall].into_iter(), 0.05));
        assert!(!is_not_steady(std::iter::empty(), 0.02));
        assert!(!is_not_steady([&[3.0; 9][..]; 5].into_iter(), 0.02));
    }

    #[test]
    fn order_matters_where_one_side_fades() {
        let round = |fade: f64, noise: f64| Round {
            base: vec![1.0, 1.0, 1.0 + noise, 1.0],
            contender: vec![1.0, 1.0, 1.0 - fade, 1.0 - fade],
            ..Round::default()
        };
        assert!(has_order_effect(&[round(0.1, 0.001), round(0.1, 0.002), round(0.1, -0.001)]));
        assert!(!has_order_effect(&[round(0.0, 0.01), round(0.0, -0.01), round(0.0, 0.001)]));
        assert!(!has_order_effect(&[round(0.1, 0.0)]));
    }
}
