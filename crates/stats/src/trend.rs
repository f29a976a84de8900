//! Whether throughput moves within a round, and whether order favours a side.

use crate::comparison::Round;
use crate::distribution::normal_tail;
use crate::sample::{SMALLEST_SD, Sample, mean};

/// The level at which a trend or an effect of the order is told.
const LEVEL: f64 = 0.01;

/// Below so many rounds an effect of the order is not told from chance.
const ROUNDS: usize = 3;

/// Whether the slices of one candidate become faster or slower within rounds: Kendall's test on the index of a slice, summed
/// over rounds (Hirsch, Slack & Smith 1982), at 1 %, and a mean trend over a round of more than half of the margin.
pub(crate) fn is_not_steady<'a>(rounds: impl Iterator<Item = &'a [f64]>, margin: f64) -> bool {
    let (mut score, mut variance) = (0.0, 0.0);
    let mut changes = Vec::new();
    for slices in rounds.filter(|slices| slices.len() >= 2) {
        for (index, later) in slices.iter().enumerate() {
            score += f64::from(slices[..index].iter().map(|earlier| sign(later - earlier)).sum::<i32>());
        }
        let count = slices.len() as f64;
        variance += count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
        changes.push(slope(slices) * (count - 1.0));
    }
    // One step towards 0 for continuity.
    let z = (score.abs() - 1.0).max(0.0) / variance.sqrt();
    !changes.is_empty() && 2.0 * normal_tail(z) < LEVEL && mean(&changes).abs() > margin / 2.0
}

/// Whether the first halves of rounds, less the second, differ between base and contender: Student's test over rounds at 1 %.
pub(crate) fn has_order_effect(rounds: &[Round]) -> bool {
    let difference = |slices: &[f64]| {
        let half = slices.len() / 2;
        (half > 0).then(|| mean(&slices[..half]) - mean(&slices[slices.len() - half..]))
    };
    let differences: Vec<f64> = rounds
        .iter()
        .filter_map(|round| Some(difference(&round.contender)? - difference(&round.base)?))
        .collect();
    differences.len() >= ROUNDS && Sample::of(&differences).is_some_and(|sample| sample.p_value() < LEVEL)
}

/// 1, −1, or 0 for what differs by less than a clock tells.
fn sign(difference: f64) -> i32 {
    i32::from(difference > SMALLEST_SD) - i32::from(difference < -SMALLEST_SD)
}

/// The slope of the least-squares line through values one apart.
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() - 1) as f64 / 2.0;
    let place = |index: usize| index as f64 - middle;
    let products: f64 = values.iter().enumerate().map(|(index, value)| place(index) * value).sum();
    products / (0..values.len()).map(|index| place(index).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fall_over_the_round_is_not_steady() {
        let fall: Vec<f64> = (0..20).map(|slice| 10.0 - 0.001 * f64::from(slice)).collect();
        assert!(is_not_steady([&fall[..], &fall].into_iter(), 0.02));
        assert!(!is_not_steady([&fall[..], &fall].into_iter(), 0.05));
        assert!(!is_not_steady(std::iter::empty(), 0.02));
        assert!(!is_not_steady([&[3.0; 9][..]].into_iter(), 0.02));
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
