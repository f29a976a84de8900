//! Analyses after every round, without a last one.

use crate::distribution::t_p_value;
use crate::interim_data::InterimData;
use crate::interval::{Estimator, Interval};
use crate::reading::{Reading, SMALLEST_P};
use crate::sample::Sample;
use crate::signed_rank::{SignedRank, walsh_averages};

/// c² of the mixture: the weight of the prior, in rounds.
const MIXTURE: f64 = 2.0;

/// Above this many rounds the exact signed-rank distribution gives no second opinion.
const RANKS_UP_TO: usize = 60;

/// Reads the confidence sequence of the Gaussian mixture at error `alpha`, using the analyses with the same basis as the last one (Robbins
/// 1970; with estimated variance, Wang & Ramdas 2023). It is exact for normal effects at any number of rounds. `None` below two rounds.
pub(crate) fn read(interim_data: &[InterimData], alpha: f64) -> Option<Reading> {
    let now = interim_data.last()?;
    let effects = &now.values;
    let (mut interval, mut last, mut largest) = (Interval::ALL, Interval::ALL, f64::NEG_INFINITY);
    for data in interim_data.iter().filter(|data| data.basis == now.basis) {
        let sample = Sample::of(&data.values)?;
        let count = sample.count as f64;
        let variance = (sample.variance() * (count - 1.0) / count).max(smallest_variance(count));
        last = Interval::around(sample.mean, half_width(variance, count, alpha));
        interval = interval.and(last);
        largest = largest.max(ln_evidence(sample.mean * sample.mean / variance, count));
    }
    let sample = Sample::of(effects)?;
    let freedom = sample.freedom();
    // The level of a single t interval with the same width.
    let level = t_p_value(last.half_width() / sample.standard_error(), freedom);
    let contested = effects.len() <= RANKS_UP_TO && {
        let exact = SignedRank::of(effects.len());
        let ranks = Interval::of_signed_ranks(&mut walsh_averages(effects), &exact, level);
        ranks.half_width().is_finite() && ranks.contains(0.0) != last.contains(0.0)
    };
    Some(Reading {
        interval,
        last,
        estimate: sample.mean,
        estimator: Estimator::Mean,
        level,
        used: now.rounds,
        repeated_p: (-largest).exp().clamp(SMALLEST_P, 1.0),
        contested,
    })
}

/// The number of rounds after which the sequence is first bounded.
pub(crate) fn first_analysis(alpha: f64) -> usize {
    (2..)
        .find(|count| half_width(1.0, f64::from(*count), alpha).is_finite())
        .map_or(2, |count: u32| count as usize)
}

/// The smallest variance, with n in place of n − 1.
fn smallest_variance(count: f64) -> f64 {
    crate::sample::SMALLEST_SD.powi(2) * (count - 1.0) / count
}

/// Half-width of the sequence after `count` rounds; `variance` is computed with n.
fn half_width(variance: f64, count: f64, alpha: f64) -> f64 {
    let ratio = ((count + MIXTURE) / (MIXTURE * alpha * alpha)).powf(1.0 / count);
    let room = 1.0 - ratio * MIXTURE / (count + MIXTURE);
    if room > 0.0 { (variance * (ratio - 1.0) / room).sqrt() } else { f64::INFINITY }
}

/// Half-width in standard errors.
pub(crate) fn critical(rounds: usize, alpha: f64) -> f64 {
    let count = rounds as f64;
    half_width((count - 1.0) / count, count, alpha) * count.sqrt()
}

/// The logarithm of the evidence (e-value) against 0, given the squared ratio of mean to standard deviation. The sequence inverts it: 0 is
/// excluded where the evidence exceeds 1/α.
fn ln_evidence(squared_ratio: f64, count: f64) -> f64 {
    let shrunk = squared_ratio * MIXTURE / (count + MIXTURE);
    0.5 * (MIXTURE / (count + MIXTURE)).ln() + 0.5 * count * ((1.0 + squared_ratio) / (1.0 + shrunk)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_closed_form() {
        for (count, expected) in [(6, 9.13), (8, 4.80), (10, 4.08), (16, 3.51), (20, 3.39), (40, 3.24)] {
            let scaled = critical(count, 0.05);
            assert!((scaled - expected).abs() < 0.01, "{count} {scaled}");
        }
        assert_eq!(critical(3, 0.05), f64::INFINITY);
        assert_eq!(first_analysis(0.05), 6);
    }
}
