//! The schedule of an experiment in rounds as a specification: who runs when and from which data follows from the seed alone, wherever the
//! run was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use basecase_model::{Slice, Trial};
use basecase_stats::Orders;
use basecase_store::Store;
use basecase_tests::Sandbox;
use basecase_tests::running::{Point, Running, Told, assert_nothing_runs, one_round, trials};

const ROWS: u64 = 5000;

/// One round of two steps, of which one writes.
fn round() -> Vec<&'static str> {
    one_round("point-query,insert")
}

/// Everything that a run does up to the end of its first round, and how it throws its data away: where it is killed, and how long after it.
/// A kill in a load may come late, when the data is kept: then the next run does not load it, and is killed where its round starts.
fn points() -> Vec<(Vec<Point>, u64)> {
    let of_load = |candidate: &'static str| {
        [Point::phase("initialise"), Point::step("load"), Point::phase("settle"), Point::phase("keep")]
            .map(|point| (vec![point.of(candidate), Point::phase("start")], 0))
    };
    let of_round = [
        (Point::phase("start"), 0),
        (Point::step("point-query"), 0),
        (Point::work("point-query"), 50),
        (Point::step("insert"), 0),
        (Point::work("insert"), 50),
        (Point::round_ends(), 0),
        (Point::round_ends(), 3),
    ]
    .map(|(point, delay_ms)| (vec![point], delay_ms));
    [&of_load("wal_normal")[..], &of_load("rollback_full"), &of_round].concat()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end")]
fn who_runs_when_and_from_which_data_follows_from_the_seed_wherever_it_was_killed() {
    let sandbox = Sandbox::new();
    let store = sandbox.path().join("s.sqlite");
    let mut seen: BTreeMap<(String, u32, String), String> = BTreeMap::new();
    let mut ended = BTreeSet::new();
    let mut note_ended = |told: &Told| {
        for event in told.all("round_ends") {
            let number = event["round"].as_u64().unwrap();
            assert!(ended.insert(number), "round {number} ended twice");
        }
        ended.len()
    };
    for (points, delay_ms) in points() {
        let mut running = Running::start(&sandbox, &round());
        running.wait_for_any(&points);
        std::thread::sleep(Duration::from_millis(delay_ms));
        note_ended(&running.kill());
        assert_nothing_runs(&sandbox.path().join("data"));
        for trial in trials(&store).into_iter().filter(|trial| !trial.slices.is_empty()) {
            let key = (trial.step.clone(), trial.place.round, trial.candidate.clone());
            let first = seen.entry(key).or_insert_with(|| trial.started_at.clone());
            assert_eq!(*first, trial.started_at, "{} {} was run twice", trial.candidate, trial.step);
        }
    }
    let told = Running::to_end(&sandbox, &round());
    assert!(told.is_success(), "{told}");
    assert_nothing_runs(&sandbox.path().join("data"));
    let ended = note_ended(&told);

    let trials = trials(&store);
    let experiment = Store::open_read_only(&store).unwrap().experiments().unwrap().pop().unwrap();
    let rounds = trials.iter().map(|trial| trial.place.round).max().unwrap() + 1;
    // A kill that comes late may fall between the end of a round and its message.
    assert!(ended >= 3, "one for each run that came to its end: {ended}");
    assert!((ended..=ended + 1).contains(&(rounds as usize)), "{rounds} rounds, {ended} ended");
    let number = |trial: &Trial| {
        experiment.candidates.iter().position(|facts| facts.name.0 == trial.candidate).unwrap()
    };
    let orders = Orders::new(experiment.schedule.as_ref().unwrap().seed);
    let mut last = String::new();
    for round in 0..rounds {
        // Candidates are started in this order, in directories of that number.
        let slots = orders.balanced("slots", round as usize, 2);
        for step in experiment.steps.iter().filter(|step| step.is_compared()) {
            let of_step = |trial: &&Trial| trial.step == step.name && trial.place.round == round;
            let mut pair: Vec<&Trial> = trials.iter().filter(of_step).collect();
            pair.sort_by_key(|trial| trial.place.position);
            assert_eq!(pair.iter().map(|trial| number(trial)).collect::<Vec<_>>(), slots, "{}", step.name);
            assert!(pair.iter().all(|trial| trial.is_complete() && trial.measured_by == experiment.id));

            // One at a time, there and back, in an order of its own for each pass.
            let slices = |place: usize| {
                pair[place].slices.iter().map(move |slice| (slice.position, slice.pass, place))
            };
            let mut turns: Vec<(u32, u32, usize)> = (0..2).flat_map(slices).collect();
            turns.sort_unstable();
            let name = format!("{} in round {round}", step.name);
            let passes = turns.last().unwrap().1 + 1;
            let pass =
                |pass: u32| orders.pass(&name, pass as usize, 2).into_iter().map(move |place| (pass, place));
            let planned = (0..).zip((0..passes).flat_map(pass));
            let planned: Vec<(u32, u32, usize)> =
                planned.map(|(position, (pass, place))| (position, pass, place)).collect();
            assert_eq!(turns, planned, "{name}");

            for trial in &pair {
                // Each begins with the data that the load left.
                let table = &trial.state.tables[0];
                if step.writes {
                    let executed: u64 = trial.statements.iter().map(|record| record.whole().executed).sum();
                    assert_eq!(table.rows, Some(ROWS + executed), "{name} of {}", trial.candidate);
                } else {
                    assert_eq!((table.min_id, table.max_id), (Some(1), Some(ROWS as i64)), "{name}");
                }
            }
            if step.writes {
                let events = |trial: &Trial| -> Vec<u64> {
                    trial.slices.iter().map(|Slice { operations, .. }| *operations).collect()
                };
                assert_eq!(events(pair[0]), events(pair[1]), "equally old in every slice");
            }
        }
        let of_round =
            || trials.iter().filter(|trial| trial.place.round == round && !trial.slices.is_empty());
        assert!(of_round().all(|trial| trial.started_at > last), "rounds follow each other");
        last = of_round().map(|trial| trial.started_at.clone()).max().unwrap();
    }
}
