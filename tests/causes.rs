//! What `explain` says first of a cause that a test plants by a setting.

use std::fs;

use crate::Sandbox;
use crate::running::PLACES;

/// Settings of both Postgres configs: nothing that comes by the clock, and no help from other processes.
const POSTGRES: &str = "fsync = off\nmax_wal_size = 4GB\ncheckpoint_timeout = 30min\n\
                        autovacuum = off\nmax_parallel_workers_per_gather = 0\n";

/// Compares two configs of Postgres that differ in these lines, and returns the causes that are told of the step.
pub fn causes_on_postgres(base: &str, candidate: &str, step: &str, workload: &[&str]) -> Vec<String> {
    let sandbox = Sandbox::new();
    for (name, lines) in [("base", base), ("candidate", candidate)] {
        fs::write(sandbox.path().join(format!("{name}.conf")), format!("{POSTGRES}{lines}")).unwrap();
    }
    causes(&sandbox, &["postgres:18.6@base.conf", "postgres:18.6@candidate.conf"], step, workload)
}

/// Compares two candidates, and returns the causes that are told of the step.
pub fn causes(sandbox: &Sandbox, candidates: &[&str], step: &str, workload: &[&str]) -> Vec<String> {
    // Debt is paid well within that time; what other tests do to the machine is not waited for.
    let settle = ["--settle-limit", "1s"];
    let output = sandbox.output(&[&["compare"], candidates, workload, &settle, &PLACES].concat());
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    let output = sandbox.output(&["explain", "s.sqlite", step]);
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    // A line that does not fit goes on below.
    let whole = text.replace("\n    ", " ");
    let causes: Vec<String> =
        whole.lines().filter_map(|line| line.strip_prefix("  * ").map(str::to_owned)).collect();
    assert!(!causes.is_empty(), "{text}");
    causes
}

/// The first cause begins and goes on like this.
pub fn assert_first(causes: &[String], begins: &str, holds: &str) {
    assert!(causes[0].starts_with(begins) && causes[0].contains(holds), "{begins} … {holds}: {causes:#?}");
}
