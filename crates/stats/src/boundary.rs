//! The group-sequential boundary: how strict each interim analysis has to be to keep the overall error at the planned level.

use crate::distribution::{normal_density, normal_tail};
use crate::interim_analyses::InterimAnalyses;
use crate::quadrature::Quadrature;

/// Critical values of a two-sided test with several interim analyses. The error is spent in proportion to the rounds: α·n/n_max up to the
/// analysis after n of n_max rounds (Lan & DeMets 1983).
#[derive(Debug, Clone)]
pub(crate) struct Boundary {
    /// The critical value of a standard normal statistic at each interim analysis.
    pub(crate) critical: Vec<f64>,
}

/// The density of the sum of scores at an interim analysis, over paths that have not crossed a boundary before; it is even.
struct Survivors {
    rule: Quadrature,
    density: Vec<f64>,
}

impl Boundary {
    /// The boundary for an overall error of `alpha` (0 to 1) over these interim analyses, by the recursion of Armitage, McPherson & Rowe
    /// (1969) on the score process with known variance.
    pub(crate) fn new(alpha: f64, analyses: &InterimAnalyses) -> Self {
        let last = analyses.last() as f64;
        let mut critical = Vec::with_capacity(analyses.rounds().len());
        let mut survivors: Option<Survivors> = None;
        let mut elapsed = 0.0;
        for rounds in analyses.rounds() {
            let time = *rounds as f64 / last;
            let sd = (time - elapsed).sqrt();
            let spent = alpha * (time - elapsed);
            let bound = bound(|at| tail(survivors.as_ref(), at, sd) - spent, time.sqrt());
            critical.push(bound / time.sqrt());
            let points = 24 + (2.0 * bound / sd).ceil() as usize;
            let rule = Quadrature::from_zero(bound, points);
            let density = rule.points.iter().map(|at| arriving(survivors.as_ref(), *at, sd)).collect();
            survivors = Some(Survivors { rule, density });
            elapsed = time;
        }
        Boundary { critical }
    }

    /// The two-sided level of each interim analysis by itself.
    pub(crate) fn nominal_levels(&self) -> impl Iterator<Item = f64> {
        self.critical.iter().map(|critical| 2.0 * normal_tail(*critical))
    }
}

impl Survivors {
    /// The integral of the density times `value` over both halves.
    fn integral(&self, value: impl Fn(f64) -> f64) -> f64 {
        let points = self.rule.points.iter().zip(&self.rule.weights).zip(&self.density);
        points.map(|((point, weight), density)| weight * density * (value(*point) + value(-point))).sum()
    }
}

/// The probability that a path that has crossed nothing before ends at or beyond ±`at`, after a step with standard deviation `sd`.
fn tail(survivors: Option<&Survivors>, at: f64, sd: f64) -> f64 {
    let beyond = |from: f64| normal_tail((at - from) / sd);
    survivors.map_or_else(|| 2.0 * beyond(0.0), |survivors| 2.0 * survivors.integral(beyond))
}

/// The density at `at` after a step with standard deviation `sd`.
fn arriving(survivors: Option<&Survivors>, at: f64, sd: f64) -> f64 {
    let density = |from: f64| normal_density(at - from, sd);
    survivors.map_or_else(|| density(0.0), |survivors| survivors.integral(density))
}

/// The zero of a decreasing function between 0 and 40 × `scale`.
fn bound(excess: impl Fn(f64) -> f64, scale: f64) -> f64 {
    let (mut low, mut high) = (0.0, scale);
    while excess(high) > 0.0 && high < 40.0 * scale {
        high += scale;
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_critical(alpha: f64, analyses: &InterimAnalyses, expected: &[f64]) {
        let boundary = Boundary::new(alpha, analyses);
        for (found, expected) in boundary.critical.iter().zip(expected) {
            assert!((found - expected).abs() < 0.01, "{alpha}: {:?}", boundary.critical);
        }
    }

    #[test]
    fn critical_values_are_those_of_the_recursion_on_a_grid() {
        let general = InterimAnalyses::general();
        let at_05 = [2.739, 2.921, 2.847, 2.808, 2.709, 2.657, 2.571, 2.488, 2.379, 2.293];
        let at_01 = [3.232, 3.428, 3.359, 3.329, 3.243, 3.205, 3.132, 3.062, 2.973, 2.907];
        let at_005 = [3.426, 3.623, 3.557, 3.531, 3.449, 3.412, 3.345, 3.279, 3.193, 3.133];
        assert_critical(0.05, &general, &at_05);
        assert_critical(0.01, &general, &at_01);
        assert_critical(0.005, &general, &at_005);
        let five = InterimAnalyses::new([6, 9, 12, 16, 20]).unwrap();
        assert_critical(0.05, &five, &[2.437, 2.498, 2.448, 2.346, 2.282]);
    }

    #[test]
    fn one_look_is_an_ordinary_test() {
        assert_critical(0.05, &InterimAnalyses::new([10]).unwrap(), &[1.960]);
    }

    #[test]
    fn a_quarter_of_the_rounds_spends_a_quarter_of_the_error() {
        // The first analysis is an ordinary test at its share of the error.
        let boundary = Boundary::new(0.04, &InterimAnalyses::new([10, 40]).unwrap());
        assert!((boundary.nominal_levels().next().unwrap() - 0.01).abs() < 1e-9);
    }
}
