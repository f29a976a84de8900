//! How well planted slowdowns are recovered: the calibration of a machine.

use basecase_model::{Experiment, Trial, names};

use crate::orders::Stream;
use crate::pair::Pair;
use crate::sample::mean;
use crate::{Comparison, ComparisonError, Decision, Judge, JudgedMetric, Judgement, Verdict};

/// A step of a candidate whose true effect is known: a slowdown was planted in its server, or it is a replicate of the base case.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    /// Number of the step.
    pub step: usize,
    /// Number of the candidate.
    pub candidate: usize,
    /// The planted effect, averaged over the rounds, as a logarithm: 0 if there was none.
    pub truth: f64,
    /// Whether it is a replicate of the base case.
    pub is_base: bool,
    /// The decision.
    pub decision: Decision,
    /// The effects of the rounds less the effect planted in each.
    pub errors: Vec<f64>,
}

impl Recovery {
    /// Whether the interval contains the planted effect; `None` without an interval.
    pub fn holds(&self) -> Option<bool> {
        self.decision.interval.map(|interval| interval.contains(self.truth))
    }
}

/// The results of series of rounds that were resampled from the measured ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replay {
    /// Number of series drawn.
    pub series: usize,
    /// The share in which the interval of some interim analysis excluded the truth.
    pub excluded: f64,
    /// The shares that ended in a regression, an improvement, and no change.
    pub verdicts: [f64; 3],
    /// The mean number of rounds until the series was decided, or until its last interim analysis.
    pub rounds: f64,
}

impl Judgement {
    /// The planted and the measured effects of every step and candidate whose server counts planted time (see [`names::PLANTED_US`]), and
    /// of replicates of the base case.
    pub fn recoveries(&self, experiment: &Experiment, trials: &[Trial]) -> Vec<Recovery> {
        let mut recoveries = Vec::new();
        let is_planted = trials.iter().any(|trial| trial.gauges.get(names::PLANTED_US).is_some());
        for (number, step) in experiment.steps.iter().enumerate().filter(|(_, step)| step.is_compared()) {
            for candidate in 1..experiment.candidates.len() {
                let names = [0, candidate].map(|number: usize| &experiment.candidates[number].name);
                let is_base = names[1].is_again(names[0]);
                if !is_base && !is_planted {
                    continue;
                }
                let threads = f64::from(step.threads.unwrap_or(1));
                let pairs = Pair::all(experiment, trials, step, candidate);
                let told = pairs.iter().filter(|pair| pair.round(JudgedMetric::Throughput).is_some());
                let truth_of = |pair: &Pair<'_>| {
                    if is_base { Some(0.0) } else { truth(pair.base, pair.contender, threads) }
                };
                let truths: Option<Vec<f64>> = told.map(truth_of).collect();
                let truths = truths.filter(|truths| !truths.is_empty());
                let found = self.decision(JudgedMetric::Throughput, number, candidate);
                let Some((truths, decision)) = truths.zip(found.cloned()) else { continue };
                let effects = self.effects(JudgedMetric::Throughput, number, candidate);
                recoveries.push(Recovery {
                    step: number,
                    candidate,
                    truth: mean(&truths),
                    is_base,
                    decision,
                    errors: effects.iter().zip(&truths).map(|(effect, truth)| effect - truth).collect(),
                });
            }
        }
        recoveries
    }
}

/// The effect planted in a round: −ln(1 + time planted per statement / time the base case takes for one).
fn truth(base: &Trial, contender: &Trial, threads: f64) -> Option<f64> {
    let planted_us = |trial: &Trial| {
        let executed: u64 = trial.statements.iter().map(|record| record.whole().executed).sum();
        Some(trial.gauges.get(names::PLANTED_US)? / executed as f64)
    };
    let rates: Vec<f64> = base.slices.iter().map(|slice| slice.rate.ln()).collect();
    let base_us = threads * 1e6 / mean(&rates).exp();
    let effect = -((planted_us(contender)? - planted_us(base)?) / base_us).ln_1p();
    Some(effect).filter(|effect| effect.is_finite())
}

impl Judge {
    /// Resamples rounds with replacement from `errors`, gives each a random sign, adds `truth`, and judges them as if they had been
    /// measured. It shows how an effect of this size would fare on this machine. Without an effect, the sign of a round is a coin flip,
    /// because the order within it is.
    ///
    /// # Errors
    /// When a number is no logarithm or the margin is not above 0.
    pub fn replay(
        &self,
        errors: &[f64],
        truth: f64,
        margin: f64,
        series: usize,
        seed: u64,
    ) -> Result<Replay, ComparisonError> {
        let centre = mean(errors);
        let last = self.last_rounds();
        let mut counts = [0_usize; 3];
        let (mut excluded, mut rounds) = (0, 0);
        for number in 0..series {
            let mut stream = Stream::new(seed, "replay", "", number);
            let mut comparison = Comparison { rounds: Vec::with_capacity(last), margin };
            let (mut is_excluded, mut end) = (false, None);
            while comparison.rounds.len() < last {
                let sign = if stream.below(2) == 0 { 1.0 } else { -1.0 };
                let error = errors.get(stream.below(errors.len())).map_or(0.0, |error| error - centre);
                comparison.rounds.push((truth + sign * error).into());
                if !self.looks_after(comparison.rounds.len()) {
                    continue;
                }
                let decisions = self.decide(std::slice::from_ref(&comparison))?;
                let Some(decision) = decisions.into_iter().next() else { break };
                is_excluded |= decision.interval.is_some_and(|interval| !interval.contains(truth));
                if decision.leaves && end.is_none() {
                    end = Some((comparison.rounds.len(), decision.verdict));
                }
            }
            excluded += usize::from(is_excluded);
            let (used, verdict) = end.unwrap_or((last, Verdict::NotEnoughData));
            rounds += used;
            match verdict {
                Verdict::Regression => counts[0] += 1,
                Verdict::Improvement => counts[1] += 1,
                Verdict::NoChange => counts[2] += 1,
                Verdict::NotEnoughData => {}
            }
        }
        let share = |count: usize| count as f64 / series.max(1) as f64;
        Ok(Replay { series, excluded: share(excluded), verdicts: counts.map(share), rounds: share(rounds) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnalysisPlan;

    #[test]
    fn what_is_planted_comes_out_again() {
        let judge = Judge::new(AnalysisPlan::default()).unwrap();
        let errors = [-0.004, -0.002, 0.0, 0.001, 0.003, 0.002, -0.001, 0.001];
        let margin = 1.02_f64.ln();
        let nothing = judge.replay(&errors, 0.0, margin, 200, 1).unwrap();
        assert!(nothing.excluded <= 0.1 && nothing.verdicts[2] > 0.95, "{nothing:?}");
        let slower = judge.replay(&errors, -0.03, margin, 200, 1).unwrap();
        assert!(slower.verdicts[0] > 0.95 && slower.verdicts[1] == 0.0, "{slower:?}");
        assert_eq!(slower, judge.replay(&errors, -0.03, margin, 200, 1).unwrap(), "by the same seed");
    }
}
