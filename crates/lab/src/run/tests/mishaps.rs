//! Runs that are killed, stopped or fail at each call that they make, and go on.

use std::collections::BTreeSet;

use super::super::fake::Mishap;
use super::*;

/// Rounds of a chain.
const CHAINS: u32 = 2;

/// The calls that a run makes that nothing happens to.
fn calls_of(scenario: &Scenario) -> Vec<Call> {
    let mut fake = slower_by(0.5);
    Laboratory::new().run(scenario, &mut fake).unwrap();
    fake.calls()
}

fn all_scenarios() -> [Scenario; 3] {
    let mut chains = in_chains(5);
    // Each round of a chain is like the one before, and what is decided after five is in the other rounds.
    chains.options.most_rounds = Some(CHAINS);
    [classic(), in_rounds(5), chains]
}

/// What a finished run of a scenario has: each step of each candidate in each round that it has.
fn assert_whole(laboratory: &Laboratory, scenario: &Scenario, context: &str) {
    let rounds = laboratory.rounds(scenario);
    let count = rounds.values().map(Vec::len).sum::<usize>();
    let wanted = match &scenario.protocol {
        Protocol::Classic | Protocol::Counts(_) => 2 * 10,
        Protocol::Rounds(_) if scenario.workload.is_chain() => 2 * 10 * CHAINS as usize,
        Protocol::Rounds(_) => 2 + 2 * 2 * 5,
    };
    assert_eq!(count, wanted, "{context}: {rounds:?}");
    assert_eq!(laboratory.left(), Vec::<PathBuf>::new(), "{context}");
}

/// Complete trials by what tells them apart.
fn complete(laboratory: &Laboratory, scenario: &Scenario) -> BTreeMap<(String, u32), String> {
    let trials = laboratory.trials(scenario).into_iter().filter(Trial::is_complete);
    trials.map(|trial| ((trial.cell, trial.place.round), trial.started_at)).collect()
}

/// Lets something happen at each call, and the same command go on to its end.
fn at_each_call(scenario: &Scenario, mishap: Mishap) {
    for at in 0..calls_of(scenario).len() {
        let context = format!("{mishap:?} at call {at}");
        let laboratory = Laboratory::new();
        let mut fake = slower_by(0.5).with(at, mishap);
        let summary = laboratory.run(scenario, &mut fake);
        assert_eq!(summary.is_none(), mishap == Mishap::Kill, "{context}");
        assert_eq!(fake.up(), 0, "{context}: a candidate is still up");
        let before = complete(&laboratory, scenario);
        let mut again = slower_by(0.5);
        let summary = laboratory.run(scenario, &mut again).unwrap();
        assert!(summary.failed.is_empty(), "{context}: {:?} {:#?}", summary.failed, again.calls());
        let is_rebuilt = again.calls().iter().any(|call| matches!(call, Call::Execute { .. }));
        let is_told = laboratory.trials(scenario).iter().any(|trial| !trial.warnings.is_empty());
        // Rounds of a workload file load anew anyhow.
        let is_drawn = matches!(scenario.protocol, Protocol::Rounds(_)) && !scenario.workload.is_chain();
        assert!(is_told || !is_rebuilt || is_drawn, "{context}: a rebuild is not told");
        let after = complete(&laboratory, scenario);
        assert!(before.iter().all(|(key, at)| after.get(key) == Some(at)), "{context}: something was lost");
        assert_whole(&laboratory, scenario, &context);
    }
}

#[test]
fn a_run_that_is_killed_at_any_call_goes_on_and_loses_nothing() {
    all_scenarios().iter().for_each(|scenario| at_each_call(scenario, Mishap::Kill));
}

#[test]
fn a_run_that_is_stopped_at_any_call_goes_on_and_loses_nothing() {
    all_scenarios().iter().for_each(|scenario| at_each_call(scenario, Mishap::Interrupt));
}

#[test]
fn a_call_that_fails_costs_its_candidate_a_trial_and_the_same_command_tries_again() {
    for scenario in all_scenarios() {
        for at in 0..calls_of(&scenario).len() {
            let context = format!("failure of call {at}");
            let laboratory = Laboratory::new();
            let mut fake = slower_by(0.5).with(at, Mishap::Failure);
            let summary = laboratory.run(&scenario, &mut fake).unwrap();
            assert_eq!(fake.up(), 0, "{context}: a candidate is still up");
            assert!(!summary.interrupted);
            let failed = laboratory.trials(&scenario).iter().filter(|trial| !trial.is_complete()).count();
            assert_eq!(failed, summary.failed.len(), "{context}");
            let calls = fake.calls();
            let may_fail = !matches!(
                calls[at],
                Call::Forget { .. } | Call::Stop { .. } | Call::Discard { .. } | Call::Sweep { .. }
            );
            assert_eq!(failed, usize::from(may_fail), "{context}, {:?}: {:?}", calls[at], summary.failed);
            let mut again = slower_by(0.5);
            let summary = laboratory.run(&scenario, &mut again).unwrap();
            assert!(summary.failed.is_empty(), "{context}: {:?}", summary.failed);
        }
    }
}

#[test]
fn who_failed_a_step_is_out_of_it_and_nobody_is_measured_without_the_base_case() {
    let candidates = vec!["sqlite@wal_normal", "sqlite@rollback_full", "sqlite@default"];
    let scenario = Scenario { candidates, ..in_rounds(5) };
    let calls = calls_of(&scenario);
    let is_turns = |at: &usize| matches!(calls[*at], Call::Turns { .. });
    for at in (0..calls.len()).filter(is_turns) {
        let laboratory = Laboratory::new();
        let mut fake = slower_by(0.5).with(at, Mishap::Failure);
        laboratory.run(&scenario, &mut fake).unwrap();
        let trials = laboratory.trials(&scenario);
        let failed = trials.iter().find(|trial| !trial.is_complete()).unwrap();
        for call in &fake.calls()[at + 1..] {
            let Call::Turns { step, candidates, .. } = call else { continue };
            let context = format!("failure of call {at}: {call:?}");
            assert!(candidates.iter().any(|candidate| candidate.contains("wal")), "{context}");
            assert!(*step != failed.step || !candidates.contains(&failed.candidate), "{context}");
        }
    }
}

#[test]
fn data_that_is_whole_is_used_again_unless_the_user_wants_it_rebuilt() {
    let is_settled = |call: &Call| matches!(call, Call::Settle { .. });
    let at = calls_of(&classic()).iter().position(is_settled).unwrap();
    for rebuilds in [false, true] {
        let laboratory = Laboratory::new();
        laboratory.run(&classic(), &mut slower_by(0.5).with(at, Mishap::Interrupt)).unwrap();
        let mut again = slower_by(0.5);
        let scenario = Scenario { options: RunOptions { rebuilds, ..RunOptions::default() }, ..classic() };
        laboratory.run(&scenario, &mut again).unwrap();
        let is_rebuilt = again.calls().iter().any(|call| matches!(call, Call::Execute { .. }));
        assert_eq!(is_rebuilt, rebuilds);
    }
}

#[test]
fn rows_that_a_step_changed_in_place_are_not_used_again() {
    let scenario =
        Scenario { workload: steps_of(&["update-index"]), protocol: Protocol::Classic, ..in_rounds(5) };
    let calls = calls_of(&scenario);
    let is_update = |call: &Call| matches!(call, Call::Measure { step, .. } if step.starts_with("update"));
    let laboratory = Laboratory::new();
    let at = calls.iter().position(is_update).unwrap();
    assert!(laboratory.run(&scenario, &mut slower_by(0.5).with(at, Mishap::Kill)).is_none());
    let summary = laboratory.run(&scenario, &mut slower_by(0.5).blind()).unwrap();
    assert!(summary.failed.is_empty(), "{:?}", laboratory.trials(&scenario));
}

#[test]
fn a_rebuild_that_was_killed_is_not_taken_for_whole_though_all_rows_are_there() {
    let steps = ["update-index", "update-nonindex", "point-query"];
    let scenario = Scenario { workload: steps_of(&steps), protocol: Protocol::Classic, ..in_rounds(5) };
    let is_query =
        |call: &Call| matches!(call, Call::Measure { step, .. } if step.starts_with("point-query"));
    let query = calls_of(&scenario).iter().position(is_query).unwrap();
    let rebuilds = RunOptions { rebuilds: true, ..RunOptions::default() };
    let rebuild = Scenario { options: rebuilds, ..scenario.clone() };
    let mut updates = 0;
    for at in 0.. {
        let laboratory = Laboratory::new();
        assert!(laboratory.run(&scenario, &mut slower_by(0.5).with(query, Mishap::Kill)).is_none());
        let mut killed = slower_by(0.5).with(at, Mishap::Kill).blind();
        laboratory.run(&rebuild, &mut killed);
        let calls = killed.calls();
        if matches!(calls.get(at), Some(Call::Measure { .. })) {
            break;
        }
        updates += usize::from(matches!(calls[at], Call::Execute { .. }));
        let summary = laboratory.run(&scenario, &mut slower_by(0.5).blind()).unwrap();
        assert!(summary.failed.is_empty(), "killed at {:?}: {:?}", calls[at], laboratory.trials(&scenario));
        assert_eq!(laboratory.left(), Vec::<PathBuf>::new());
    }
    assert_eq!(updates, 3, "the load and both updates");
}

#[test]
fn who_is_stopped_starts_nothing_more() {
    for scenario in all_scenarios() {
        for at in 0..calls_of(&scenario).len() {
            let mut fake = slower_by(0.5).with(at, Mishap::Interrupt);
            Laboratory::new().run(&scenario, &mut fake).unwrap();
            let calls = fake.calls();
            let is_start = |call: &&Call| matches!(call, Call::Open { .. } | Call::Turns { .. });
            assert_eq!(calls[at + 1..].iter().find(is_start), None, "stopped at {at}, {:?}", calls[at]);
        }
    }
}

#[test]
fn nobody_is_started_for_a_step_that_nobody_is_left_to_be_compared_in() {
    let candidates = vec!["sqlite@wal_normal", "sqlite@rollback_full", "sqlite@default"];
    let scenario = Scenario { candidates, ..in_rounds(5) };
    let calls = calls_of(&scenario);
    for at in (0..calls.len()).filter(|at| matches!(calls[*at], Call::Turns { .. })) {
        let laboratory = Laboratory::new();
        let mut fake = slower_by(0.5).with(at, Mishap::Failure);
        laboratory.run(&scenario, &mut fake).unwrap();
        // Each start is for turns.
        let calls = fake.calls();
        let mut idle = BTreeSet::new();
        for call in &calls[at + 1..] {
            match call {
                Call::Open { candidate, is_fresh: false, .. } => {
                    idle.insert(candidate.clone());
                }
                Call::Turns { candidates, .. } => idle.retain(|name| !candidates.contains(name)),
                Call::Stop { candidate } => assert!(!idle.contains(candidate), "{at}: {candidate}"),
                _ => {}
            }
        }
    }
}

#[test]
fn turns_that_yield_nothing_are_not_taken_for_ever() {
    let scenario = in_rounds(5);
    let calls = calls_of(&scenario);
    let at = calls.iter().position(|call| matches!(call, Call::Turns { .. })).unwrap();
    let mut fake = slower_by(0.5).with(at, Mishap::Silence);
    Laboratory::new().run(&scenario, &mut fake).unwrap();
    assert_eq!(turns(&fake.calls()).len(), 2, "each step once");
}

#[test]
fn what_servers_reported_stays_when_the_same_command_asks_none() {
    for scenario in all_scenarios() {
        let laboratory = Laboratory::new();
        laboratory.run(&scenario, &mut slower_by(0.5)).unwrap();
        let again = laboratory.run(&scenario, &mut slower_by(0.5)).unwrap();
        assert_eq!(again.measured, 0);
        let stored = laboratory.experiment(&scenario);
        assert_eq!(stored.candidates, again.experiment.candidates);
        assert!(stored.candidates.iter().all(|facts| facts.running["fsync"] == "on"), "{stored:?}");
    }
}
