//! Some steps of an experiment, and all of it later.

use super::*;

fn choosing(workload: Arc<dyn Workload>, steps: &[&str]) -> Scenario {
    let steps = Some(steps.iter().map(|step| (*step).to_owned()).collect());
    let options = RunOptions { steps, ..RunOptions::default() };
    Scenario { workload, options, ..classic() }
}

/// Steps of the complete trials in the order in which they were measured, of the first candidate.
fn measured(laboratory: &Laboratory, scenario: &Scenario) -> Vec<String> {
    let trials = laboratory.trials(scenario).into_iter().filter(Trial::is_complete);
    trials.filter(|trial| trial.candidate.contains("wal_normal")).map(|trial| trial.step).collect()
}

#[test]
fn chosen_steps_are_measured_after_their_past_and_found_by_the_whole_run() {
    let laboratory = Laboratory::new();
    let chosen = choosing(insert_benchmark(), &["l.i1", "qr500"]);
    let mut fake = slower_by(0.5);
    let summary = laboratory.run(&chosen, &mut fake).unwrap();
    assert_eq!((summary.all, summary.measured, summary.found), (4, 4, 0));
    assert_eq!(measured(&laboratory, &chosen), ["l.i1", "qr500"]);
    // Every step between counts as a past: l.i0 and l.x, then l.i2, qr100 and qp100, of both candidates.
    let pasts = fake.calls().iter().filter(|call| matches!(call, Call::Execute { .. })).count();
    assert_eq!(pasts, 2 * (2 + 3));
    let warned = |trial: &Trial| trial.warnings.iter().any(|warning| warning.contains("were not measured"));
    assert!(laboratory.trials(&chosen).iter().all(warned));
    let again = laboratory.run(&chosen, &mut slower_by(0.5)).unwrap();
    assert_eq!((again.measured, again.found), (0, 4));
    let whole = laboratory.run(&classic(), &mut slower_by(0.5)).unwrap();
    assert_eq!((whole.all, whole.measured, whole.found), (20, 16, 4));
    assert_eq!(measured(&laboratory, &classic()).len(), 10);
}

#[test]
fn steps_that_only_read_are_no_past() {
    let laboratory = Laboratory::new();
    let workload = steps_of(&["point-query", "insert", "hot-points"]);
    let label = workload
        .outlines()
        .iter()
        .find(|step| step.facts.name.starts_with("point"))
        .unwrap()
        .facts
        .name
        .clone();
    let chosen = choosing(Arc::clone(&workload), &[&label]);
    let mut fake = slower_by(0.5);
    laboratory.run(&chosen, &mut fake).unwrap();
    assert_eq!(measured(&laboratory, &chosen), [label]);
    let pasts = fake.calls().iter().filter(|call| matches!(call, Call::Execute { .. })).count();
    assert_eq!(pasts, 2, "the load of each candidate: {:#?}", fake.calls());
}
