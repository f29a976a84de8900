//! Where the variance of rounds comes from, and what it allows to detect.

use crate::comparison::Round;
use crate::distribution::t_critical;
use crate::sample::{Sample, mean};

/// Components of the variance of round effects, as standard deviations of logarithms (Kalibera & Jones 2013).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// Standard deviation of single passes within a round.
    pub pass_sd: f64,
    /// Standard deviation of rounds that no number of passes would remove: the luck of starts. 0 if passes explain all of it.
    pub start_sd: f64,
}

impl Components {
    /// From rounds with two passes or more; `None` without two such rounds.
    pub fn of(rounds: &[Round]) -> Option<Self> {
        let known: Vec<(Sample, f64)> = rounds
            .iter()
            .filter_map(|round| Sample::of(&round.passes).map(|passes| (passes, round.effect)))
            .collect();
        let effects: Vec<f64> = known.iter().map(|(_, effect)| *effect).collect();
        let between = Sample::of(&effects)?.variance();
        let squares: f64 = known.iter().map(|(passes, _)| passes.variance() * passes.freedom()).sum();
        let within = squares / known.iter().map(|(passes, _)| passes.freedom()).sum::<f64>();
        let inverses: Vec<f64> = known.iter().map(|(passes, _)| 1.0 / passes.count as f64).collect();
        let start = (between - within * mean(&inverses)).max(0.0);
        Some(Components { pass_sd: within.sqrt(), start_sd: start.sqrt() })
    }
}

/// The smallest effect that a two-sided test at 5 % detects with a probability of 80 %, after this many rounds with this standard
/// deviation: about 2.8 standard errors. `None` below two rounds.
pub fn detectable_effect(between_round_sd: f64, rounds: usize) -> Option<f64> {
    let freedom = (rounds >= 2).then(|| (rounds - 1) as f64)?;
    // t at 0.975 and at 0.80.
    Some((t_critical(0.05, freedom) + t_critical(0.40, freedom)) * between_round_sd / (rounds as f64).sqrt())
}

/// The standard deviation of mean ln throughput over fresh starts of one candidate, pooled over base and contender.
pub(crate) fn start_spread(starts: &[Vec<f64>]) -> Option<f64> {
    let sides: Vec<Sample> = starts.iter().filter_map(|starts| Sample::of(starts)).collect();
    let freedom: f64 = sides.iter().map(Sample::freedom).sum();
    let squares: f64 = sides.iter().map(|side| side.variance() * side.freedom()).sum();
    (freedom > 0.0).then(|| (squares / freedom).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(passes: &[f64]) -> Round {
        Round { effect: mean(passes), passes: passes.to_vec(), ..Round::default() }
    }

    #[test]
    fn passes_and_starts_are_told_apart() {
        let same_start = [round(&[0.01, -0.01]), round(&[-0.01, 0.01])];
        let components = Components::of(&same_start).unwrap();
        assert!((components.pass_sd - 0.02f64 / 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(components.start_sd, 0.0);
        let other_start = [round(&[0.05, 0.05]), round(&[-0.05, -0.05])];
        let components = Components::of(&other_start).unwrap();
        assert!((components.start_sd - 0.1 / 2f64.sqrt()).abs() < 1e-6, "{components:?}");
        assert_eq!(Components::of(&[round(&[0.1]), round(&[0.2])]), None);
    }

    #[test]
    fn many_rounds_detect_two_point_eight_standard_errors() {
        assert!((detectable_effect(1.0, 400).unwrap() * 20.0 - 2.8).abs() < 0.02);
        assert_eq!(detectable_effect(1.0, 1), None);
    }
}
