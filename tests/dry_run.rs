//! `--dry-run`: what would be measured is told, nothing is started, and nothing is left.

use std::fs;

use basecase_tests::Sandbox;
use basecase_tests::running::{PLACES, SMALL};
use serde_json::Value;

const STEPS: usize = 10;

/// The dry run of these candidates as JSON.
fn dry_run(sandbox: &Sandbox, candidates: &[&str]) -> Value {
    let arguments = [&["compare"], candidates, &SMALL, &PLACES, &["--dry-run", "--json"]].concat();
    let output = sandbox.output(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The values of a field over all steps.
fn of_steps<'a>(plan: &'a Value, field: &str) -> Vec<&'a Value> {
    plan["steps"].as_array().unwrap().iter().map(|step| &step[field]).collect()
}

#[test]
fn a_plan_counts_what_is_stored_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let new = dry_run(&sandbox, &["sqlite@wal_normal"]);
    assert_eq!(fs::read_dir(sandbox.path()).unwrap().count(), 0, "a folder or a store was left");
    assert_eq!((&new["protocol"], new["missing_builds"].as_array().unwrap().len()), (&"classic".into(), 0));
    assert_eq!(of_steps(&new, "stored_cells"), vec![&Value::from(0); STEPS]);
    assert_eq!(of_steps(&new, "from_trials"), vec![&Value::from(0); STEPS]);
    // Six steps of a second each, and four that load and insert.
    assert!((6.0..10.0).contains(&new["most_seconds"].as_f64().unwrap()), "{new}");
    assert!(new["disk"]["known_bytes"].is_null());

    let measured = sandbox.output(&[&["compare", "sqlite@wal_normal"], &SMALL[..], &PLACES].concat());
    assert_eq!(measured.status.code(), Some(0), "{}", sandbox.transcript(&measured));
    let store = fs::metadata(sandbox.path().join("s.sqlite")).unwrap().modified().unwrap();
    let known = dry_run(&sandbox, &["sqlite@wal_normal"]);
    assert_eq!(of_steps(&known, "stored_cells"), vec![&Value::from(1); STEPS]);
    assert_eq!(of_steps(&known, "from_trials"), vec![&Value::from(1); STEPS]);
    assert_eq!(known["most_seconds"], Value::from(0.0));
    assert!(known["disk"]["known_bytes"].as_u64().unwrap() > 100_000);

    let beside = dry_run(&sandbox, &["sqlite@wal_normal", "sqlite@rollback_full"]);
    assert_eq!(of_steps(&beside, "stored_cells"), vec![&Value::from(1); STEPS]);
    assert!((6.0..20.0).contains(&beside["most_seconds"].as_f64().unwrap()), "{beside}");
    assert!(beside["disk"]["known_bytes"].is_null(), "of the other nothing is known");
    assert_eq!(fs::metadata(sandbox.path().join("s.sqlite")).unwrap().modified().unwrap(), store);
}

#[test]
fn text_fits_a_terminal_and_a_search_has_no_plan() {
    let sandbox = Sandbox::new();
    let rounds = ["gate", "sqlite@wal_normal", "sqlite@rollback_full", "--budget", "5m", "--dry-run"];
    let output = sandbox.output(&[&rounds, &SMALL[..], &PLACES].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("* time: the budget, 5 min") && text.contains("0 rounds"), "{text}");
    let refused = sandbox.output(&["bisect", "sqlite@wal_normal", "sqlite@rollback_full", "--dry-run"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(sandbox.transcript(&refused).contains("hint: "), "{}", sandbox.transcript(&refused));
    assert_eq!(fs::read_dir(sandbox.path()).unwrap().count(), 0);
}

#[test]
fn builds_that_are_not_here_are_named_and_not_got() {
    let sandbox = Sandbox::new();
    let home = sandbox.path().join("home");
    let candidates = ["postgres:17.11", "sqlite:3.45.0", "sqlite@wal_normal"];
    let arguments = [&["compare"], &candidates[..], &["--dry-run", "--json"], &PLACES].concat();
    let output = sandbox.command(&arguments).env("BASECASE_HOME", &home).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let missing = plan["missing_builds"].as_array().unwrap().iter();
    let missing: Vec<_> =
        missing.map(|one| (one["candidate"].as_str().unwrap(), &one["is_compiled"])).collect();
    assert_eq!(missing, [("postgres:17.11", &Value::from(false)), ("sqlite:3.45.0", &Value::from(true))]);
    assert_eq!(of_steps(&plan, "stored_cells"), vec![&Value::Null; STEPS]);
    assert!(plan["experiment"].is_null() && plan["memory"]["asked_bytes"].is_null());
    assert_eq!(fs::read_dir(home.join("builds")).unwrap().count(), 0, "a build was got");
}
