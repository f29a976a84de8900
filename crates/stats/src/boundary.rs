//! The group-sequential boundary: how strict each interim analysis has to be to keep the overall error at the planned level.

use crate::distribution::{normal_density, normal_tail};
use crate::interim_analyses::InterimAnalysis;
use crate::quadrature::Quadrature;

/// The boundary of a two-sided test up to an interim analysis. Each analysis may spend the error up to its share (Lan & DeMets 1983). Shares
/// may rise by any clock that does not look at the effect, as long as the statistics' correlation is that of their rounds (Lan & DeMets 1989).
#[derive(Debug, Clone)]
pub(crate) struct Boundary {
    /// The error over all analyses, 0 to 1.
    alpha: f64,
    /// Rounds at the last analysis so far.
    rounds: f64,
    /// The share of the error that is spent with it.
    spent: f64,
    /// The two-sided level of that analysis by itself.
    pub(crate) level: f64,
    survivors: Option<Survivors>,
}

/// The density of the sum of scores at an interim analysis, over paths that have not crossed a boundary before; it is even.
#[derive(Debug, Clone)]
struct Survivors {
    rule: Quadrature,
    density: Vec<f64>,
}

impl Boundary {
    /// The boundary before the first analysis, for an overall error of `alpha`.
    pub(crate) fn before_first(alpha: f64) -> Self {
        Boundary { alpha, rounds: 0.0, spent: 0.0, level: 0.0, survivors: None }
    }

    /// The boundary with one analysis more, by the recursion of Armitage, McPherson & Rowe (1969) on the score process with known variance.
    pub(crate) fn then(&self, analysis: InterimAnalysis) -> Self {
        let rounds = analysis.rounds as f64;
        let sd = (rounds - self.rounds).sqrt();
        let share = self.alpha * (analysis.spent - self.spent);
        let survivors = self.survivors.as_ref();
        let bound = bound(|at| tail(survivors, at, sd) - share, rounds.sqrt());
        let rule = Quadrature::from_zero(bound, 24 + (2.0 * bound / sd).ceil() as usize);
        let density = rule.points.iter().map(|at| arriving(survivors, *at, sd)).collect();
        Boundary {
            alpha: self.alpha,
            rounds,
            spent: analysis.spent,
            level: 2.0 * normal_tail(bound / rounds.sqrt()),
            survivors: Some(Survivors { rule, density }),
        }
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
    let (low, mut high) = (0.0, scale);
    while excess(high) > 0.0 && high < 40.0 * scale {
        high += scale;
    }
    let [low, high] = halved(excess, [low, high], 40);
    0.5 * (low + high)
}

/// The interval around the zero of a decreasing function, halved so many times.
pub(crate) fn halved(excess: impl Fn(f64) -> f64, [mut low, mut high]: [f64; 2], times: u32) -> [f64; 2] {
    for _ in 0..times {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interim_analyses::InterimAnalyses;

    fn levels(alpha: f64, analyses: &[InterimAnalysis]) -> Vec<f64> {
        let mut boundary = Boundary::before_first(alpha);
        let mut then = |analysis: &InterimAnalysis| {
            boundary = boundary.then(*analysis);
            boundary.level
        };
        analyses.iter().map(&mut then).collect()
    }

    fn assert_critical(alpha: f64, analyses: &InterimAnalyses, expected: &[f64]) {
        let levels = levels(alpha, &analyses.by_rounds());
        for (level, critical) in levels.iter().zip(expected) {
            let [least, most] =
                [critical + 0.01, critical - 0.01].map(|critical| 2.0 * normal_tail(critical));
            assert!((least..most).contains(level), "{alpha}: {levels:?}");
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
        let levels = levels(0.04, &InterimAnalyses::new([10, 40]).unwrap().by_rounds());
        assert!((levels[0] - 0.01).abs() < 1e-9);
    }

    #[test]
    fn what_is_spent_early_is_not_there_later() {
        let levels_of = |spent: f64| {
            levels(0.05, &[(5, spent), (6, 0.9)].map(|(rounds, spent)| InterimAnalysis { rounds, spent }))
        };
        let (early, late) = (levels_of(0.8), levels_of(0.1));
        assert!((early[0] - 0.04).abs() < 1e-9 && (late[0] - 0.005).abs() < 1e-9);
        assert!(early[1] < late[1] && late[1] < 0.045, "{early:?} {late:?}");
        assert!(early[1] > 0.01, "they resemble each other, so more is left than the difference: {early:?}");
    }
}
