//! Postgres, InnoDB, MyRocks and SQLite in one table with one base.

use basecase_store::Store;
use basecase_tests::Sandbox;
use basecase_tests::running::HARDLY_SETTLES;

#[test]
fn four_engines_run_the_ten_steps_in_one_report() {
    let sandbox = Sandbox::new();
    let candidates = ["postgres:18.6", "mysql:8.0.31", "mariadb:10.11.18#rocksdb", "sqlite"];
    let mut arguments = vec!["compare", "--full"];
    arguments.extend(candidates);
    arguments.extend(["--rows", "5000", "--writes", "1000", "--seconds", "1"]);
    arguments.extend(HARDLY_SETTLES);
    arguments.extend(["--store", "s.sqlite", "--data", "data", "--out", "report"]);
    let output = sandbox.output(&arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let store = Store::open_read_only(&sandbox.path().join("s.sqlite")).unwrap();
    let experiment = store.experiments().unwrap().pop().unwrap();
    let trials = store.trials(&experiment.id).unwrap();
    assert_eq!(trials.len(), 40);
    for trial in &trials {
        assert!(trial.is_complete(), "{}", trial.candidate);
        // The model of the tables was compared: rows, smallest and largest id, and the indexes.
        for what in ["pi1 rows", "pi1 min id", "pi1 max id", "pi1 secondary indexes"] {
            let check = trial.checks.iter().find(|check| check.name == what);
            assert!(check.is_some_and(|check| check.passed), "{} {}: {what}", trial.candidate, trial.step);
        }
    }

    // One table, the first candidate its base.
    let text = String::from_utf8_lossy(&output.stdout);
    let names: Vec<&str> = experiment.candidates.iter().map(|candidate| candidate.name.0.as_str()).collect();
    assert!(names[2].starts_with("ma101118_rocksdb.za1"), "{names:?}");
    for name in &names {
        assert!(text.contains(name), "{name} in {text}");
    }
    assert!(sandbox.path().join("report/index.html").is_file());
}
