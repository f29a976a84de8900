//! Where the variance of rounds comes from, and what it allows to detect.

use crate::comparison::Round;
use crate::distribution::t_critical;
use crate::interval::Interval;
use crate::sample::{Sample, mean};
use crate::signed_rank::{SignedRank, walsh_averages};

/// How uncertain the effect of a round may be, as a share of the margin. After five rounds, at the first interim analysis, the interval is
/// 1.2 times as wide to either side, so that an effect of 0 can be told from one at the margin.
const TELLING: f64 = 0.5;
/// Normal quantile at 0.975.
const Z_975: f64 = 1.96;

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

/// How many times as many turns a round needs for the uncertainty of its effect to be at most half a margin; below 1 if fewer suffice.
/// `differences` are those of the turns so far, contender less base case, in logarithms, as is `margin`; there must be at least 6.
///
/// It is the same for a better contender as for one that is worse by as much, so rounds of identical candidates stay symmetric about 0. The
/// uncertainty is that of the Hodges-Lehmann estimate, from the signed-rank interval.
pub fn turns_wanted(differences: &[f64], margin: f64) -> Option<f64> {
    let exact = SignedRank::of(differences.len());
    let interval = Interval::of_signed_ranks(&mut walsh_averages(differences), &exact, 0.05);
    let standard_error = Some(interval.half_width() / Z_975).filter(|error| error.is_finite())?;
    Some((standard_error / (TELLING * margin)).powi(2))
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
    fn turns_are_wanted_until_half_a_margin_is_told() {
        // Spread evenly over 2 %: a standard deviation of 0.58 %, and 0.083 % for the mean of 48.
        let even: Vec<f64> = (0..48).map(|turn| 0.02 * (f64::from(turn) + 0.5) / 48.0).collect();
        let wanted = turns_wanted(&even, 0.01).unwrap();
        // With few values, ranks are a little less certain.
        let by_mean = (0.000_83f64 / 0.005).powi(2);
        assert!((by_mean..1.4 * by_mean).contains(&wanted), "{wanted}");
        let wanted_when = |scale: f64, shift: f64| {
            turns_wanted(&even.iter().map(|one| scale * one + shift).collect::<Vec<f64>>(), 0.01).unwrap()
        };
        assert!((wanted_when(3.0, 0.0) - 9.0 * wanted).abs() < 1e-9);
        assert!(
            (wanted_when(-1.0, 0.05) - wanted).abs() < 1e-9,
            "neither size nor sign of an effect matters"
        );
        assert_eq!(turns_wanted(&even[..5], 0.01), None);
    }

    #[test]
    fn many_rounds_detect_two_point_eight_standard_errors() {
        assert!((detectable_effect(1.0, 400).unwrap() * 20.0 - 2.8).abs() < 0.02);
        assert_eq!(detectable_effect(1.0, 1), None);
    }
}
