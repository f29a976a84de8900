//! Postgres, InnoDB of MySQL and of MariaDB, MyRocks and SQLite in one table with one base, with sizes that are no multiples of anything.

use basecase_model::Trial;
use basecase_store::Store;
use basecase_tests::Sandbox;
use basecase_tests::running::HARDLY_SETTLES;

use crate::worked_example::naive_model;

/// With how many ids a session that inserts takes from the sequence at once.
const CANDIDATES: [(&str, i64); 5] = [
    ("postgres:18.6", 1000),
    ("mysql:5.7.22", 1),
    ("mariadb:10.11.18", 1),
    ("mariadb:10.11.18#rocksdb", 1),
    ("sqlite@rollback_full", 1),
];

/// Rows, smallest, largest id and the sequence's last value of one table after each of a candidate's steps.
fn states(trials: &[Trial], candidate: &str, table: usize) -> Vec<[i64; 4]> {
    let of_candidate = trials.iter().filter(|trial| trial.candidate == candidate);
    let state = |trial: &Trial| {
        let table = &trial.state.tables[table];
        let rows = table.rows.map(|rows| i64::try_from(rows).unwrap());
        [rows, table.min_id, table.max_id, table.last_value].map(Option::unwrap)
    };
    of_candidate.map(state).collect()
}

#[test]
fn five_engines_run_the_ten_steps_in_one_report() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["compare", "--full"];
    arguments.extend(CANDIDATES.map(|(candidate, _)| candidate));
    arguments.extend(["--clients", "2", "--rows", "3010", "--writes", "1003", "--seconds", "1"]);
    arguments.extend(["--seed", "7", "--pace", "even"]);
    arguments.extend(HARDLY_SETTLES);
    arguments.extend(["--store", "s.sqlite", "--data", "data", "--out", "report"]);
    let output = sandbox.output(&arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let store = Store::open_read_only(&sandbox.path().join("s.sqlite")).unwrap();
    let experiment = store.experiments().unwrap().pop().unwrap();
    let trials = store.trials(&experiment.id).unwrap();
    assert_eq!(trials.len(), 10 * CANDIDATES.len());
    for trial in &trials {
        assert!(trial.is_complete(), "{}", trial.candidate);
        // The model of the tables was compared: rows, smallest and largest id, and the indexes.
        for what in ["pi1 rows", "pi1 min id", "pi1 max id", "pi1 secondary indexes"] {
            let check = trial.checks.iter().find(|check| check.name == what);
            assert!(check.is_some_and(|check| check.passed), "{} {}: {what}", trial.candidate, trial.step);
        }
    }

    let names: Vec<&str> = experiment.candidates.iter().map(|candidate| candidate.name.0.as_str()).collect();
    // 4/5 of 1003 is 802.
    let mut steps = vec![(3010, 100, false), (100, 100, false), (802, 50, true), (201, 5, true)];
    steps.extend([100, 100, 500, 500, 1000, 1000].map(|rate| (rate, 50, true)));
    for (name, (_, cache)) in names.iter().zip(CANDIDATES) {
        let expected = naive_model(cache, &steps);
        assert_eq!([0, 1].map(|table| states(&trials, name, table)), [expected.clone(), expected], "{name}");
    }

    // One table, the first candidate its base.
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(names[3].starts_with("ma101118_rocksdb.za1"), "{names:?}");
    for name in &names {
        assert!(text.contains(name), "{name} in {text}");
    }
    assert!(sandbox.path().join("report/index.html").is_file());
}
