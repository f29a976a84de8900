//! Instructions of operations, counted under callgrind.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use basecase_store::Store;
use basecase_tests::running::{PLACES, Running, assert_nothing_runs, processes_with, signal};
use basecase_tests::{Sandbox, has_valgrind};
use serde_json::Value;

use crate::refusals::refusal;

/// Also where the processor could count.
pub(crate) const CALLGRIND: [&str; 2] = ["--counts-engine", "callgrind"];

/// Whether this machine can count. Where it cannot, the refusal must say what to install.
pub(crate) fn can_count(sandbox: &Sandbox, arguments: &[&str]) -> bool {
    let found = has_valgrind();
    if !found {
        println!("skipped: valgrind is not installed (apt-get install valgrind)");
        let said = refusal(sandbox, &sandbox.output(arguments));
        assert!(said.contains("there is no program valgrind in PATH"), "{said}");
        assert!(said.contains("hint: install it (Debian and Ubuntu: apt-get install valgrind)"), "{said}");
    }
    found
}

/// How many counts the newest experiment has.
fn counts(store: &Path) -> usize {
    let store = Store::open_read_only(store).unwrap();
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    store.counts(&store.experiments().unwrap().pop().unwrap().id).unwrap().len()
}

/// Whether there is any file below a folder.
fn holds_files(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        !path.is_dir() || holds_files(&path)
    })
}

/// Counts a step of a build that is named twice, and the same again.
fn needs_the_same_work(build: &str, step: &str) {
    let sandbox = Sandbox::new();
    let (store, data) = (sandbox.path().join("s.sqlite"), sandbox.path().join("data"));
    let sizes = ["--workload", "microbenchmarks", "--list", step, "--tables", "1", "--rows", "2000"];
    let command = [&["count", build, build], &sizes[..], &CALLGRIND, &PLACES].concat();
    let arguments = [&command[..], &["--counts-detect", "0.8%"]].concat();
    if !can_count(&sandbox, &arguments) {
        return;
    }
    let told = Running::to_end(&sandbox, &arguments);
    assert!(told.is_success(), "{told}");
    assert_nothing_runs(&data);
    assert!(!holds_files(&data), "data goes with the run");
    let all = counts(&store);
    assert_eq!(told.all("count_stored").count(), all, "{told}");
    assert!(all >= 4, "two candidates in two starts: {told}");

    let again = sandbox.output(&[&arguments[..], &["--json"]].concat());
    assert_eq!(again.status.code(), Some(0), "{}", sandbox.transcript(&again));
    assert_eq!(counts(&store), all, "nothing is counted anew");
    let report: Value = serde_json::from_slice(&again.stdout).unwrap();
    let summary = &report["counts"]["summaries"][0];
    assert_eq!((&summary["same_work"], &summary["failed"]), (&Value::from(1), &Value::from(0)), "{summary}");

    let report = sandbox.output(&["report", "s.sqlite", "--format", "text"]);
    let report = String::from_utf8_lossy(&report.stdout);
    let line = report.lines().find(|line| line.starts_with(step)).unwrap();
    assert!(line.ends_with("the same"), "{report}");

    // What was agreed is in the store.
    let report = sandbox.output(&["report", "s.sqlite", "--format", "json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["counts"]["margin"], Value::from(0.008_f64.ln_1p()));
    let said = refusal(&sandbox, &sandbox.output(&command));
    assert!(said.contains("these counts began with a margin of 0.800 %"), "{said}");
}

#[test]
fn a_step_that_writes_needs_the_same_work_on_the_same_sqlite() {
    let sandbox = Sandbox::new();
    // Without optimisation it is compiled in a tenth of the time.
    let get = sandbox.output(&["server", "get", "sqlite:3.17.0", "--from", "source", "--flags=-O0"]);
    assert!(get.status.success(), "{get:?}");
    needs_the_same_work("sqlite:3.17.0:o0", "update-inlist");
}

#[test]
fn a_counted_server_that_hangs_ends_with_its_run() {
    let sandbox = Sandbox::new();
    let data = sandbox.path().join("data");
    let sizes = ["--workload", "microbenchmarks", "--list", "point-query", "--tables", "1", "--rows", "1000"];
    let arguments = [&["count", "mariadb:10.11.18"], &sizes[..], &PLACES].concat();
    if !can_count(&sandbox, &arguments) {
        return;
    }
    for end in ["INT", "KILL"] {
        let mut run = Running::start(&sandbox, &arguments);
        let server = loop {
            let servers = processes_with(data.to_str().unwrap()).into_iter();
            match servers.rev().find(|(_, line)| line.contains("callgrind")) {
                Some((pid, _)) => break pid,
                None => assert!(!run.is_over(), "{}", run.told()),
            }
            sleep(Duration::from_millis(20));
        };
        signal(server, "STOP");
        run.signal(end);
        // Such a server usually has ten minutes to stop.
        let until = Instant::now() + Duration::from_secs(120);
        while !run.is_over() {
            assert!(Instant::now() < until, "after {end}: {}", run.told());
            sleep(Duration::from_millis(20));
        }
        assert_nothing_runs(&data);
    }
}

#[test]
#[ignore = "it takes half a minute, and tests of commits and of the tutorial find changes of work as well"]
fn a_change_of_work_is_found_among_versions_of_sqlite() {
    let sandbox = Sandbox::new();
    // Without optimisation they are compiled in a tenth of the time.
    for version in ["sqlite:3.17.0", "sqlite:3.24.0"] {
        let get = sandbox.output(&["server", "get", version, "--from", "source", "--flags=-O0"]);
        assert!(get.status.success(), "{get:?}");
    }
    let [old, new] = ["sqlite:3.17.0:o0", "sqlite:3.24.0:o0"];
    let sizes = [
        "--counts",
        "--workload",
        "microbenchmarks",
        "--list",
        "point-query",
        "--tables",
        "1",
        "--rows",
        "500",
    ];
    let arguments = [&["bisect", old, old, new, "--json"], &sizes[..], &CALLGRIND, &PLACES].concat();
    if !can_count(&sandbox, &arguments) {
        return;
    }
    let found = sandbox.output(&arguments);
    assert_eq!(found.status.code(), Some(0), "{}", sandbox.transcript(&found));
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!((&found["before"], &found["since"], &found["by"]), (&old.into(), &new.into(), &"work".into()));
    let sentence = found["sentence"].as_str().unwrap();
    assert!(sentence.contains(" work (") && !sentence.contains("slower"), "{sentence}");
    assert!(found["changes"][0]["movers"].as_array().is_some_and(|movers| !movers.is_empty()), "{found}");

    // The last probe has all three.
    let history = sandbox.output(&["history", "s.sqlite", "--json"]);
    assert_eq!(history.status.code(), Some(0), "{}", sandbox.transcript(&history));
    let history: Value = serde_json::from_slice(&history.stdout).unwrap();
    let changes = history["work"][0]["changes"].as_array().unwrap();
    assert_eq!((changes.len(), &changes[0]["since"]), (1, &history["versions"][2]), "{history}");
    assert_eq!(changes[0]["ratio"], found["changes"][0]["ratio"], "the same windows");
}
