//! Error rates of experiments simulated slice by slice, with stalls, drift and neighbours, each interim analysis using only the rounds up
//! to it.

use basecase_model::{Place, Slice, StepFacts, Trial};

use super::scheduled;
use super::simulation::Simulation;
use crate::comparison::{Comparison, Round};
use crate::decision::Flag;
use crate::interim_analyses::InterimAnalyses;
use crate::judge::Judge;
use crate::judgement::JudgedMetric;
use crate::orders::Orders;
use crate::pair::Pair;

/// The disturbances of an experiment.
#[derive(Debug, Clone, Copy)]
struct Trouble {
    passes: usize,
    length_us: f64,
    /// The effect, stalls aside.
    effect: f64,
    /// The share of slices in which a side stalls, on average.
    stalls: [f64; 2],
    /// How strongly a round's weather, which makes stalls more or less frequent, resembles that of the round before.
    persists: f64,
    /// The share of passes during which others use the machine.
    disturbed: f64,
}

/// Short slices of one program against itself; both stall now and then.
const SHORT: Trouble =
    Trouble { passes: 12, length_us: 3e4, effect: 0.0, stalls: [0.05, 0.05], persists: 0.8, disturbed: 0.0 };
/// Slices of a second, a third of them beside others.
const LONG: Trouble = Trouble { passes: 8, length_us: 1e6, disturbed: 0.33, ..SHORT };
/// A stall takes up to this much of a slice, in logarithms; half of it on average.
const STALL: f64 = 0.4;
const NAMES: [&str; 2] = ["base", "contender"];
static STEP: StepFacts = StepFacts::EMPTY;
const MARGIN: f64 = 0.02;
const ROUNDS: usize = 40;

/// All trials of one experiment. Each start is lucky or unlucky by 1 %. The machine drifts by 3 % within a round and between rounds. A
/// slice resembles the one before. Stalls are more frequent at some times than at others. From some round on, the processor is 6 % slower.
fn experiment(trouble: Trouble, run: usize) -> Vec<Trial> {
    let mut simulation = Simulation::new("long run", run);
    let orders = Orders::new(run as u64);
    let slow_from = (simulation.uniform() * 2.0 * ROUNDS as f64) as usize;
    let (mut level, mut weather) = (10.0, 0.0_f64);
    let mut trials = Vec::with_capacity(2 * ROUNDS);
    for round in 0..ROUNDS {
        level += 0.02 * simulation.gaussian();
        let new = (1.0 - trouble.persists * trouble.persists).sqrt();
        weather = trouble.persists * weather + new * simulation.gaussian();
        // With mean 1.
        let often = (0.5 * weather - 0.125).exp();
        let canary_ns = if round >= slow_from { 1.9 } else { 1.8 };
        let luck = [0.01 * simulation.gaussian(), 0.01 * simulation.gaussian()];
        let (drift, mut wave) = (0.03 * simulation.gaussian(), 0.0);
        let mut slices: [Vec<Slice>; 2] = Default::default();
        for pass in 0..trouble.passes {
            let is_disturbed = simulation.happens(trouble.disturbed);
            let order = orders.pass("pass", trouble.passes * round + pass, 2);
            for (place, side) in order.into_iter().enumerate() {
                wave = 0.7 * wave + 0.005 * simulation.gaussian();
                let stall = if simulation.happens((often * trouble.stalls[side]).min(0.5)) {
                    STALL * simulation.uniform()
                } else {
                    0.0
                };
                let taken = if is_disturbed { 0.2 * simulation.uniform() } else { 0.0 };
                let time = (4 * pass + place) as f64 / (4 * trouble.passes) as f64;
                let effect = if side == 1 { trouble.effect } else { 0.0 };
                slices[side].push(Slice {
                    pass: pass as u32,
                    length_us: trouble.length_us,
                    rate: (level + luck[side] + drift * time + wave + effect - stall - taken).exp(),
                    // Short disturbances go unnoticed.
                    others_cpu_us: Some(if taken > 0.05 { 0.5 * trouble.length_us } else { 0.0 }),
                    canary_ns: Some(canary_ns * (1.0 + 0.03 * simulation.gaussian().abs())),
                    ..Slice::default()
                });
            }
        }
        for (name, slices) in NAMES.into_iter().zip(slices) {
            let place = Place { round: round as u32, pass: 0, position: 0 };
            let trial = Trial::empty(String::new(), &STEP.name, name, place, String::new());
            trials.push(Trial { slices, ..trial });
        }
    }
    trials
}

/// How many of these experiments ever reported a change, in how many an interval ever excluded the truth, and in how many the last interval
/// did.
#[derive(Debug, Default, Clone, Copy)]
struct Wrong {
    changes: usize,
    ever_out: usize,
    out_at_last: usize,
}

/// The rounds of an experiment.
fn rounds(trials: &[Trial]) -> Vec<Round> {
    let pairs = Pair::among(trials, &STEP, NAMES, 2);
    pairs.iter().filter_map(|pair| pair.round(JudgedMetric::Throughput)).collect()
}

/// The effect, as a typical difference and as a difference of means: if one side stalls more, only many rounds show both.
fn truths(trouble: Trouble) -> [f64; 2] {
    if trouble.stalls[0] == trouble.stalls[1] {
        return [trouble.effect; 2];
    }
    let rounds: Vec<Round> =
        (0..1000).flat_map(|run| rounds(&experiment(trouble, 1_000_000 + run))).collect();
    let mean_of = |value: fn(&Round) -> f64| rounds.iter().map(value).sum::<f64>() / rounds.len() as f64;
    [mean_of(|round| round.effect), mean_of(|round| round.effect + round.stalls)]
}

fn wrong(judge: &Judge, trouble: Trouble, runs: usize) -> Wrong {
    let [typical, of_means] = truths(trouble);
    let mut wrong = Wrong::default();
    for run in 0..runs {
        let trials = experiment(trouble, run);
        let (mut is_change, mut is_out, mut is_out_now) = (false, false, false);
        for analysis in InterimAnalyses::general().rounds() {
            let rounds = rounds(&trials[..2 * analysis]);
            assert_eq!(rounds.len(), *analysis);
            let decision = judge.decide(&[Comparison { rounds, margin: MARGIN }]).unwrap().remove(0);
            let truth = if decision.flags.contains(&Flag::Stalls) { of_means } else { typical };
            is_change |= decision.verdict.is_change();
            is_out_now = decision.interval.is_some_and(|interval| !interval.contains(truth));
            is_out |= is_out_now;
        }
        wrong.changes += usize::from(is_change);
        wrong.ever_out += usize::from(is_out);
        wrong.out_at_last += usize::from(is_out_now);
    }
    wrong
}

#[test]
fn defect_12_experiments_with_stalls_and_drift_err_as_rarely_as_promised() {
    let judge = scheduled();
    for trouble in [SHORT, LONG] {
        let wrong = wrong(&judge, trouble, 400);
        println!("{trouble:?}: {wrong:?}");
        // 5 % and four standard deviations.
        assert!(wrong.changes <= 37 && wrong.ever_out <= 37, "{trouble:?}: {wrong:?}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn defect_12_ten_thousand_experiments_with_stalls_and_drift_err_as_rarely_as_promised() {
    let judge = scheduled();
    let slower = Trouble { effect: -0.03, ..SHORT };
    // If one side stalls more, the weather is part of the effect: rounds are independent only if it does not persist.
    let stalling = Trouble { stalls: [0.05, 0.25], persists: 0.0, ..SHORT };
    for trouble in [stalling, SHORT, LONG, slower, Trouble { effect: -0.03, ..LONG }] {
        let wrong = wrong(&judge, trouble, 10_000);
        println!("{trouble:?}: {wrong:?}");
        // If interim analyses turn from typical differences to means, there are two effects to exclude.
        let effects = if trouble.stalls[0] == trouble.stalls[1] { 1 } else { 2 };
        assert!(wrong.ever_out <= 600 * effects && wrong.out_at_last <= 600, "{trouble:?}: {wrong:?}");
        let is_same = trouble.effect == 0.0 && trouble.stalls[0] == trouble.stalls[1];
        assert!(!is_same || wrong.changes <= 600, "{trouble:?}: {wrong:?}");
    }
}
