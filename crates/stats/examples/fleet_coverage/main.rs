//! The tables of docs/fleets.md: how often intervals and verdicts of fleets are right, and how many rounds they need.
//!
//!     cargo run --release -p basecase-stats --example fleet_coverage [EXPERIMENTS]

#![expect(clippy::print_stdout, reason = "the tables are what this program is for")]

mod fleets;

use std::error::Error;

use basecase_stats::{
    AnalysisPlan, FleetComparison, FleetDecision, FleetRound, InterimAnalyses, Judge, Sequential, Verdict,
};
use fleets::{Draws, Node, Truth, effect_on, first};

/// The smallest effect that matters.
const MARGIN: f64 = 0.02;
/// Standard deviations between nodes.
const OMEGAS: [f64; 3] = [0.0, 0.01, 0.03];

fn main() -> Result<(), Box<dyn Error>> {
    let experiments = std::env::args().nth(1).map_or(Ok(10_000), |count| count.parse())?;
    println!("{experiments} experiments each\n");
    kinds(experiments)?;
    fixed(experiments)?;
    speed(experiments)
}

fn judge(analyses: Vec<usize>) -> Result<Judge, Box<dyn Error>> {
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

fn decide(judge: &Judge, nodes: &[Node]) -> Result<FleetDecision, Box<dyn Error>> {
    Ok(judge.decide_fleet(&[comparison(nodes)])?.remove(0))
}

fn truth(nodes: usize, rounds: usize, omega: f64, sd: f64) -> Truth {
    Truth { effect: 0.0, omega, sd, load_sd: 0.0, rounds_of_load: 1, nodes, rounds }
}

/// A share in per cent.
fn percent(count: usize, of: usize) -> f64 {
    100.0 * count as f64 / of as f64
}

/// The lowest and highest of shares in per cent.
fn range(shares: &[f64]) -> String {
    let (low, high) =
        shares.iter().fold((100.0_f64, 0.0_f64), |(low, high), share| (low.min(*share), high.max(*share)));
    format!("{low:.1} to {high:.1}")
}

/// How often the intervals for the kind hold, over rounds that scatter by 1 and 2 %, and 2, 4 and 10 rounds on each node.
fn kinds(experiments: usize) -> Result<(), Box<dyn Error>> {
    println!(
        "| nodes | ω | interval of δ holds, % | prediction interval holds, % | hosts differ, % |\n|---|---|---|---|---|"
    );
    let judge = judge(vec![3])?;
    for nodes in [5, 8, 16, 50, 200] {
        for omega in OMEGAS {
            let [mut held, mut predicted, mut differ] = [const { Vec::new() }; 3];
            for (rounds, sd) in [(2, 0.01), (2, 0.02), (4, 0.01), (4, 0.02), (10, 0.01), (10, 0.02)] {
                let mut counts = [0; 3];
                for experiment in 0..experiments {
                    let mut draws = Draws::of(experiment as u64);
                    let fleet = draws.fleet(&truth(nodes, rounds, omega, sd));
                    let decision = decide(&judge, &fleet)?;
                    let kind = decision.kind.ok_or("five nodes and no kind")?;
                    let next = draws.fleet(&truth(1, 0, omega, sd))[0].effect;
                    let is_different = decision.heterogeneity.is_some_and(|found| found.hosts_differ);
                    let seen = [kind.interval.contains(0.0), kind.prediction.contains(next), is_different];
                    counts.iter_mut().zip(seen).for_each(|(count, seen)| *count += usize::from(seen));
                }
                let [of_effect, of_node, of_difference] = counts.map(|count| percent(count, experiments));
                held.push(of_effect);
                predicted.push(of_node);
                differ.push(of_difference);
            }
            println!(
                "| {nodes} | {} % | {} | {} | {} |",
                100.0 * omega,
                range(&held),
                range(&predicted),
                range(&differ)
            );
        }
    }
    println!();
    Ok(())
}

/// How often the effect on these nodes is held by the interval of all interim analyses, and how often the verdict with which a step leaves is
/// false, of rounds that scatter by 1.5 %.
fn fixed(experiments: usize) -> Result<(), Box<dyn Error>> {
    println!(
        "| nodes | ω | interval holds, % | false verdicts, % | interval of δ holds at the verdict, % |\n|---|---|---|---|---|"
    );
    for nodes in [1, 2, 3, 5, 8, 16, 50, 200] {
        let times = if nodes < 50 { 1 } else { 10 };
        let analyses: Vec<usize> =
            InterimAnalyses::general().rounds().iter().map(|rounds| times * rounds).collect();
        let last = 40 * times;
        let judge = judge(analyses.clone())?;
        for omega in OMEGAS {
            let truth = truth(nodes, 2 * last / nodes + 2, omega, 0.015);
            let (mut held, mut wrong, mut told, mut of_kind) = (0, 0, 0, 0);
            for experiment in 0..experiments {
                let fleet = Draws::of(experiment as u64).fleet(&truth);
                let all = first(&fleet, last);
                let interval = decide(&judge, &all)?.decision.interval.ok_or("no interval")?;
                held += usize::from(interval.contains(effect_on(&all)));
                for rounds in &analyses {
                    let seen = first(&fleet, *rounds);
                    let FleetDecision { decision, kind, .. } = decide(&judge, &seen)?;
                    if decision.leaves {
                        wrong += usize::from(is_false(decision.verdict, effect_on(&seen)));
                        told += usize::from(kind.is_some());
                        of_kind += usize::from(kind.is_some_and(|kind| kind.interval.contains(0.0)));
                        break;
                    }
                }
            }
            let (held, wrong) = (percent(held, experiments), percent(wrong, experiments));
            let of_kind = if told * 20 > experiments {
                format!("{:.1}", percent(of_kind, told))
            } else {
                "–".to_owned()
            };
            println!("| {nodes} | {} % | {held:.1} | {wrong:.1} | {of_kind} |", 100.0 * omega);
        }
    }
    println!();
    Ok(())
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
/// step scatter by 1 to 2 %. So many lists as have that many comparisons.
fn speed(experiments: usize) -> Result<(), Box<dyn Error>> {
    println!(
        "| nodes | rounds of all nodes | rounds of one node | of one node's by itself, times its share | decided, % |\n|---|---|---|---|---|"
    );
    let analyses = InterimAnalyses::general().rounds().to_vec();
    let judge = judge(analyses.clone())?;
    let effects = |step: usize| if step < 12 { 0.0 } else { [-0.01, -0.03, -0.06][step % 3] };
    let lists = experiments.div_ceil(24);
    let mut alone = None;
    for nodes in [1, 2, 3, 4, 5, 8, 16] {
        let (mut rounds, mut decided) = (0, 0);
        for list in 0..lists {
            let mut draws = Draws::of(list as u64);
            let mut step = |step: usize| {
                let sd = 0.01 + 0.01 * draws.uniform();
                draws.fleet(&Truth { effect: effects(step), ..truth(nodes, 80 / nodes + 2, 0.0, sd) })
            };
            let steps: Vec<Vec<Node>> = (0..24).map(&mut step).collect();
            let mut seen = [0; 24];
            let mut decisions: Vec<FleetDecision> = Vec::new();
            for analysis in &analyses {
                for (step, seen) in seen.iter_mut().enumerate() {
                    if decisions.get(step).is_none_or(|one| !one.decision.leaves) {
                        *seen = *analysis;
                    }
                }
                let of_step = |(nodes, seen): (&Vec<Node>, &usize)| comparison(&first(nodes, *seen));
                let family: Vec<FleetComparison> = steps.iter().zip(&seen).map(of_step).collect();
                decisions = judge.decide_fleet(&family)?;
            }
            rounds += seen.iter().sum::<usize>();
            let is_decided = |one: &&FleetDecision| one.decision.verdict != Verdict::NotEnoughData;
            decided += decisions.iter().filter(is_decided).count();
        }
        let each = rounds as f64 / (24 * lists) as f64;
        let alone = *alone.get_or_insert(each);
        let decided = percent(decided, 24 * lists);
        println!("| {nodes} | {each:.1} | {:.1} | {:.2} | {decided:.1} |", each / nodes as f64, each / alone);
    }
    Ok(())
}
