//! Reading a store, and verifying it.

use basecase_model::{
    CandidateName, Cell, CountEngine, CountWindow, Experiment, FunctionCount, Observation, OperationClass,
    Place, StepCount, Trial, TrialStatus,
};

use super::sample;
use crate::{Detail, InFlight, Problem, Store, TrialCounts};

fn store_with(experiments: &[&str]) -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create_or_open(&directory.path().join("results.db")).unwrap();
    for id in experiments {
        store.save_experiment(&sample::experiment(id)).unwrap();
    }
    (directory, store)
}

#[test]
fn a_resumed_experiment_keeps_its_first_start() {
    let (_directory, mut store) = store_with(&["e"]);
    let mut resumed = sample::experiment("e");
    resumed.created_at = "2027-01-01T00:00:00Z".into();
    resumed.name = "another name".into();
    store.save_experiment(&resumed).unwrap();
    let stored = store.experiment("e").unwrap().unwrap();
    assert_eq!(stored.created_at, sample::experiment("e").created_at);
    assert_eq!(stored.name, "another name");
    assert_eq!(store.experiment("f").unwrap(), None);
}

#[test]
fn trials_count_in_each_experiment_that_has_their_cell() {
    let (_directory, mut store) = store_with(&["first", "second", "third"]);
    let (shared, own) = (sample::cell("l.i0"), sample::cell("qr100"));
    let failed = TrialStatus::Failed { reason: "no".into(), log_tail: String::new() };
    store.save_trial("first", &shared, &sample::trial(&shared, 0)).unwrap();
    store.save_trial("first", &own, &Trial { status: failed, ..sample::trial(&own, 0) }).unwrap();
    store.save_cells("second", &[(CandidateName("other".into()), shared.clone())]).unwrap();
    store.save_trial("second", &shared, &sample::trial(&shared, 1)).unwrap();
    let counts = store.trial_counts().unwrap();
    assert_eq!(counts["first"], TrialCounts { complete: 2, failed: 1 });
    assert_eq!(counts["second"], TrialCounts { complete: 2, failed: 0 });
    assert!(!counts.contains_key("third"));
}

#[test]
fn a_second_experiment_finds_the_trials_of_its_cells() {
    let (_directory, mut store) = store_with(&["first", "second"]);
    let (shared, own) = (sample::cell("l.i0"), sample::cell("qr100"));
    let trial = Trial { measured_by: "first".into(), ..sample::trial(&shared, 0) };
    store.save_trial("first", &shared, &trial).unwrap();
    store.save_trial("first", &own, &sample::trial(&own, 0)).unwrap();
    assert!(store.trials("second").unwrap().is_empty());

    store.save_cells("second", &[(CandidateName("renamed.x10a".into()), shared.clone())]).unwrap();
    let found = store.trials("second").unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].candidate, "renamed.x10a");
    assert_eq!(store.trials_for_cells(&[shared.key()]).unwrap(), [trial]);
    assert_eq!(store.trials_for_cells(&[shared.key(), own.key()]).unwrap().len(), 2);
    assert_eq!(store.trials("first").unwrap().len(), 2);
}

#[test]
fn of_a_shared_base_case_each_experiment_has_what_was_measured_with_it() {
    let nights = ["one", "two", "three"];
    let (_directory, mut store) = store_with(&nights);
    let base = sample::cell("l.i0");
    // The third night measures the build of the second again.
    let builds = [1, 2, 2].map(|build| Cell { build: format!("night {build}"), ..base.clone() });
    for ((round, night), build) in (0..).zip(nights).zip(&builds) {
        let trial = |cell: &Cell, name: &str| Trial {
            candidate: name.into(),
            measured_by: night.into(),
            ..sample::trial(cell, round)
        };
        store.save_trial(night, &base, &trial(&base, "base")).unwrap();
        store.save_trial(night, build, &trial(build, "dev")).unwrap();
    }
    let all = store.of_rounds(&nights.map(|night| (night, "base")), |_, trials| trials).unwrap();
    let measured = |trials: &[Trial]| -> Vec<(String, String)> {
        trials.iter().map(|trial| (trial.candidate.clone(), trial.measured_by.clone())).collect()
    };
    let of = |nights: &[&str]| -> Vec<(String, String)> {
        let both = |night: &&str| ["base", "dev"].map(|name| (name.to_owned(), (*night).to_owned()));
        nights.iter().flat_map(both).collect()
    };
    assert_eq!(measured(&all[0]), of(&["one"]));
    assert_eq!(measured(&all[1]), of(&["two", "three"]));
    assert_eq!(measured(&all[2]), of(&["two", "three"]));
    assert_eq!(store.trials("one").unwrap().len(), 4, "all cells of the base case");
}

#[test]
fn only_a_complete_trial_needs_no_repetition() {
    let (_directory, mut store) = store_with(&["e"]);
    let cell = sample::cell("l.i0");
    let failed = TrialStatus::Failed { reason: "server ended".into(), log_tail: "FATAL".into() };
    let mut trial = sample::trial(&cell, 3);
    trial.status = failed;
    store.save_trial("e", &cell, &trial).unwrap();
    assert_eq!(store.complete_trial(&cell.key(), 3, false, Detail::Whole).unwrap(), None);

    let mut again = sample::trial(&cell, 3);
    again.started_at = "2026-01-03T00:00:00Z".into();
    store.save_trial("e", &cell, &again).unwrap();
    assert_eq!(store.complete_trial(&cell.key(), 3, false, Detail::Whole).unwrap(), Some(again.clone()));
    assert_eq!(store.complete_trial(&cell.key(), 4, false, Detail::Whole).unwrap(), None);
    // In brief it says the same of rates.
    let brief = store.complete_trial(&cell.key(), 3, false, Detail::Brief).unwrap().unwrap();
    for class in [OperationClass::Insert, OperationClass::Delete, OperationClass::Query] {
        assert_eq!(brief.per_second(class), again.per_second(class));
    }
    let facts = |trial: &Trial| (trial.place, trial.seconds, trial.status.clone(), trial.warnings.clone());
    assert!(facts(&brief) == facts(&again) && !brief.roles.is_empty() && brief.counters != again.counters);
    assert_eq!(store.complete_trial(&cell.key(), 4, false, Detail::Brief).unwrap(), None);
    assert_eq!(store.trials("e").unwrap(), [trial, again]);
}

#[test]
fn defect_14_trials_and_experiments_are_in_the_order_in_which_they_were_stored() {
    let (_directory, mut store) = store_with(&[]);
    for (id, created_at) in [
        ("late", "2026-01-02T03:04:05.5Z"),
        ("first", "2026-01-02T03:04:05Z"),
        ("back", "2025-12-31T00:00:00Z"),
    ] {
        store
            .save_experiment(&Experiment { created_at: created_at.into(), ..sample::experiment(id) })
            .unwrap();
    }
    store.save_experiment(&sample::experiment("late")).unwrap();
    let ids: Vec<String> = store.experiments().unwrap().into_iter().map(|experiment| experiment.id).collect();
    assert_eq!(ids, ["late", "first", "back"]);

    let cell = sample::cell("l.i0");
    let failed = TrialStatus::Failed { reason: "server ended".into(), log_tail: String::new() };
    // Compared as text, the first is later than the second; the third is from before the clock was set back.
    let times = ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5Z", "2026-01-01T00:00:00Z"];
    for time in times {
        let trial = Trial { started_at: time.into(), status: failed.clone(), ..sample::trial(&cell, 0) };
        store.save_trial("late", &cell, &trial).unwrap();
    }
    let times_of = |trials: Vec<Trial>| trials.into_iter().map(|trial| trial.started_at).collect::<Vec<_>>();
    assert_eq!(times_of(store.trials("late").unwrap()), times);
    assert_eq!(times_of(store.trials_for_cells(&[cell.key()]).unwrap()), times);
    // From another experiment, whose clock is behind.
    let [early, later] = ["2026-01-03T00:00:00Z", "2026-01-02T00:00:00Z"]
        .map(|time| Trial { started_at: time.into(), ..sample::trial(&cell, 0) });
    store.save_trial("late", &cell, &early).unwrap();
    store.save_trial("back", &cell, &later).unwrap();
    let latest = store.complete_trial(&cell.key(), 0, false, Detail::Whole).unwrap();
    assert_eq!(latest.map(|trial| trial.started_at), Some(later.started_at));
}

#[test]
fn defect_21_an_experiment_has_one_complete_trial_of_a_cell_and_round() {
    let (_directory, mut store) = store_with(&["e", "f"]);
    let cell = sample::cell("l.i0");
    let trial = sample::trial(&cell, 3);
    let again = Trial { started_at: "2026-01-03T00:00:00Z".into(), ..trial.clone() };
    store.save_trial("e", &cell, &trial).unwrap();
    for refused in
        [store.save_trial("e", &cell, &again).map(drop), store.save_together("e", &[(&cell, &again)])]
    {
        let error = refused.unwrap_err();
        assert!(matches!(error.problem, Problem::Repeated { round: 4, .. }), "{error}");
    }
    store.save_trial("f", &cell, &again).unwrap();
    let failed = TrialStatus::Failed { reason: "server ended".into(), log_tail: String::new() };
    store.save_trial("e", &cell, &Trial { status: failed, ..again.clone() }).unwrap();
    let profiled =
        Trial { observation: Observation::Profiled, started_at: "2026-01-04T00:00:00Z".into(), ..again };
    store.save_trial("e", &cell, &profiled).unwrap();
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());

    let stored = Trial { measured_by: "e".into(), ..trial.clone() };
    for _ in 0..2 {
        store.add_warning(&stored, "loaded again").unwrap();
    }
    let warnings: Vec<Vec<String>> =
        store.trials("e").unwrap().into_iter().map(|trial| trial.warnings).collect();
    assert_eq!(warnings[0].iter().filter(|warning| *warning == "loaded again").count(), 1);
    assert!(warnings[1..].iter().flatten().all(|warning| warning != "loaded again"));
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn a_step_is_in_flight_until_its_trial_is_stored() {
    let (_directory, mut store) = store_with(&["e"]);
    let cell = sample::cell("l.i0");
    assert_eq!(store.in_flight().unwrap(), None);
    let mut step = InFlight {
        experiment: "e".into(),
        cell: cell.key(),
        step: "l.i0".into(),
        candidate: "pg176.x10a".into(),
        place: Place { round: 1, pass: 2, position: 3 },
    };
    store.begin_step(&step).unwrap();
    step.place.position = 4;
    store.begin_step(&step).unwrap();
    assert_eq!(store.in_flight().unwrap(), Some(step));

    let mut stray = sample::trial(&cell, 0);
    stray.cell = "another".into();
    let error = store.save_trial("e", &cell, &stray).unwrap_err();
    assert!(matches!(error.problem, Problem::WrongCell { .. }), "{error}");
    assert!(store.in_flight().unwrap().is_some(), "nothing of a refused trial is stored");
    assert!(store.save_trial("unknown", &cell, &sample::trial(&cell, 0)).is_err());

    store.save_trial("e", &cell, &sample::trial(&cell, 0)).unwrap();
    assert_eq!(store.in_flight().unwrap(), None);
}

#[test]
fn what_is_not_finite_is_absent_or_refused() {
    let (_directory, mut store) = store_with(&["e"]);
    let cell = sample::cell("l.i0");
    let mut trial = sample::trial(&cell, 0);
    trial.gauges.set("size.database_bytes", f64::INFINITY);
    trial.counters.set("device.reads", f64::NAN);
    trial.roles[0].server_cpu_us = Some(f64::NAN);
    store.save_trial("e", &cell, &trial).unwrap();
    let stored = store.trials("e").unwrap().remove(0);
    assert_eq!(stored.gauges.get("size.database_bytes"), None);
    assert_eq!(stored.counters.get("device.reads"), None);
    assert_eq!(stored.roles[0].server_cpu_us, None);

    let mut trial = sample::trial(&cell, 1);
    trial.seconds = f64::NAN;
    let error = store.save_trial("e", &cell, &trial).unwrap_err();
    assert!(matches!(error.problem, Problem::NotFinite("seconds")), "{error}");
    assert_eq!(store.trials("e").unwrap().len(), 1);
}

#[test]
fn defect_fuzz_each_problem_of_a_damaged_file_is_one_line() {
    let (directory, mut store) = store_with(&["e"]);
    let cell = sample::cell("l.i0");
    store.save_trial("e", &cell, &sample::trial(&cell, 0)).unwrap();
    let path = directory.path().join("damaged.db");
    store.connection().execute("VACUUM INTO ?1", [path.to_str().unwrap()]).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // The head of the second page gives its kind.
    bytes[4096..4100].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let problems = Store::open_read_only(&path).unwrap().verify().unwrap();
    assert!(problems.len() > 1 && problems.iter().all(|problem| !problem.contains('\n')), "{problems:?}");
}

#[test]
fn defect_fuzz_verify_finds_whatever_readers_are_refused() {
    for damage in [
        "DROP TABLE in_flight",
        "UPDATE track SET numbers = x'00'",
        "UPDATE profile SET modules = '{'",
        "UPDATE slices SET slices = x'00'",
        "UPDATE measures SET gauges = '[]'",
        "UPDATE statement SET executed = -1",
    ] {
        let (_directory, mut store) = store_with(&["e"]);
        let cell = sample::cell("l.i0");
        store.save_trial("e", &cell, &sample::trial(&cell, 0)).unwrap();
        store.connection().execute_batch(damage).unwrap();
        let problems = store.verify().unwrap();
        assert!(problems.iter().any(|problem| problem.contains("cannot read ")), "{damage}: {problems:?}");
    }
}

#[test]
fn defect_fuzz_a_column_of_another_kind_is_damage_and_has_a_hint() {
    let (_directory, store) = store_with(&["e"]);
    store.connection().execute_batch("ALTER TABLE experiment RENAME COLUMN facts TO fact").unwrap();
    let error = store.experiments().unwrap_err();
    assert!(matches!(error.problem, Problem::Damaged(_)), "{error}");
    assert!(
        error.to_string().contains("no such column") && error.to_string().contains("\nhint: "),
        "{error}"
    );
}

#[test]
fn verify_finds_every_kind_of_damage() {
    let (_directory, mut store) = store_with(&["e"]);
    let cell = sample::cell("l.i0");
    store.save_trial("e", &cell, &sample::trial(&cell, 0)).unwrap();
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());

    let damages = [
        ("UPDATE cell SET facts = replace(facts, 'l.i0', 'l.i1')", "its facts have the key"),
        ("UPDATE cell SET facts = '{'", "cannot read its facts"),
        ("UPDATE experiment SET facts = '{}'", "cannot read its facts"),
        ("UPDATE trial SET round = 9", "its id should be"),
        ("UPDATE trial SET protocol_revision = 9", "protocol revision"),
        ("UPDATE trial SET warnings = ''", "cannot read its warnings"),
        ("UPDATE role SET events = 4", "4 events, but 3 service times"),
        ("UPDATE role SET items = 301", "301 items, but 300 in the time series"),
        ("UPDATE role SET service = x'00'", "cannot read a stored histogram"),
        ("UPDATE role SET response = x'00'", "cannot read a stored histogram"),
        ("UPDATE role SET samples = x'00'", "cannot read a time series"),
        ("UPDATE role SET asides = '['", "EOF"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM experiment", "refers to a missing row of table"),
    ];
    for (damage, expected) in damages {
        let connection = store.connection();
        // `foreign_keys` cannot change within a savepoint, so each damage gets its own copy of the file.
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join("damaged.db");
        connection.execute("VACUUM INTO ?1", [path.to_str().unwrap()]).unwrap();
        let damaged = Store::create_or_open(&path).unwrap();
        damaged.connection().execute_batch(damage).unwrap();
        let problems = damaged.verify().unwrap();
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{damage}: {problems:?}");
        assert!(problems.iter().all(|problem| !problem.contains('\n')), "{damage}: {problems:?}");
    }
}

#[test]
fn counts_come_back_equal_and_are_named_by_the_experiment_that_asks() {
    let (_directory, mut store) = store_with(&["e", "f"]);
    let cell = sample::cell("l.i0");
    let count = StepCount {
        cell: cell.key(),
        step: "l.i0".into(),
        candidate: "one".into(),
        start: 1,
        started_at: "2026-01-02T03:04:05Z".into(),
        engine: CountEngine::Callgrind,
        engine_version: "valgrind-3.19.0".into(),
        failure: None,
        operation: OperationClass::Query,
        windows: vec![CountWindow { operations: 40, events: 40, instructions: 12_345 }],
        functions: vec![FunctionCount {
            name: "ExecScan".into(),
            object: "postgres".into(),
            file: Some("execScan.c".into()),
            line: Some(156),
            exclusive: vec![0.1 + 0.2],
            inclusive: vec![308.625],
            calls: vec![1.0],
            callers: vec!["ExecProcNode".into()],
        }],
        warnings: vec!["something".into()],
    };
    store.save_counts("e", &[(&cell, &count)]).unwrap();
    assert_eq!(store.counts("e").unwrap(), std::slice::from_ref(&count));
    assert_eq!(store.counts("f").unwrap(), []);
    store.save_cells("f", &[(CandidateName("other".into()), cell.clone())]).unwrap();
    assert_eq!(store.counts("f").unwrap()[0].candidate, "other");
    assert_eq!(store.verify().unwrap(), [""; 0]);

    let of_another = StepCount { cell: "x".into(), ..count.clone() };
    assert!(store.save_counts("e", &[(&cell, &of_another)]).is_err());
    let empty = StepCount { windows: Vec::new(), start: 2, ..count };
    store.save_counts("e", &[(&cell, &empty)]).unwrap();
    assert!(store.verify().unwrap()[0].contains("start 3: it counted no operation"));
}
