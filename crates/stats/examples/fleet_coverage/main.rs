//! The tables of docs/fleets.md: how often intervals and verdicts of fleets are right, and how many rounds they need.
//!
//!     cargo run --release -p basecase-stats --example fleet_coverage [EXPERIMENTS] [speed|kind|nodes]

#![expect(clippy::print_stdout, reason = "the tables are what this program is for")]

mod fleets;

use std::error::Error;
use std::thread;

use basecase_stats::{
    AnalysisPlan, FleetComparison, FleetDecision, FleetRound, InterimAnalyses, Judge, Sequential, Verdict,
};
use fleets::{Draws, Node, Truth, effect_on, first};

type Failure = Box<dyn Error + Send + Sync>;
/// Prints one table of so many experiments.
type Table = fn(usize) -> Result<(), Failure>;

/// The smallest effect that matters.
const MARGIN: f64 = 0.02;
/// Standard deviations between nodes.
const OMEGAS: [f64; 3] = [0.0, 0.01, 0.03];
/// Experiments are divided among so many threads.
const THREADS: usize = 2;
/// Steps of a list.
const STEPS: usize = 24;

fn main() -> Result<(), Failure> {
    let experiments = std::env::args().nth(1).map_or(Ok(10_000), |count| count.parse())?;
    let asked = std::env::args().nth(2);
    println!("{experiments} experiments each\n");
    let tables: [(&str, Table); 3] = [("speed", speed), ("kind", kinds), ("nodes", fixed)];
    for (name, table) in tables {
        if asked.as_deref().is_none_or(|asked| asked == name) {
            table(experiments)?;
        }
    }
    Ok(())
}

/// What each experiment comes to.
fn each<T: Send>(
    experiments: usize,
    of: impl Fn(u64) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let part =
        |thread: usize| (thread..experiments).step_by(THREADS).map(|number| of(number as u64)).collect();
    let parts: Vec<Result<Vec<T>, Failure>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || part(thread))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a thread failed".into())))
            .collect()
    });
    Ok(parts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// How many per cent of experiments each of these things is true of.
fn shares<const N: usize>(seen: &[[bool; N]]) -> [f64; N] {
    let count = |place: usize| seen.iter().filter(|seen| seen[place]).count() as f64;
    std::array::from_fn(|place| 100.0 * count(place) / seen.len() as f64)
}

/// The lowest and highest of shares.
fn range(shares: impl Iterator<Item = f64>) -> String {
    let (low, high) =
        shares.fold((100.0_f64, 0.0_f64), |(low, high), share| (low.min(share), high.max(share)));
    format!("{low:.1} to {high:.1}")
}

fn judge(analyses: Vec<usize>) -> Result<Judge, Failure> {
    let sequential = Sequential::Scheduled(InterimAnalyses::new(analyses)?);
    Ok(Judge::new(AnalysisPlan { sequential, ..AnalysisPlan::default() })?)
}

fn comparison(nodes: &[Node]) -> FleetComparison {
    let round = |(ended_s, load, effect): &(f64, u32, f64)| FleetRound {
        ended_s: *ended_s,
        load: *load,
        effect: *effect,
    };
    let nodes = nodes.iter().map(|node| node.rounds.iter().map(round).collect()).collect();
    FleetComparison { margin: MARGIN, group: 0, nodes }
}

fn decide(judge: &Judge, nodes: &[Node]) -> Result<FleetDecision, Failure> {
    Ok(judge.decide_fleet(&[comparison(nodes)])?.remove(0))
}

fn truth(effect: f64, nodes: usize, rounds: usize, omega: f64, sd: f64) -> Truth {
    Truth { effect, omega, sd, load_sd: 0.0, rounds_of_load: 1, nodes, rounds }
}

/// How often the intervals for the kind hold, over rounds that scatter by 1 and 2 %, and with 2, 4 and 10 rounds on each node, or 2 to 10.
fn kinds(experiments: usize) -> Result<(), Failure> {
    println!("| nodes | ω | interval of δ holds, % | prediction interval holds, % | hosts differ, % |");
    println!("|---|---|---|---|---|");
    let judge = judge(vec![3])?;
    for nodes in [5, 8, 16, 50, 200] {
        for omega in OMEGAS {
            let mut settings = Vec::new();
            for sd in [0.01, 0.02] {
                for (least, most) in [(2, 2), (4, 4), (10, 10), (2, 10)] {
                    let one = |number: u64| {
                        let mut draws = Draws::of(number);
                        let mut fleet = draws.fleet(&truth(0.0, nodes, most, omega, sd));
                        for node in &mut fleet {
                            node.rounds
                                .truncate(least + (draws.uniform() * (most - least + 1) as f64) as usize);
                        }
                        let decision = decide(&judge, &fleet)?;
                        let kind = decision.kind.ok_or("five nodes and no kind")?;
                        let next = draws.fleet(&truth(0.0, 1, 0, omega, sd))[0].effect;
                        let hosts_differ = decision.heterogeneity.is_some_and(|found| found.hosts_differ);
                        Ok([kind.interval.contains(0.0), kind.prediction.contains(next), hosts_differ])
                    };
                    settings.push(shares(&each(experiments, one)?));
                }
            }
            let [held, predicted, differ] =
                [0, 1, 2].map(|place| range(settings.iter().map(|shares| shares[place])));
            println!("| {nodes} | {} % | {held} | {predicted} | {differ} |", 100.0 * omega);
        }
    }
    println!();
    Ok(())
}

/// How often the effect on these nodes is held by the interval of all interim analyses, and how often the verdict with which a step leaves is
/// false. Rounds scatter by 1.5 %.
fn fixed(experiments: usize) -> Result<(), Failure> {
    println!(
        "| nodes | ω | interval holds, % | false verdicts, δ = 0, % | false verdicts, δ = −2 %, % | interval of δ at the verdict misses, % |"
    );
    println!("|---|---|---|---|---|---|");
    for nodes in [1, 2, 3, 5, 8, 16, 50, 200] {
        let times = if nodes < 50 { 1 } else { 10 };
        let analyses: Vec<usize> =
            InterimAnalyses::general().rounds().iter().map(|rounds| times * rounds).collect();
        let last = 40 * times;
        let judge = judge(analyses.clone())?;
        for omega in OMEGAS {
            let one = |number: u64| {
                let fleet = |effect| {
                    Draws::of(number).fleet(&truth(effect, nodes, 2 * last / nodes + 2, omega, 0.015))
                };
                let all = first(&fleet(0.0), last);
                let interval = decide(&judge, &all)?.decision.interval.ok_or("no interval")?;
                let (unchanged, misses) = when_left(&judge, &analyses, &fleet(0.0), 0.0)?;
                let (slower, _) = when_left(&judge, &analyses, &fleet(-MARGIN), -MARGIN)?;
                Ok([interval.contains(effect_on(&all)), unchanged, slower, misses])
            };
            let [held, unchanged, slower, misses] = shares(&each(experiments, one)?);
            println!(
                "| {nodes} | {} % | {held:.1} | {unchanged:.1} | {slower:.1} | {misses:.1} |",
                100.0 * omega
            );
        }
    }
    Ok(())
}

/// Whether the verdict with which a step leaves is false, and whether the interval for the kind that it has then, if any, misses the effect.
fn when_left(
    judge: &Judge,
    analyses: &[usize],
    fleet: &[Node],
    effect: f64,
) -> Result<(bool, bool), Failure> {
    for rounds in analyses {
        let seen = first(fleet, *rounds);
        let FleetDecision { decision, kind, .. } = decide(judge, &seen)?;
        if decision.leaves {
            let misses = kind.is_some_and(|kind| !kind.interval.contains(effect));
            return Ok((is_false(decision.verdict, effect_on(&seen)), misses));
        }
    }
    Ok((false, false))
}

/// Whether a verdict tells a change in the wrong direction or where there is none, or none where there is one.
fn is_false(verdict: Verdict, effect: f64) -> bool {
    match verdict {
        Verdict::Regression => effect >= 0.0,
        Verdict::Improvement => effect <= 0.0,
        Verdict::NoChange => effect.abs() >= MARGIN,
        Verdict::NotEnoughData => false,
    }
}

/// How many rounds a list of 24 steps takes until each has left: half of them unchanged, and four slower by 1, 3 and 6 % each. Rounds of a
/// step scatter by 1 to 2 %. There are as many lists as have that many comparisons.
fn speed(experiments: usize) -> Result<(), Failure> {
    println!(
        "| nodes | ω | rounds of all nodes | rounds of each node | times one node's, divided among them | decided, % |"
    );
    println!("|---|---|---|---|---|---|");
    let analyses = InterimAnalyses::general().rounds().to_vec();
    let judge = judge(analyses.clone())?;
    let lists = experiments.div_ceil(STEPS);
    let mut alone = None;
    for omega in [0.0, 0.01] {
        for nodes in [1, 2, 3, 4, 5, 8, 16] {
            if nodes == 1 && omega > 0.0 {
                continue;
            }
            let seen: Vec<(usize, usize)> =
                each(lists, |number| list(&judge, &analyses, nodes, omega, number))?;
            let comparisons = (STEPS * lists) as f64;
            let rounds = seen.iter().map(|(rounds, _)| rounds).sum::<usize>() as f64 / comparisons;
            let decided = 100.0 * seen.iter().map(|(_, decided)| decided).sum::<usize>() as f64 / comparisons;
            let times = rounds / *alone.get_or_insert(rounds);
            println!(
                "| {nodes} | {} % | {rounds:.1} | {:.1} | {times:.2} | {decided:.1} |",
                100.0 * omega,
                rounds / nodes as f64
            );
        }
    }
    println!();
    Ok(())
}

/// How many rounds the steps of one list take, and how many of them get a verdict.
fn list(
    judge: &Judge,
    analyses: &[usize],
    nodes: usize,
    omega: f64,
    number: u64,
) -> Result<(usize, usize), Failure> {
    let mut draws = Draws::of(number);
    let mut of_step = |step: usize| {
        let effect = if step < STEPS / 2 { 0.0 } else { [-0.01, -0.03, -0.06][step % 3] };
        let sd = 0.01 + 0.01 * draws.uniform();
        draws.fleet(&truth(effect, nodes, 80 / nodes + 2, omega, sd))
    };
    let steps: Vec<Vec<Node>> = (0..STEPS).map(&mut of_step).collect();
    let mut seen = [0; STEPS];
    let mut decisions: Vec<FleetDecision> = Vec::new();
    for analysis in analyses {
        for (step, seen) in seen.iter_mut().enumerate() {
            if decisions.get(step).is_none_or(|one| !one.decision.leaves) {
                *seen = *analysis;
            }
        }
        let so_far = steps.iter().zip(&seen).map(|(nodes, seen)| comparison(&first(nodes, *seen)));
        decisions = judge.decide_fleet(&so_far.collect::<Vec<_>>())?;
    }
    let is_decided = |one: &&FleetDecision| one.decision.verdict != Verdict::NotEnoughData;
    Ok((seen.iter().sum(), decisions.iter().filter(is_decided).count()))
}
