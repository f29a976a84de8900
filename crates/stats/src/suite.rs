//! The summary of all steps of a suite, and the noise floor of a step.

use crate::comparison::{Comparison, ComparisonError, Round, is_logarithm};
use crate::decision::Decision;
use crate::distribution::t_critical;
use crate::interval::Interval;
use crate::judge::Judge;
use crate::round_conditions::RoundConditions;
use crate::sample::{Sample, mean};
use crate::variance::detectable_effect;

/// The summary of one contender's comparisons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suite {
    /// Rounds in which every step ran; only these count.
    pub rounds: usize,
    /// The logarithm of the geometric mean over steps of the ratio to the base; before the first interim analysis, the mean of the rounds.
    pub effect: Option<f64>,
    /// Its interval by the plan's method and error, from the mean over steps in each round.
    pub interval: Option<Interval>,
    /// How many comparisons changed.
    pub changed: usize,
    /// How many of those are expected to be false at most.
    pub expected_false: usize,
}

/// The smallest effect that a step can show, judging by rounds of one candidate against itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseFloor {
    /// Number of rounds that it is based on.
    pub rounds: usize,
    /// Between-round standard deviation of the effects.
    pub between_round_sd: f64,
    /// The effect that is detected with a probability of 80 % after all rounds of the plan.
    pub detectable: f64,
    /// The margin at which an unchanged step is found to be unchanged with a probability of 80 % after all rounds of the plan. Infinite if
    /// there are too few rounds for an interval.
    pub margin: f64,
}

impl Judge {
    /// Summarises the comparisons of one contender and their decisions. Steps that have left the rotation have fewer rounds. The rounds
    /// that all steps share are the first ones, as many as the shortest has.
    ///
    /// # Errors
    /// When a number is no logarithm or a margin is not above 0.
    pub fn suite(&self, family: &[Comparison], decisions: &[Decision]) -> Result<Suite, ComparisonError> {
        for (index, comparison) in family.iter().enumerate() {
            comparison.check(index + 1)?;
        }
        let rounds = family.iter().map(|comparison| comparison.rounds.len()).min().unwrap_or(0);
        let of_round = |round: usize| {
            let sum: f64 = family.iter().map(|comparison| comparison.rounds[round].effect).sum();
            sum / family.len() as f64
        };
        let effects: Vec<f64> = (0..rounds).map(of_round).collect();
        // A joint round is over when the last step has had it.
        let conditions = |round: usize| {
            let all = family.iter().map(|comparison| comparison.rounds[round].conditions);
            let later = |one: RoundConditions, other: RoundConditions| RoundConditions {
                spent: one.spent.zip(other.spent).map(|(one, other)| one.max(other)),
                ..one
            };
            all.reduce(later).unwrap_or_default()
        };
        let joint = effects.iter().enumerate();
        let joint =
            joint.map(|(round, effect)| Round { conditions: conditions(round), ..Round::from(*effect) });
        let reading = self.read(&Comparison { rounds: joint.collect(), margin: 1.0 }, self.plan().alpha);
        let so_far = (rounds > 0).then(|| mean(&effects));
        let changed = decisions.iter().filter(|decision| decision.verdict.is_change()).count();
        Ok(Suite {
            rounds,
            effect: reading.map(|reading| reading.estimate).or(so_far),
            interval: reading.map(|reading| reading.interval).filter(|interval| interval.is_bounded()),
            changed,
            expected_false: (self.plan().false_discovery_rate * changed as f64).ceil() as usize,
        })
    }

    /// The noise floor of a step, from the effects of rounds of one candidate against itself; `None` below two rounds, or if a number
    /// cannot be a logarithm. Without a last interim analysis, the rounds so far count as all rounds of the plan.
    pub fn noise_floor(&self, effects: &[f64]) -> Option<NoiseFloor> {
        let sample = Sample::of(effects).filter(|_| effects.iter().copied().all(is_logarithm))?;
        let rounds = self.last_analysis().unwrap_or(effects.len());
        let standard_error = sample.sd / (rounds as f64).sqrt();
        // How far off the estimate is with a probability of 80 %.
        let astray = t_critical(0.20, (rounds - 1) as f64);
        Some(NoiseFloor {
            rounds: effects.len(),
            between_round_sd: sample.sd,
            detectable: detectable_effect(sample.sd, rounds)?,
            margin: (self.critical_after(rounds) + astray) * standard_error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis_plan::{AnalysisPlan, Sequential};
    use crate::tests::simulation::{Noise, Simulation};

    #[test]
    fn the_mean_over_steps_is_narrower_than_a_step() {
        let judge = Judge::new(AnalysisPlan::default()).unwrap();
        let step = |index: usize| {
            let noise = Simulation::new("suite", index).effects(Noise::Gaussian, 10);
            Comparison::of_effects(&noise.iter().map(|noise| -0.05 + 0.01 * noise).collect::<Vec<_>>(), 0.02)
        };
        let mut family: Vec<Comparison> = (0..20).map(step).collect();
        family[3].rounds.truncate(8);
        let decisions = judge.decide(&family).unwrap();
        let suite = judge.suite(&family, &decisions).unwrap();
        let interval = suite.interval.unwrap();
        assert_eq!((suite.rounds, suite.changed, suite.expected_false), (8, 20, 1));
        assert!(interval.contains(-0.05) && interval.contains(suite.effect.unwrap()), "{suite:?}");
        assert!(interval.half_width() < 0.5 * decisions[3].interval.unwrap().half_width());
        assert_eq!(judge.suite(&[], &[]).unwrap().effect, None);
    }

    #[test]
    fn the_noise_floor_foretells_the_margin_that_is_reached() {
        let plan = AnalysisPlan::default();
        let anytime = AnalysisPlan { sequential: Sequential::Anytime, ..AnalysisPlan::default() };
        for judge in [Judge::new(plan).unwrap(), Judge::new(anytime).unwrap()] {
            let reached = |index: usize| {
                let effects = Simulation::new("floor", index).effects(Noise::Gaussian, 40);
                let floor = judge.noise_floor(&effects).unwrap();
                let decision = &judge.decide(&[Comparison::of_effects(&effects, 1.0)]).unwrap()[0];
                decision.smallest_margin.is_some_and(|smallest| smallest < floor.margin)
            };
            let share = (0..400).filter(|index| reached(*index)).count();
            assert!((300..=360).contains(&share), "{share} of 400");
        }
        assert_eq!(Judge::new(AnalysisPlan::default()).unwrap().noise_floor(&[0.1]), None);
    }
}
