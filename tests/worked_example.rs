//! The Insert Benchmark against arithmetic: the worked example of its specification on servers and on SQLite. `mixture` holds another size
//! against the same set of ids, which are inserted and deleted one by one.

use std::collections::BTreeSet;

use basecase_model::{OperationClass, Trial, names};
use basecase_store::Store;
use basecase_tests::Sandbox;
use basecase_tests::running::HARDLY_SETTLES;
use serde_json::Value;

const STEPS: [&str; 10] =
    ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"];
const LABELS: [&str; 10] =
    ["l.i0", "l.x", "l.i1", "l.i2", "qr100.L1", "qp100.L2", "qr500.L3", "qp500.L4", "qr1000.L5", "qp1000.L6"];
/// Insert statements of each step in the worked example, where the steps that read take a second.
const ROUNDS: [u64; 10] = [200, 1, 160, 400, 2, 2, 10, 10, 20, 20];
/// Connections that each step holds, by its number of roles.
const ROLES: [usize; 10] = [2, 1, 3, 3, 4, 4, 4, 4, 4, 4];

/// One candidate, run to its end: the JSON report and the trials of the store.
fn run(sandbox: &Sandbox, candidate: &str, sizes: &[&str]) -> (Value, Vec<Trial>) {
    let mut arguments = vec!["compare", candidate, "--json", "--store", "s.sqlite", "--data", "data"];
    arguments.extend(HARDLY_SETTLES.iter().chain(sizes));
    let output = sandbox.command(&arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let store = Store::open_read_only(&sandbox.path().join("s.sqlite")).unwrap();
    let experiment = store.experiments().unwrap().pop().unwrap();
    let trials = store.trials(&experiment.id).unwrap();
    assert!(store.verify().unwrap().is_empty());
    (serde_json::from_slice(&output.stdout).unwrap(), trials)
}

/// What the report says of the table after each step, as [`naive_model`] says it.
fn states(report: &Value) -> Vec<[i64; 4]> {
    let steps = report["steps"].as_array().unwrap();
    assert_eq!(steps.iter().map(|step| step["step"].as_str().unwrap()).collect::<Vec<_>>(), STEPS);
    steps
        .iter()
        .map(|step| {
            let cell = &step["cells"][0];
            assert!(cell["failed"].is_null(), "{cell}");
            let state = &cell["state"]["tables"][0];
            ["rows", "min_id", "max_id", "last_value"].map(|key| state[key].as_i64().unwrap())
        })
        .collect()
}

/// What the roles of the worked example did, whatever the dbms.
fn check_statements(trials: &[Trial], index_statements: u64) {
    assert_eq!(trials.len(), 10);
    for (((trial, step), rounds), roles) in trials.iter().zip(STEPS).zip(ROUNDS).zip(ROLES) {
        assert_eq!((trial.step.as_str(), trial.is_complete()), (step, true));
        assert_eq!(trial.roles.len(), roles, "{step}");
        let statements = |class| trial.roles_of(class).map(|role| role.statements).sum::<u64>();
        let deletes = if matches!(step, "l.i0" | "l.x") { 0 } else { rounds };
        assert_eq!(statements(OperationClass::Insert), rounds, "{step}");
        assert_eq!(statements(OperationClass::Delete), deletes, "{step}");
        let aside = |name: &str| -> u64 {
            let asides = trial.roles.iter().flat_map(|role| &role.asides);
            asides.filter(|aside| aside.name == name).map(|aside| aside.count).sum()
        };
        assert_eq!(aside("min_id"), u64::from(deletes > 0), "{step}");
        assert_eq!(aside("create_index"), if step == "l.x" { index_statements } else { 0 });
        let queries = statements(OperationClass::Query);
        assert_eq!(queries > 0, step.starts_with('q'), "{step}");
        if step.starts_with("qp") {
            // The writers may be done right behind a reading, before the query that it was for.
            let readings = queries.div_ceil(100)..=queries / 100 + 1;
            assert!(readings.contains(&aside("max_id")), "{step}: {} {queries}", aside("max_id"));
        }
        for role in trial.roles_of(OperationClass::Query) {
            let rows_per_query = role.fetched as f64 / role.statements as f64;
            // Ids are drawn from 0 on until the deleter has deleted something, which takes a while on a busy machine.
            let least = if step.starts_with("qr") { 9.9 } else { 10.0 * share_of_ids(trial) - 0.4 };
            let expected = least..=10.0;
            assert!(expected.contains(&rows_per_query), "{step}: {rows_per_query}");
        }
    }
}

/// The share of ids up to the largest that a row has.
fn share_of_ids(trial: &Trial) -> f64 {
    let table = &trial.state.tables[0];
    table.rows.unwrap() as f64 / (table.max_id.unwrap() + 1) as f64
}

const WORKED_EXAMPLE: [&str; 6] = ["--rows", "20000", "--writes", "10000", "--seconds", "1"];

/// Steps of the worked example for the model: rows, rows of a commit, and whether as many are deleted.
fn worked_steps(seconds: i64) -> Vec<(i64, i64, bool)> {
    let mut steps = vec![(20_000, 100, false), (100, 100, false), (8_000, 50, true), (2_000, 5, true)];
    steps.extend([100, 100, 500, 500, 1000, 1000].map(|rate| (rate * seconds, 50, true)));
    steps
}

/// As its specification has it, with steps of ten seconds that read. Servers are held against the model, with shorter ones.
#[test]
fn the_model_of_postgres_has_the_worked_example() {
    let expected = [
        [20000, 1, 20000, 20000],
        [20100, 1, 20100, 21000],
        [20100, 8001, 29000, 29000],
        [20100, 10001, 31000, 31000],
        [20100, 11001, 32000, 32000],
        [20100, 12001, 33000, 33000],
        [20100, 17001, 38000, 38000],
        [20100, 22901, 43000, 43000],
        [20100, 32901, 53000, 53000],
        [20100, 42901, 63000, 63000],
    ];
    assert_eq!(naive_model(1000, &worked_steps(10)), expected);
}

#[test]
fn worked_example_on_postgres() {
    let sandbox = Sandbox::new();
    let (report, trials) = run(&sandbox, "postgres:17.11", &WORKED_EXAMPLE);
    assert_eq!(states(&report), naive_model(1000, &worked_steps(1)));
    check_statements(&trials, 3);
    check_counters(&trials);
    for (step, label) in report["steps"].as_array().unwrap().iter().zip(LABELS) {
        let target = label.split_once('.').and_then(|(name, _)| name.get(2..)?.parse::<f64>().ok());
        assert_eq!(step["cells"][0]["sla"]["target"].as_f64(), target, "{label}");
    }
}

/// The server's own counters: a connection for each role, besides up to three that come and go before it, and every row.
fn check_counters(trials: &[Trial]) {
    for ((trial, roles), rounds) in trials.iter().zip(ROLES).zip(ROUNDS) {
        let counted = |name| trial.counters.get(name).unwrap() as u64;
        let connections = counted(names::SERVER_CONNECTIONS);
        assert!((roles as u64..=4 * roles as u64).contains(&connections), "{}: {connections}", trial.step);
        let rows_per_commit = match trial.step.as_str() {
            "l.i0" | "l.x" => 100,
            "l.i2" => 5,
            _ => 50,
        };
        assert_eq!(counted(names::SERVER_ROWS_INSERTED), rounds * rows_per_commit, "{}", trial.step);
    }
}

/// The worked example on a dbms that gives out every id, with steps of a second.
fn worked_example_without_gaps(candidate: &str, index_statements: u64) -> Vec<Trial> {
    let sandbox = Sandbox::new();
    let (report, trials) = run(&sandbox, candidate, &WORKED_EXAMPLE);
    let low = [1, 1, 8001, 10001, 10101, 10201, 10701, 11201, 12201, 13201];
    let high = [20000, 20100, 28100, 30100, 30200, 30300, 30800, 31300, 32300, 33300];
    let expected: Vec<[i64; 4]> =
        low.into_iter().zip(high).map(|(low, high)| [high - low + 1, low, high, high]).collect();
    assert_eq!(states(&report), expected);
    check_statements(&trials, index_statements);
    trials
}

#[test]
fn worked_example_without_gaps_on_sqlite() {
    worked_example_without_gaps("sqlite@wal_normal", 3);
}

#[test]
fn worked_example_without_gaps_on_innodb() {
    check_counters(&worked_example_without_gaps("mysql:8.0.31", 1));
}

/// Rows, smallest, largest id and the sequence's last value of one table after each step, when the one inserting session of a step takes
/// blocks of `cache` ids. Steps are rows, rows of a commit, and whether as many are deleted.
pub(crate) fn naive_model(cache: i64, steps: &[(i64, i64, bool)]) -> Vec<[i64; 4]> {
    let mut ids = BTreeSet::new();
    let mut last_value = 0;
    let mut states = Vec::new();
    for &(max_rows, rows_per_commit, deletes) in steps {
        let mut inserted = 0;
        let first = last_value + 1;
        while inserted < max_rows {
            for _ in 0..rows_per_commit {
                let id = first + inserted;
                if id > last_value {
                    last_value += cache;
                }
                ids.insert(id);
                inserted += 1;
            }
        }
        for _ in 0..if deletes { inserted } else { 0 } {
            ids.pop_first();
        }
        states.push([ids.len() as i64, *ids.first().unwrap(), *ids.last().unwrap(), last_value]);
    }
    states
}
