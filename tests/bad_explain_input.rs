//! What `explain` and `report` say to names that are not there, to stores of older versions, and where nothing can be compared.

use basecase_model::{Cell, Experiment, PROTOCOL_REVISION, Trial};
use basecase_report::fixture::{self, Shape};
use basecase_store::Store;
use basecase_tests::Sandbox;
use insta::assert_snapshot;

use crate::refusals::refusal;

const STORE: &str = "kept.sqlite";
const STEPS: &[&str] = &["l.i0", "l.i1", "qr100"];

/// A sandbox with a store of a made-up experiment.
fn sandbox(candidates: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let (experiment, trials) = fixture::synthetic(Shape { candidates, steps: STEPS, seconds: 3, clients: 1 });
    let mut store = Store::create_or_open(&sandbox.path().join(STORE)).unwrap();
    store.save_experiment(&experiment).unwrap();
    for trial in trials {
        let cell = cell(&experiment, &trial);
        store.save_trial(&experiment.id, &cell, &Trial { cell: cell.key(), ..trial }).unwrap();
    }
    sandbox
}

fn cell(experiment: &Experiment, trial: &Trial) -> Cell {
    Cell {
        build: trial.candidate.clone(),
        engine: None,
        config: String::new(),
        workload: experiment.workload.clone(),
        step: trial.step.clone(),
        parameters: serde_json::Value::Null,
        host: experiment.host.id.clone(),
        protocol_revision: PROTOCOL_REVISION,
    }
}

fn explain(sandbox: &Sandbox, wanted: &str) -> String {
    refusal(sandbox, &sandbox.output(&["explain", STORE, wanted]))
}

/// The standard output of a command that must succeed.
fn said(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.output(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    // A line that does not fit goes on below.
    String::from_utf8(output.stdout).unwrap().replace("\n    ", " ")
}

#[test]
fn names_that_are_not_there() {
    let sandbox = sandbox(3);
    assert_snapshot!(explain(&sandbox, "l.il"), @r#"
    exit code 1
    -- stderr
    error: the experiment has no step `l.il`
    hint: did you mean `l.i1`? There are l.i0, l.i1, qr100.L1
    "#);
    assert_snapshot!(explain(&sandbox, "oltp_point_select"), @r#"
    exit code 1
    -- stderr
    error: the experiment has no step `oltp_point_select`
    hint: there are l.i0, l.i1, qr100.L1
    "#);
    assert_snapshot!(explain(&sandbox, "pg18.x10a/l.i1"), @r#"
    exit code 1
    -- stderr
    error: the experiment has no candidate `pg18.x10a`
    hint: did you mean `pg181.x10a`? There are pg1711.x10b_sync_off, pg181.x10a
    "#);
    assert_snapshot!(explain(&sandbox, "pg181.x10a/l.i9"), @r#"
    exit code 1
    -- stderr
    error: the experiment has no step `l.i9`
    hint: did you mean `l.i1`? There are l.i0, l.i1, qr100.L1
    "#);
    assert_snapshot!(explain(&sandbox, "pg1711.x10a/l.i1"), @r#"
    exit code 1
    -- stderr
    error: pg1711.x10a is the base case, with which the others are compared
    hint: name one of the others: pg1711.x10b_sync_off, pg181.x10a
    "#);
    assert_snapshot!(explain(&sandbox, "0123456789ab"), @r#"
    exit code 1
    -- stderr
    error: the experiment has no cell whose key begins with 0123456789ab
    hint: `basecase store show` prints the keys; a step, or CANDIDATE/STEP, names cells as well
    "#);
}

#[test]
fn a_cell_is_found_by_the_key_that_is_shown() {
    let sandbox = sandbox(2);
    let shown = said(&sandbox, &["store", "show", STORE]);
    let line = shown.lines().find(|line| line.contains("x10b_sync_off  l.i1")).unwrap();
    let key = line.split_whitespace().nth(1).unwrap();
    assert_eq!(key.len(), 12, "{line}");
    let explained = said(&sandbox, &["explain", STORE, key]);
    assert_eq!(explained, said(&sandbox, &["explain", STORE, "pg1711.x10b_sync_off/l.i1"]));
    assert_eq!(explained, said(&sandbox, &["explain", STORE, &key[..8]]));
    assert!(explained.starts_with("pg1711.x10b_sync_off on l.i1"), "{explained}");
    let json = said(&sandbox, &["report", STORE, "--format", "json"]);
    assert!(json.contains(&format!("\"key\": \"{key}")), "{json}");
}

#[test]
fn one_candidate_has_nothing_to_be_compared_with() {
    let sandbox = sandbox(1);
    assert_snapshot!(explain(&sandbox, "l.i1"), @r#"
    exit code 1
    -- stderr
    error: the experiment has only one candidate, and nothing to compare it with
    hint: name two or more in `basecase compare`; the first is the base case
    "#);
    assert!(said(&sandbox, &["report", STORE, "--format", "text"]).contains("l.i1"));
}

#[test]
fn a_step_that_was_not_measured() {
    let sandbox = sandbox(2);
    let store = rusqlite::Connection::open(sandbox.path().join(STORE)).unwrap();
    store
        .execute_batch("UPDATE trial SET status = 'failed', reason = 'r', log_tail = '' WHERE step = 'l.i1'")
        .unwrap();
    assert_snapshot!(explain(&sandbox, "l.i1"), @r#"
    exit code 1
    -- stderr
    error: nothing was measured that explains l.i1: it takes a complete trial of the base case and of a candidate
    hint: `basecase store show` tells which trials failed; the command of the run measures what is missing
    "#);
}

#[test]
fn a_store_of_an_older_version_is_read_and_what_it_lacks_is_said() {
    let sandbox = sandbox(2);
    let path = sandbox.path().join(STORE);
    let store = rusqlite::Connection::open(&path).unwrap();
    store
        .execute_batch(
            "CREATE TABLE rows AS SELECT * FROM measure WHERE name <> 'server.cache_requests';
             DROP VIEW measure; DROP TABLE measures; ALTER TABLE rows RENAME TO measure; DROP TABLE slices; DROP TABLE track; DROP TABLE plan; DROP TABLE profile; ALTER TABLE trial DROP COLUMN observation;
             DROP INDEX trial_sequence; ALTER TABLE trial DROP COLUMN sequence;
             DROP INDEX experiment_sequence; ALTER TABLE experiment DROP COLUMN sequence;
             DROP TABLE step_count; DROP TABLE session; DROP TABLE server_reading; PRAGMA user_version = 2;",
        )
        .unwrap();
    drop(store);
    let explained = said(&sandbox, &["explain", STORE, "l.i1"]);
    let of_cpu = ["CPU time of the server", "server CPU, user"];
    assert!(of_cpu.iter().any(|cost| explained.contains(cost)), "{explained}");
    let lacks = "Not recorded for pg1711.x10a and pg1711.x10b_sync_off, because of --probe off or an older basecase: time series, wait \
                 events, plans, the server's own counters.";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&explained).contains(lacks), "{explained}");
    said(&sandbox, &["report", STORE, "--out", "pages"]);
    let page = std::fs::read_to_string(sandbox.path().join("pages/step-l.i1.html")).unwrap();
    assert!(
        page.contains("No time series were recorded") && page.contains("Not recorded for pg1711.x10a and")
    );
    let version: u32 = rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 2, "reading changes nothing");
}
