//! What a suite detects, and at what cost.

use super::scheduled;
use super::simulation::{Noise, Simulation};
use crate::comparison::Comparison;
use crate::decision::Decision;
use crate::interim_analyses::InterimAnalyses;
use crate::judge::Judge;
use crate::verdict::Verdict;

/// Regressions of the first steps, as logarithms.
const PLANTED: [f64; 4] = [0.025, 0.03, 0.04, 0.06];
const STEPS: usize = 42;

/// The results of many suites of 42 steps, four of which regressed.
#[derive(Debug, Default)]
struct Outcome {
    rounds_per_step: f64,
    rounds_of_planted: [f64; 4],
    found: [f64; 4],
    false_per_suite: f64,
    false_discovery_rate: f64,
    unchanged: f64,
}

/// One suite: its last decisions, after steps left the rotation one by one.
fn suite(judge: &Judge, noise: Noise, between_round_sd: f64, index: usize) -> Vec<Decision> {
    let margin = 1.02f64.ln();
    let step = |step: usize| {
        let shift = PLANTED.get(step).copied().unwrap_or(0.0);
        let noise = Simulation::new("suite", index * STEPS + step).effects(noise, 40);
        noise.iter().map(|noise| between_round_sd * noise - shift).collect()
    };
    let effects: Vec<Vec<f64>> = (0..STEPS).map(step).collect();
    let mut rounds = [0; STEPS];
    let mut decisions: Vec<Decision> = Vec::new();
    for analysis in InterimAnalyses::general().rounds() {
        for (step, rounds) in rounds.iter_mut().enumerate() {
            if decisions.get(step).is_none_or(|decision| !decision.leaves) {
                *rounds = *analysis;
            }
        }
        let seen = effects.iter().zip(rounds);
        let family: Vec<Comparison> =
            seen.map(|(effects, rounds)| Comparison::of_effects(&effects[..rounds], margin)).collect();
        decisions = judge.decide(&family).unwrap();
    }
    decisions
}

fn outcome(noise: Noise, between_round_sd: f64, suites: usize) -> Outcome {
    let judge = scheduled();
    let mut outcome = Outcome::default();
    let share = 1.0 / suites as f64;
    for index in 0..suites {
        let decisions = suite(&judge, noise, between_round_sd, index);
        let rounds: usize = decisions.iter().map(|decision| decision.rounds).sum();
        outcome.rounds_per_step += share * rounds as f64 / STEPS as f64;
        let (planted, same) = decisions.split_at(PLANTED.len());
        for (place, decision) in planted.iter().enumerate() {
            outcome.rounds_of_planted[place] += share * decision.rounds as f64;
            outcome.found[place] += if decision.verdict == Verdict::Regression { share } else { 0.0 };
            assert_ne!(decision.verdict, Verdict::Improvement);
        }
        let count = |decisions: &[Decision], is: fn(Verdict) -> bool| {
            decisions.iter().filter(|decision| is(decision.verdict)).count() as f64
        };
        let wrong = count(same, Verdict::is_change);
        outcome.false_per_suite += share * wrong;
        outcome.false_discovery_rate += share * wrong / count(&decisions, Verdict::is_change).max(1.0);
        outcome.unchanged += share * count(same, |verdict| verdict == Verdict::NoChange) / same.len() as f64;
    }
    outcome
}

#[test]
fn a_suite_finds_what_changed_and_little_else() {
    let quiet = outcome(Noise::Gaussian, 0.015, 30);
    println!("{quiet:.3?}");
    assert!(quiet.found.iter().all(|found| *found > 0.95), "{quiet:?}");
    assert!(quiet.rounds_per_step < 15.0 && quiet.unchanged > 0.98, "{quiet:?}");
    assert!(quiet.false_discovery_rate < 0.05, "{quiet:?}");
    let contaminated = outcome(Noise::Contaminated, 0.025, 30);
    println!("{contaminated:.3?}");
    assert!(contaminated.found.iter().all(|found| *found > 0.9), "{contaminated:?}");
    assert!(contaminated.false_discovery_rate < 0.05, "{contaminated:?}");
}

#[test]
fn a_noisy_suite_finds_it_later() {
    let noisy = outcome(Noise::Gaussian, 0.025, 30);
    println!("{noisy:.3?}");
    assert!(noisy.found.iter().all(|found| *found > 0.9), "{noisy:?}");
    assert!(noisy.rounds_per_step < 26.0, "{noisy:?}");
    assert!(noisy.false_discovery_rate < 0.05, "{noisy:?}");
}
