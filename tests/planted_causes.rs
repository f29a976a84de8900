//! Causes that are planted by a setting, and what `explain` says of them first.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::sync::{Mutex, PoisonError};

use basecase_tests::Sandbox;
use basecase_tests::running::PLACES;

/// Runs at the same time would take each other's processors.
static ALONE: Mutex<()> = Mutex::new(());

/// Settings of both Postgres configs: nothing that comes by the clock, and no help from other processes.
const POSTGRES: &str = "fsync = off\nmax_wal_size = 4GB\ncheckpoint_timeout = 30min\n\
                        autovacuum = off\nmax_parallel_workers_per_gather = 0\n";

/// Compares two configs of Postgres that differ in these lines, and returns the causes that are told of the step.
fn causes_on_postgres(base: &str, candidate: &str, step: &str, workload: &[&str]) -> Vec<String> {
    let sandbox = Sandbox::new();
    for (name, lines) in [("base", base), ("candidate", candidate)] {
        fs::write(sandbox.path().join(format!("{name}.conf")), format!("{POSTGRES}{lines}")).unwrap();
    }
    causes(&sandbox, &["postgres:18.6@base.conf", "postgres:18.6@candidate.conf"], step, workload)
}

fn causes(sandbox: &Sandbox, candidates: &[&str], step: &str, workload: &[&str]) -> Vec<String> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Debt is paid well within that time; what other tests do to the machine is not waited for.
    let settle = ["--settle-limit", "3s"];
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

fn assert_first(causes: &[String], begins: &str, holds: &str) {
    assert!(causes[0].starts_with(begins) && causes[0].contains(holds), "{begins} … {holds}: {causes:#?}");
}

#[test]
fn a_slower_path_of_the_processor() {
    // Neighbours can take a quarter of a processor's speed for seconds: only servers that take turns are disturbed alike.
    let workload = [
        "--workload",
        "oltp_point_select",
        "--rows",
        "20000",
        "--threads",
        "1",
        "--detect",
        "5%",
        "--rounds",
        "5",
    ];
    let causes =
        causes_on_postgres("", "plan_cache_mode = force_custom_plan", "oltp_point_select", &workload);
    assert_first(&causes, "more CPU time of the server", "plan_cache_mode auto → force_custom_plan");
}

#[test]
fn a_smaller_cache() {
    let workload =
        ["--workload", "oltp_point_select", "--rows", "100000", "--threads", "2", "--seconds", "3"];
    let causes =
        causes_on_postgres("shared_buffers = 128MB", "shared_buffers = 1MB", "oltp_point_select", &workload);
    assert_first(&causes, "more pages that the server's cache lacked", "shared_buffers 128MB → 1MB");
}

#[test]
fn another_plan() {
    let planner = "enable_indexscan = off\nenable_bitmapscan = off\nenable_indexonlyscan = off";
    let workload = ["--workload", "oltp_point_select", "--rows", "5000", "--threads", "2", "--seconds", "3"];
    let causes = causes_on_postgres("", planner, "oltp_point_select", &workload);
    assert_first(
        &causes,
        "different plan for point_select: Index Scan",
        "Seq Scan on sbtest#; enable_bitmapscan on → off",
    );
}

#[test]
fn more_context_switches() {
    // A scan through a cache that is too small reads ahead: by itself, or by asking another process.
    let small = |method: &str| format!("shared_buffers = 8MB\nio_method = {method}");
    let workload = [
        "--workload",
        "microbenchmarks",
        "--list",
        "scan",
        "--rows",
        "150000",
        "--tables",
        "1",
        "--seconds",
        "4",
    ];
    let causes = causes_on_postgres(&small("sync"), &small("worker"), "scan_range=100", &workload);
    assert_first(&causes, "more context switches", "io_method sync → worker");
}

#[test]
fn more_writes() {
    // The first change of a page after a checkpoint puts the whole page into the log. In a round, which begins after one, most changes
    // are the first of their page. In rounds, since one run in a row of tests can have a third of the other's processor.
    let workload = [
        "--workload",
        "oltp_update_non_index",
        "--rows",
        "200000",
        "--threads",
        "1",
        "--detect",
        "5%",
        "--rounds",
        "5",
    ];
    let pages = "shared_buffers = 512MB";
    let without = format!("{pages}\nfull_page_writes = off");
    let causes = causes_on_postgres(&without, pages, "oltp_update_non_index", &workload);
    assert_first(&causes, "more ", "full_page_writes off → on");
    let is_of_log =
        |cause: &String| cause.starts_with("more log written") && cause.contains("full_page_writes");
    assert!(causes.iter().any(is_of_log), "{causes:#?}");
}

#[test]
fn a_default_that_a_version_changed() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("my.conf"), "innodb_buffer_pool_size = 128M\n").unwrap();
    let workload = ["--workload", "oltp_insert", "--rows", "5000", "--threads", "2", "--seconds", "4"];
    let causes =
        causes(&sandbox, &["mysql:5.7.22@my.conf", "mysql:8.0.31@my.conf"], "oltp_insert", &workload);
    assert_first(&causes, "more ", "log_bin OFF → ON (changed default)");
}
