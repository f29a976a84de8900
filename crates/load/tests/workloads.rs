//! Workload files: every step of the microbenchmarks and of the OLTP mixes on SQLite, with every reply checked. End-to-end tests check what
//! servers see.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::atomic::AtomicBool;

use basecase_client::{Endpoint, sqlite};
use basecase_load::{Limits, StepOutcome, WorkerGroup};
use basecase_probe::{Target, Watch};
use basecase_workload::{Dialect, StepPlan, Workload};

fn run(plan: StepPlan, endpoint: &Endpoint) -> StepOutcome {
    let mut control = endpoint.connect().unwrap();
    for statement in &plan.before {
        control.query(&statement.to_string()).unwrap();
    }
    let name = plan.name.clone();
    let group = WorkerGroup::assemble(plan, endpoint, None).unwrap();
    let stop = AtomicBool::new(false);
    let outcome = group.run(&Watch::new(Target::default()), &Limits { stop: &stop, time: None });
    assert!(outcome.failure.is_none(), "{name}: {:?}", outcome.failure);
    for role in &outcome.roles {
        assert_eq!(role.mismatches, 0, "{name}: {role:?}");
    }
    let events: u64 = outcome.roles.iter().map(|role| role.events).sum();
    assert!(events == 12 || name == "load", "{name}: {events} events");
    let executed: u64 = outcome.statements.iter().map(|record| record.window.executed).sum();
    let statements: u64 = outcome.roles.iter().map(|role| role.statements).sum();
    assert!(executed == statements || outcome.statements.is_empty(), "{name}: {executed} of {statements}");
    outcome
}

/// A step ends after its events, even on a machine with little time for it.
const MOMENT: [(&str, &str); 3] = [("events", "12"), ("seconds", "600"), ("warm_up_seconds", "0.02")];

/// Loads the tables and runs the steps that `words` select, each briefly.
fn run_all(workload: &str, words: &[&str], options: &[(&str, &str)], endpoint: &Endpoint) {
    let workload = Workload::builtin(workload).unwrap().unwrap();
    let parameters = workload.options(&[options, &MOMENT].concat()).unwrap();
    let steps = workload.steps(&parameters, words).unwrap();
    let load = || workload.load_plan(&parameters, &steps, Dialect::Sqlite, 2).unwrap();
    run(load(), endpoint);
    for step in &steps {
        if step.reload_before {
            run(load(), endpoint);
        }
        run(workload.plan(&parameters, step, Dialect::Sqlite).unwrap(), endpoint);
    }
}

fn everything(endpoint: &Endpoint) {
    let sizes = [("tables", "2"), ("rows", "12000"), ("threads", "2")];
    run_all("microbenchmarks", &["32"], &sizes, endpoint);
    run_all("microbenchmarks", &["writes"], &[&sizes[..], &[("mode", "clean")]].concat(), endpoint);
    run_all(
        "microbenchmarks",
        &["point-query", "read-write"],
        &[&sizes[..], &[("prepared", "off")]].concat(),
        endpoint,
    );
    let sizes = [("tables", "2"), ("table-size", "2000"), ("threads", "2")];
    for mix in [
        "oltp_read_write",
        "oltp_read_only",
        "oltp_write_only",
        "oltp_point_select",
        "oltp_insert",
        "oltp_delete",
        "oltp_update_index",
        "oltp_update_non_index",
        "bulk_insert",
        "select_random_points",
        "select_random_ranges",
    ] {
        run_all(mix, &[], &sizes, endpoint);
    }
    run_all("oltp_insert", &[], &[("auto_inc", "off")], endpoint);
}

#[test]
fn on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let pragmas = [("journal_mode", "wal"), ("synchronous", "off")];
    let endpoint = Endpoint::Sqlite(sqlite::File {
        library: sqlite::Library::bundled(),
        path: folder.path().join("workloads.sqlite"),
        pragmas: pragmas.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
    });
    everything(&endpoint);
}
