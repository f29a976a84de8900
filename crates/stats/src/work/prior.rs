//! What many variances say of one: each is known from two or three values, but there are many of them.

use statrs::function::gamma::digamma;

use crate::sample::mean;
use crate::scatter::Scatter;

/// Standard deviations below this say nothing: counts that agree to the last instruction are not known better than others.
const SMALLEST_SD: f64 = 0.000_05;
/// With fewer variances, nothing is said of how they differ from each other.
const LEAST_TO_COMPARE: usize = 4;
/// A variance is left out of what is said of the others if its logarithm is so many of their deviations above them.
const OUTLYING: f64 = 4.0;
/// What makes the median absolute deviation a standard deviation, for normal values.
const MAD_TO_SD: f64 = 1.4826;

/// Variances of a kind, taken to be a scaled inverse χ² around a typical one (Smyth 2004, "Linear models and empirical Bayes methods for
/// assessing differential expression", section 6).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct VariancePrior {
    variance: f64,
    /// How many degrees of freedom the typical variance is worth for a single one. Large if all are alike.
    freedom: f64,
    /// The degrees of freedom of all variances that it is made of. Nothing is known better.
    known: f64,
}

impl VariancePrior {
    /// From the variances of a kind. `None` without any.
    pub(super) fn of(known: &[Scatter]) -> Option<VariancePrior> {
        let all: f64 = known.iter().map(|scatter| scatter.freedom).sum();
        if known.len() < LEAST_TO_COMPARE {
            let squares: f64 = known.iter().map(|scatter| scatter.variance * scatter.freedom).sum();
            return (all > 0.0).then(|| VariancePrior { variance: squares / all, freedom: all, known: all });
        }
        let ordinary = ordinary(known);
        let centred: Vec<f64> = ordinary.iter().map(|scatter| centred_logarithm(scatter)).collect();
        let middle = mean(&centred);
        let spread: f64 =
            centred.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (centred.len() - 1) as f64;
        let by_chance: Vec<f64> = ordinary.iter().map(|scatter| trigamma(0.5 * scatter.freedom)).collect();
        let freedom = (2.0 * inverse_trigamma(spread - mean(&by_chance))).min(all);
        let variance = (middle + digamma(0.5 * freedom) - (0.5 * freedom).ln()).exp();
        Some(VariancePrior { variance, freedom, known: all })
    }

    /// A variance in the light of others of its kind: what both say together, and no less than what it says itself. `None` if neither
    /// says anything.
    pub(super) fn judge(prior: Option<VariancePrior>, own: Option<Scatter>) -> Option<Scatter> {
        let Some(VariancePrior { variance, freedom, known }) = prior else { return own };
        let Some(own) = own else { return Some(Scatter { variance, freedom }) };
        let together = freedom + own.freedom;
        let moderated = (freedom * variance + own.freedom * own.variance) / together;
        Some(Scatter { variance: moderated.max(own.variance), freedom: together.min(known) })
    }

    /// The degrees of freedom of all that is known.
    pub(super) fn known(self) -> f64 {
        self.known
    }
}

/// Those that do not stand out above the others. A session that does a hundred times the usual says nothing of usual ones.
fn ordinary(known: &[Scatter]) -> Vec<&Scatter> {
    let mut logarithms: Vec<f64> = known.iter().map(centred_logarithm).collect();
    let middle = median(&mut logarithms);
    let mut distances: Vec<f64> = logarithms.iter().map(|value| (value - middle).abs()).collect();
    // One degree of freedom alone makes logarithms deviate by this much.
    let deviation = (MAD_TO_SD * median(&mut distances)).max(trigamma(0.5).sqrt());
    known.iter().filter(|scatter| centred_logarithm(scatter) <= middle + OUTLYING * deviation).collect()
}

/// ln of a variance, less what its degrees of freedom make of it on average.
fn centred_logarithm(scatter: &Scatter) -> f64 {
    let half = 0.5 * scatter.freedom;
    scatter.variance.max(SMALLEST_SD * SMALLEST_SD).ln() - digamma(half) + half.ln()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len().is_multiple_of(2) { 0.5 * (values[half - 1] + values[half]) } else { values[half] }
}

/// The second derivative of ln Γ: by recurrence up to 10, then the asymptotic series (Abramowitz & Stegun 6.4.6, 6.4.12).
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    sum + inverse * (1.0 + 0.5 * inverse + square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0)))
}

/// The x at which trigamma is this; infinite for 0 and below. Trigamma falls, so that halving an interval finds it.
fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high): (f64, f64) = (1e-3, 1e6);
    if value <= trigamma(high) {
        return f64::INFINITY;
    }
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > value { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::simulation::Simulation;

    #[test]
    fn trigamma_is_that_of_printed_tables() {
        let pi_squared = std::f64::consts::PI.powi(2);
        assert!((trigamma(1.0) - pi_squared / 6.0).abs() < 1e-9);
        assert!((trigamma(0.5) - pi_squared / 2.0).abs() < 1e-9);
        for x in [0.3, 1.0, 7.5, 300.0] {
            assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-6, "{x}");
        }
        assert_eq!(inverse_trigamma(-0.1), f64::INFINITY);
    }

    /// Variances with this many degrees of freedom around standard deviations that `sd` draws.
    fn drawn(freedom: usize, count: usize, sd: impl Fn(&mut Simulation) -> f64) -> Vec<Scatter> {
        let mut simulation = Simulation::new("variances", freedom * 1000 + count);
        (0..count)
            .map(|_| {
                let sd = sd(&mut simulation);
                let values: Vec<f64> = (0..=freedom).map(|_| sd * simulation.gaussian()).collect();
                Scatter::of([values.as_slice()]).unwrap()
            })
            .collect()
    }

    #[test]
    fn variances_that_are_alike_are_worth_many_degrees_of_freedom() {
        let prior = VariancePrior::of(&drawn(1, 200, |_| 0.001)).unwrap();
        assert!((0.8..1.25).contains(&(prior.variance.sqrt() / 0.001)), "{prior:?}");
        assert!(prior.freedom > 10.0, "{prior:?}");
    }

    #[test]
    fn variances_that_differ_are_worth_few() {
        let from_hundredth = |simulation: &mut Simulation| 0.003 * 0.01_f64.powf(simulation.uniform());
        let prior = VariancePrior::of(&drawn(1, 200, from_hundredth)).unwrap();
        assert!((0.3..4.0).contains(&prior.freedom), "{prior:?}");
    }

    #[test]
    fn one_that_stands_out_says_nothing_of_the_others() {
        let mut known = drawn(1, 64, |_| 0.001);
        let before = VariancePrior::of(&known).unwrap();
        known.push(Scatter { variance: 1.0, freedom: 1.0 });
        let after = VariancePrior::of(&known).unwrap();
        assert!((after.variance / before.variance - 1.0).abs() < 0.01, "{before:?} {after:?}");
        let own = Scatter { variance: 1.0, freedom: 1.0 };
        assert_eq!(VariancePrior::judge(Some(before), Some(own)).unwrap().variance, 1.0);
    }

    #[test]
    fn few_are_pooled_and_none_say_nothing() {
        assert_eq!(VariancePrior::of(&[]), None);
        let scatter = |variance, freedom| Scatter { variance, freedom };
        let prior = VariancePrior::of(&[scatter(1.0, 1.0), scatter(4.0, 2.0)]).unwrap();
        assert_eq!((prior.variance, prior.freedom), (3.0, 3.0));
        assert_eq!(VariancePrior::judge(None, None), None);
        assert_eq!(VariancePrior::judge(Some(prior), None), Some(scatter(3.0, 3.0)));
    }
}
