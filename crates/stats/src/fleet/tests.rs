//! What fleets promise, on simulated rounds whose truth is known.

#[path = "../../examples/fleet_coverage/fleets.rs"]
mod fleets;

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::analysis_plan::{AnalysisPlan, Sequential};
use crate::comparison::Round;
use crate::interim_analyses::InterimAnalyses;
use crate::round_conditions::RoundConditions;
use fleets::{Draws, Node, Truth, effect_on, first};

const TRUTH: Truth =
    Truth { effect: 0.0, omega: 0.0, sd: 0.015, load_sd: 0.0, rounds_of_load: 1, nodes: 8, rounds: 5 };

static JUDGE: LazyLock<Judge> = LazyLock::new(|| Judge::new(AnalysisPlan::default()).unwrap());

fn of_nodes(nodes: &[Node]) -> FleetComparison {
    let round = |(ended_s, load, effect): &(f64, u32, f64)| FleetRound {
        ended_s: *ended_s,
        load: *load,
        effect: *effect,
    };
    let nodes = nodes.iter().map(|node| node.rounds.iter().map(round).collect()).collect();
    FleetComparison { margin: 0.02, group: 0, nodes }
}

fn decide(nodes: &[Node]) -> FleetDecision {
    JUDGE.decide_fleet(&[of_nodes(nodes)]).unwrap().remove(0)
}

/// The share of `runs` fleets of which something holds.
fn share(runs: u64, truth: Truth, holds: impl Fn(&[Node], FleetDecision) -> bool) -> f64 {
    let of = |run: &u64| {
        let fleet = Draws::of(*run).fleet(&truth);
        let decision = decide(&fleet);
        holds(&fleet, decision)
    };
    (0..runs).filter(of).count() as f64 / runs as f64
}

#[test]
fn one_node_is_judged_as_one_host() {
    for run in 0..40 {
        let truth = Truth { nodes: 1, rounds: 1 + run, load_sd: 0.01, rounds_of_load: 2, ..TRUTH };
        let fleets: Vec<Vec<Node>> =
            (0..4).map(|step| Draws::of(100 * run as u64 + step).fleet(&truth)).collect();
        let round = |(_, load, effect): &(f64, u32, f64)| Round {
            conditions: RoundConditions { load: Some(*load), ..RoundConditions::default() },
            ..Round::from(*effect)
        };
        let of_host = |fleet: &Vec<Node>| Comparison {
            rounds: fleet[0].rounds.iter().map(round).collect(),
            margin: 0.02,
        };
        let hosts: Vec<Comparison> = fleets.iter().map(of_host).collect();
        let expected = JUDGE.clone().with_load_correlation(load_correlation(&hosts)).decide(&hosts).unwrap();
        // Nodes that have no rounds say nothing.
        let mut family: Vec<FleetComparison> = fleets.iter().map(|fleet| of_nodes(fleet)).collect();
        family[1].nodes.insert(0, Vec::new());
        let decisions = JUDGE.decide_fleet(&family).unwrap();
        for (decision, expected) in decisions.iter().zip(&expected) {
            assert_eq!(&decision.decision, expected);
            assert_eq!((decision.kind, decision.heterogeneity), (None, None));
        }
        assert_eq!(decisions[1].nodes[0], None);
        assert_eq!(decisions[1].nodes[1].unwrap().rounds, 1 + run);
    }
}

proptest! {
    #[test]
    fn the_order_of_nodes_does_not_matter(
        seed in any::<u64>(),
        order in Just((0..7).collect::<Vec<usize>>()).prop_shuffle(),
        rounds in 1..8usize,
        in_whole_minutes in any::<bool>(),
    ) {
        let truth = Truth { nodes: 7, rounds, omega: 0.03, load_sd: 0.01, rounds_of_load: 2, ..TRUTH };
        let fleet = |number: u64| {
            let mut nodes = Draws::of(seed ^ number).fleet(&truth);
            nodes[2].rounds.truncate(1);
            if in_whole_minutes {
                nodes.iter_mut().flat_map(|node| &mut node.rounds).for_each(|(ended_s, ..)| *ended_s = (*ended_s / 60.0).ceil());
            }
            of_nodes(&nodes)
        };
        let family: Vec<FleetComparison> = (0..3).map(fleet).collect();
        let permuted = |comparison: &FleetComparison| FleetComparison {
            nodes: order.iter().map(|number| comparison.nodes[*number].clone()).collect(),
            ..comparison.clone()
        };
        let decisions = JUDGE.decide_fleet(&family).unwrap();
        let others = JUDGE.decide_fleet(&family.iter().map(permuted).collect::<Vec<_>>()).unwrap();
        for (decision, other) in decisions.into_iter().zip(others) {
            let mut back = other.clone();
            for (place, number) in order.iter().enumerate() {
                back.nodes[*number] = other.nodes[place];
            }
            back.heterogeneity = other.heterogeneity.map(|found| Heterogeneity {
                stands_out: found.stands_out.map(|place| order[place]),
                ..found
            });
            prop_assert_eq!(decision, back);
        }
    }

    #[test]
    fn any_number_is_judged_or_refused(
        nodes in prop::collection::vec(prop::collection::vec((any::<f64>(), any::<u32>(), -700.0..700.0f64), 0..4), 0..8),
        strange in any::<f64>(),
    ) {
        let round = |(ended_s, load, effect): &(f64, u32, f64)| FleetRound { ended_s: *ended_s, load: *load, effect: *effect };
        let nodes: Vec<Vec<FleetRound>> = nodes.iter().map(|rounds| rounds.iter().map(round).collect()).collect();
        let mut comparison = FleetComparison { margin: 0.02, group: 0, nodes };
        prop_assert!(JUDGE.decide_fleet(&[comparison.clone()]).is_ok());
        comparison.nodes.push(vec![FleetRound { ended_s: 0.0, load: 0, effect: strange }]);
        prop_assert_eq!(JUDGE.decide_fleet(&[comparison]).is_ok(), strange.abs() <= 700.0);
    }
}

#[test]
fn rounds_count_in_the_order_in_which_they_ended() {
    let fleet = Draws::of(1).fleet(&Truth { nodes: 4, rounds: 5, ..TRUTH });
    // Up to the second interim analysis, after six rounds.
    let (now, later) = (decide(&first(&fleet, 6)).decision, decide(&first(&fleet, 7)).decision);
    assert_eq!((now.rounds, now.rounds_used, later.rounds, later.rounds_used), (6, 6, 7, 6));
    assert_eq!((now.interval, now.verdict), (later.interval, later.verdict));
    let expected =
        first(&fleet, 6).iter().flat_map(|node| &node.rounds).map(|(.., effect)| effect).sum::<f64>() / 6.0;
    assert!((now.estimate.unwrap() - expected).abs() < 1e-12);
}

#[test]
fn what_is_wrong_is_named() {
    let mut fleet = of_nodes(&Draws::of(1).fleet(&TRUTH));
    fleet.nodes[3][4].effect = f64::NAN;
    let error = JUDGE.decide_fleet(&[FleetComparison { margin: 0.02, ..FleetComparison::default() }, fleet]);
    assert!(error.unwrap_err().to_string().contains("of comparison 2: the effect is NaN"));
    assert!(JUDGE.decide_fleet(&[FleetComparison::default()]).is_err(), "a margin of 0");
}

#[test]
fn intervals_on_these_nodes_hold_over_all_interim_analyses() {
    for (nodes, omega) in [(2, 0.0), (2, 0.03), (8, 0.0), (8, 0.03)] {
        let truth = Truth { nodes, omega, rounds: 80 / nodes, ..TRUTH };
        let held = share(800, truth, |fleet, _| {
            let seen = first(fleet, 40);
            decide(&seen).decision.interval.unwrap().contains(effect_on(&seen))
        });
        // Four standard deviations of a share of 800.
        assert!((0.92..=0.985).contains(&held), "{nodes} {omega}: {held}");
    }
}

#[test]
fn intervals_for_the_kind_hold() {
    for (nodes, omega, rounds) in [(5, 0.0, 2), (5, 0.01, 2), (8, 0.03, 4), (16, 0.01, 3)] {
        let truth = Truth { nodes, omega, rounds, sd: 0.02, ..TRUTH };
        let held = share(800, truth, |_, decision| decision.kind.unwrap().interval.contains(0.0));
        assert!((0.92..=0.98).contains(&held), "{nodes} {omega}: {held}");
        let predicted = share(800, Truth { nodes: nodes + 1, ..truth }, |fleet, _| {
            let (next, fleet) = fleet.split_last().unwrap();
            decide(fleet).kind.unwrap().prediction.contains(next.effect)
        });
        assert!(predicted >= 0.91, "{nodes} {omega}: {predicted}");
    }
}

#[test]
fn steps_of_a_group_that_differ_alike_leave_the_prediction_as_it_is() {
    let runs = 300;
    let holds = |run: &u64| {
        let fleet = Draws::of(*run).fleet(&Truth { nodes: 6, omega: 0.02, rounds: 0, ..TRUTH });
        let step = |step: u64| {
            let noise = Draws::of(1000 * step + run).fleet(&Truth { nodes: 5, rounds: 3, ..TRUTH });
            let shifted = |(node, noise): (&Node, Node)| Node {
                rounds: noise
                    .rounds
                    .into_iter()
                    .map(|(ended_s, load, effect)| (ended_s, load, effect + node.effect))
                    .collect(),
                ..*node
            };
            of_nodes(&fleet.iter().zip(noise).map(shifted).collect::<Vec<_>>())
        };
        let family: Vec<FleetComparison> = (1..=6).map(step).collect();
        JUDGE.decide_fleet(&family).unwrap()[0].kind.unwrap().prediction.contains(fleet[5].effect)
    };
    let held = (0..runs).filter(holds).count();
    assert!(held * 100 >= 90 * runs as usize, "{held} of {runs}");
}

#[test]
fn nodes_of_equal_rounds_give_the_t_interval_of_their_means() {
    let fleet = Draws::of(3).fleet(&Truth { omega: 0.02, ..TRUTH });
    let decision = decide(&fleet);
    let means: Vec<f64> = decision.nodes.iter().map(|node| node.unwrap().estimate).collect();
    let sample = crate::sample::Sample::of(&means).unwrap();
    let expected = Interval::of_mean(&sample, 0.05);
    let kind = decision.kind.unwrap();
    assert!(
        (kind.interval.lower - expected.lower).abs() < 1e-9
            && (kind.interval.upper - expected.upper).abs() < 1e-9
    );
    let within = decision.decision.between_round_sd.unwrap().powi(2) / 5.0;
    assert!((kind.omega.powi(2) - (sample.variance() - within)).abs() < 1e-9, "{kind:?}");
    assert!((decision.heterogeneity.unwrap().q - 7.0 * sample.variance() / within).abs() < 1e-6);
}

#[test]
fn equal_nodes_rarely_differ_and_one_that_does_is_named() {
    for (nodes, rounds) in [(2, 2), (8, 2), (8, 5)] {
        let truth = Truth { nodes, rounds, ..TRUTH };
        let differ = share(1000, truth, |_, decision| decision.heterogeneity.unwrap().hosts_differ);
        assert!((0.02..=0.08).contains(&differ), "{nodes} {rounds}: {differ}");
    }
    let mut named = 0;
    for run in 0..100 {
        let mut fleet = Draws::of(run).fleet(&TRUTH);
        fleet[3].rounds.iter_mut().for_each(|(.., effect)| *effect -= 0.06);
        let found = decide(&fleet).heterogeneity.unwrap();
        assert!(found.hosts_differ || found.stands_out.is_none());
        named += usize::from(found.stands_out == Some(3));
    }
    assert!(named >= 95, "{named} of 100");
    let all_differ = share(200, Truth { omega: 0.03, ..TRUTH }, |_, decision| {
        decision.heterogeneity.unwrap().stands_out.is_some()
    });
    assert!(all_differ <= 0.3, "{all_differ}");
}

#[test]
fn a_node_that_is_noisier_is_seldom_taken_for_a_different_one() {
    let [mut differ, mut held] = [0, 0];
    for run in 0..1000 {
        let mut fleet = Draws::of(run).fleet(&TRUTH);
        fleet[0].rounds.iter_mut().for_each(|(.., effect)| *effect *= 2.0);
        let decision = decide(&fleet);
        differ += usize::from(decision.heterogeneity.unwrap().hosts_differ);
        held += usize::from(decision.kind.unwrap().interval.contains(0.0));
    }
    println!("{differ} of 1000 differ, {held} intervals hold");
    assert!(differ <= 130 && held >= 930, "{differ} {held}");
}

#[test]
fn little_is_told_of_few_nodes() {
    let of = |nodes, rounds| decide(&Draws::of(1).fleet(&Truth { nodes, rounds, ..TRUTH }));
    assert!(of(4, 9).kind.is_none() && of(5, 1).kind.is_none() && of(5, 2).kind.is_some());
    assert!(of(2, 1).heterogeneity.is_none() && of(2, 2).heterogeneity.is_some());
    assert_eq!(of(2, 2).heterogeneity.unwrap().stands_out, None);
    assert!(of(2, 1).nodes[0].unwrap().interval.is_none() && of(2, 2).nodes[0].unwrap().interval.is_some());
}

#[test]
fn rounds_of_one_load_of_a_node_are_held_to_be_as_alike_as_they_are() {
    let truth = Truth { nodes: 4, rounds: 6, load_sd: 0.015, rounds_of_load: 2, ..TRUTH };
    let runs = 200;
    let missed = |load: fn(u32, usize) -> u32| {
        let mut missed = 0;
        for run in 0..runs {
            let step = |step: u64| {
                let mut fleet = Draws::of(run * 8 + step).fleet(&truth);
                let rounds = fleet.iter_mut().flat_map(|node| node.rounds.iter_mut().enumerate());
                rounds.for_each(|(number, (_, own, _))| *own = load(*own, number));
                of_nodes(&fleet)
            };
            let decisions = JUDGE.decide_fleet(&(0..8).map(step).collect::<Vec<_>>()).unwrap();
            missed += decisions.iter().filter(|one| !one.decision.interval.unwrap().contains(0.0)).count();
        }
        missed as f64 / (8 * runs) as f64
    };
    let (aware, unaware) = (missed(|own, _| own), missed(|_, number| number as u32));
    assert!(aware <= 0.05 && unaware > 1.5 * aware, "{aware} {unaware}");
}

#[test]
fn nodes_share_the_rounds_of_one() {
    let rounds_to_verdict = |nodes: usize| {
        let truth = |effect| Truth { effect, nodes, rounds: 80 / nodes, ..TRUTH };
        let rounds = |run: u64| {
            let fleet = Draws::of(run).fleet(&truth([0.0, -0.03, -0.06][run as usize % 3]));
            let leaves = |rounds: &&usize| decide(&first(&fleet, **rounds)).decision.leaves;
            *InterimAnalyses::general().rounds().iter().find(leaves).unwrap()
        };
        (0..150).map(rounds).sum::<usize>() as f64
    };
    let alone = rounds_to_verdict(1);
    for nodes in [2, 4, 8] {
        let together = rounds_to_verdict(nodes);
        assert!(together <= 1.25 * alone, "{nodes}: {together} {alone}");
    }
}

#[test]
fn an_anytime_plan_has_fleets_too() {
    let judge =
        Judge::new(AnalysisPlan { sequential: Sequential::Anytime, ..AnalysisPlan::default() }).unwrap();
    let holds = |run: &u64| {
        let fleet = Draws::of(*run).fleet(&TRUTH);
        judge.decide_fleet(&[of_nodes(&fleet)]).unwrap()[0].decision.interval.unwrap().contains(0.0)
    };
    assert!((0..200).filter(holds).count() >= 190);
}
