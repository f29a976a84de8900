//! One machine of several: which rounds it measures, and who decides.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use basecase_analysis::Fleet;

use super::*;
use crate::run::DecidedSteps;

const READ: &str = "point-query_range=100";
const WRITE: &str = "insert_range=100";

/// Node `number` of `of`, of an experiment with at most so many rounds. `decided` is asked for steps between its rounds.
fn node(
    number: u32,
    of: u32,
    most: u32,
    decided: impl Fn() -> BTreeSet<String> + Send + Sync + 'static,
) -> Scenario {
    let mut scenario = in_rounds(most);
    scenario.node = Some(Node { number, of });
    scenario.options.decided = Some(DecidedSteps::told_by(decided));
    scenario
}

fn count(laboratory: &Laboratory, scenario: &Scenario, step: &str) -> Vec<usize> {
    let rounds = laboratory.rounds(scenario);
    rounds.iter().filter(|((name, _), _)| name == step).map(|(_, rounds)| rounds.len()).collect()
}

#[test]
fn a_node_measures_its_share_of_the_rounds_whatever_it_sees() {
    for (of, most, share) in [(1, 12, 12), (2, 20, 10), (8, 20, 3)] {
        let laboratory = Laboratory::new();
        let scenario = node(1, of, most, BTreeSet::new);
        // By itself it would be decided after five rounds.
        laboratory.run(&scenario, &mut slower_by(0.5)).unwrap();
        assert_eq!(count(&laboratory, &scenario, READ), [share, share], "{of} nodes");
        assert_eq!(count(&laboratory, &scenario, WRITE), [share, share], "{of} nodes");
    }
}

#[test]
fn what_the_coordinator_has_decided_gets_no_more_rounds() {
    let laboratory = Laboratory::new();
    let asked = AtomicUsize::new(0);
    let decided = move || {
        let is_late = asked.fetch_add(1, Ordering::Relaxed) >= 3;
        is_late.then(|| READ.to_owned()).into_iter().collect()
    };
    // No change that its own rounds could decide.
    let scenario = node(2, 2, 16, decided);
    laboratory.run(&scenario, &mut slower_by(0.0)).unwrap();
    assert_eq!(count(&laboratory, &scenario, READ), [3, 3]);
    assert_eq!(count(&laboratory, &scenario, WRITE), [8, 8]);
    // With everything decided, coming back measures nothing.
    let all = || BTreeSet::from([READ.to_owned(), WRITE.to_owned()]);
    let mut again = slower_by(0.0);
    laboratory.run(&node(2, 2, 16, all), &mut again).unwrap();
    assert!(turns(&again.calls()).is_empty(), "{:?}", again.calls());
}

#[test]
fn nodes_draw_for_themselves_and_are_judged_together() {
    let mut stored = Vec::new();
    let mut seeds = BTreeSet::new();
    let laboratory = Laboratory::new();
    for number in 1..=3 {
        let scenario = node(number, 3, 9, BTreeSet::new);
        laboratory.run(&scenario, &mut slower_by(0.1)).unwrap();
        let experiment = laboratory.experiment(&scenario);
        let own = experiment.node.clone().unwrap();
        assert_eq!((own.number, own.of), (number, 3));
        seeds.insert((experiment.seed, experiment.schedule.as_ref().map(|schedule| schedule.seed)));
        stored.push((experiment, laboratory.trials(&scenario)));
    }
    assert_eq!(seeds.len(), 3, "{seeds:?}");
    let ids: BTreeSet<&str> = stored.iter().map(|(experiment, _)| experiment.id.as_str()).collect();
    let fleets: BTreeSet<String> =
        stored.iter().map(|(experiment, _)| experiment.node.clone().unwrap().fleet).collect();
    assert_eq!((ids.len(), fleets.len()), (3, 1));
    let fleet = Fleet::of(&stored);
    assert_eq!((fleet.kinds.len(), fleet.nodes()), (1, 3));
    assert_eq!(fleet.decided(), BTreeSet::from([READ.to_owned(), WRITE.to_owned()]));
    // One of them by itself decides nothing with three rounds.
    assert_eq!(Fleet::of(&stored[..1]).decided(), BTreeSet::new());
    // Another number of rounds is another experiment only if margins or workload differ.
    let of_more = node(4, 9, 9, BTreeSet::new);
    let id = laboratory.plan(&of_more).experiment.node.clone().unwrap().fleet;
    assert!(fleets.contains(&id), "nodes may join");
}
