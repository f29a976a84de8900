//! Zipf's distribution by rejection-inversion.

use crate::generator::Generator;

/// A bounded Zipf distribution: rank `i` of `1..=ranks` has a probability proportional to `i^-exponent`.
///
/// W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM
/// TOMACS 6 (1996) 169; as in the samplers of Apache Commons RNG.
#[derive(Debug, Clone)]
pub(super) struct Zipfian {
    ranks: f64,
    exponent: f64,
    /// The hat's integral at 1.5, less the probability mass of rank 1.
    first: f64,
    /// The hat's integral beyond the last rank.
    last: f64,
    /// Ranks this close to their variate are accepted without evaluating the hat.
    margin: f64,
}

impl Zipfian {
    pub(super) fn new(ranks: u64, exponent: f64) -> Self {
        let mut zipfian = Zipfian { ranks: ranks as f64, exponent, first: 0.0, last: 0.0, margin: 0.0 };
        zipfian.first = zipfian.integral(1.5) - 1.0;
        zipfian.last = zipfian.integral(zipfian.ranks + 0.5);
        zipfian.margin = 2.0 - zipfian.inverse(zipfian.integral(2.5) - zipfian.hat(2.0));
        zipfian
    }

    /// A rank, counted from 1.
    #[inline]
    pub(super) fn rank(&self, generator: &mut Generator) -> u64 {
        loop {
            let area = self.last + generator.unit() * (self.first - self.last);
            let variate = self.inverse(area);
            let rank = (variate + 0.5).floor().clamp(1.0, self.ranks);
            if rank - variate <= self.margin || area >= self.integral(rank + 0.5) - self.hat(rank) {
                return rank as u64;
            }
        }
    }

    fn hat(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the hat from 1 to `x`: `(x^(1-e) - 1) / (1-e)`, and `ln x` where `e` is 1.
    fn integral(&self, x: f64) -> f64 {
        let logarithm = x.ln();
        expm1_ratio((1.0 - self.exponent) * logarithm) * logarithm
    }

    fn inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        (ln_1p_ratio(scaled) * area).exp()
    }
}

/// `(e^x - 1) / x`, by its series where the formula would lose digits.
fn expm1_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + 0.25 * x)) }
}

/// `ln(1 + x) / x`, by its series where the formula would lose digits.
fn ln_1p_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x * (1.0 / 3.0 - 0.25 * x)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of `draws` draws that fall on ranks up to `rank`.
    fn share(ranks: u64, exponent: f64, rank: u64) -> f64 {
        let zipfian = Zipfian::new(ranks, exponent);
        let mut generator = Generator::of(1, "zipfian", 0);
        let draws = 400_000;
        let hits = (0..draws).filter(|_| zipfian.rank(&mut generator) <= rank).count();
        hits as f64 / f64::from(draws)
    }

    #[test]
    fn the_stated_probabilities() {
        // P(1) = 0.00825 for ten million ranks; one standard deviation here is 0.00014.
        assert!((share(10_000_000, 0.8, 1) - 0.008_25).abs() < 0.000_6);
        // The first 1 % get 38 % of the draws and the first 10 % get 62 %; one standard deviation is 0.0008.
        assert!((share(10_000_000, 0.8, 100_000) - 0.38).abs() < 0.01);
        assert!((share(10_000_000, 0.8, 1_000_000) - 0.62).abs() < 0.01);
    }

    #[test]
    fn any_exponent() {
        for exponent in [0.0, 0.5, 1.0, 1.5, 3.0] {
            let weight = |rank: u64| (rank as f64).powf(-exponent);
            let expected = weight(1) / (1..=50).map(weight).sum::<f64>();
            assert!((share(50, exponent, 1) - expected).abs() < 0.005, "exponent {exponent}");
        }
        assert_eq!(share(1, 0.8, 1), 1.0);
    }
}
