//! Runs that are cut short at any point, and go on: nothing finished is lost or run twice, and nothing is left over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use basecase_model::{Trial, TrialStatus};
use basecase_tests::Sandbox;

use crate::running::{Running, assert_nothing_runs, trials};

/// Every file and folder below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        found.push(entry.path());
        if entry.path().is_dir() {
            found.extend(files_below(&entry.path()));
        }
    }
    found
}

/// The arguments of a run of these candidates that takes seconds.
fn small_run<'a>(candidates: &[&'a str], seconds: &'a str) -> Vec<&'a str> {
    let places = ["--store", "s.sqlite", "--data", "data"];
    let sizes = ["--rows", "5000", "--writes", "2000", "--seconds", seconds];
    [&["compare"], candidates, &places, &sizes].concat()
}

/// Kills a run after each of `points`, in order, and lets the last one finish.
fn kill_at(candidates: &[&str], points: &[(&str, u64)]) {
    let sandbox = Sandbox::new();
    let store = sandbox.path().join("s.sqlite");
    let arguments = small_run(candidates, "1");
    let mut finished: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut remember = |trials: Vec<Trial>| {
        for trial in trials {
            let key = (trial.candidate.clone(), trial.step.clone());
            let first = finished.entry(key).or_insert(trial.started_at.clone());
            assert_eq!(*first, trial.started_at, "{} {} was run twice", trial.candidate, trial.step);
        }
        finished.len()
    };
    for (text, delay_ms) in points {
        let mut running = Running::start(&sandbox, &arguments);
        assert!(running.wait_for(text), "the run ended before {text:?}: {}", running.said());
        std::thread::sleep(Duration::from_millis(*delay_ms));
        running.kill();
        assert_nothing_runs(&sandbox.path().join("data"));
        remember(trials(&store));
    }
    let (success, said) = Running::start(&sandbox, &arguments).finish();
    assert!(success, "{said}");
    let all = trials(&store);
    assert_eq!(all.len(), candidates.len() * 10, "each step of each candidate exactly once");
    assert!(all.iter().all(Trial::is_complete));
    assert_eq!(remember(all), candidates.len() * 10);
    assert_nothing_runs(&sandbox.path().join("data"));
    assert_eq!(
        files_below(&sandbox.path().join("data")),
        Vec::<PathBuf>::new(),
        "data of finished candidates is removed"
    );
}

#[test]
fn killed_at_each_point_on_postgres() {
    kill_at(
        &["postgres:17.11"],
        &[
            ("initialising", 0),
            ("initialising", 900),
            (" l.i0 ", 0),
            (" l.x ", 3),
            (" l.i1 ", 20),
            ("settling", 0),
            ("settling", 1_500),
            (" qr100 ", 400),
            (" qp100 ", 700),
            (" qr500 ", 30),
            (" qp1000 ", 0),
        ],
    );
}

#[test]
fn killed_at_each_point_on_innodb() {
    kill_at(
        &["mysql:5.7.22"],
        &[
            ("initialising", 0),
            ("initialising", 1_500),
            (" l.i0 ", 0),
            (" l.i1 ", 20),
            ("settling", 700),
            (" qp100 ", 700),
            (" qp1000 ", 0),
        ],
    );
}

#[test]
fn killed_at_each_point_on_rocksdb() {
    kill_at(
        &["mariadb:10.11.18#rocksdb"],
        &[("initialising", 700), (" l.x ", 3), (" l.i2 ", 20), ("settling", 300), (" qr500 ", 30)],
    );
}

#[test]
fn killed_at_each_point_on_two_sqlite_configs() {
    kill_at(
        &["sqlite@rollback_full", "sqlite@wal_normal"],
        &[
            ("initialising", 5),
            (" l.i1 ", 1),
            ("settling", 0),
            (" qp500 ", 500),
            ("[10/20]", 0),
            ("[11/20]", 1),
            ("[15/20]", 300),
        ],
    );
}

#[test]
fn interrupted_by_the_user_and_continued() {
    let sandbox = Sandbox::new();
    let arguments = small_run(&["postgres:18.6"], "1");
    let mut running = Running::start(&sandbox, &arguments);
    assert!(running.wait_for(" qr100 "));
    std::thread::sleep(Duration::from_millis(300));
    let pid = running.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let (success, said) = running.finish();
    assert!(!success && said.contains("hint: the same command goes on"), "{said}");
    assert_nothing_runs(&sandbox.path().join("data"));
    let before = trials(&sandbox.path().join("s.sqlite")).len();
    assert!((5..10).contains(&before), "{before}");
    let (success, said) = Running::start(&sandbox, &arguments).finish();
    assert!(success, "{said}");
    assert!(said.contains(&format!("{before} of 10 trials were in s.sqlite already")), "{said}");
}

/// Kills the first candidate's server in a step: the trial is stored as failed with the log's tail, the next candidate runs, and
/// the same command measures what failed, and only that, on a rebuilt database.
fn kill_server(candidates: [&str; 2], shorts: [&str; 2], program: &str, in_log: &str) {
    let sandbox = Sandbox::new();
    let arguments = small_run(&candidates, "2");
    let mut running = Running::start(&sandbox, &arguments);
    assert!(running.wait_for(" qr100 "));
    std::thread::sleep(Duration::from_millis(500));
    let server = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains(program) && line.contains(sandbox.path().to_str().unwrap())
        })
        .unwrap();
    // This server belongs to this test: it runs on this sandbox's data.
    assert!(Command::new("kill").args(["-KILL", &server.to_string()]).status().unwrap().success());
    let (success, said) = running.finish();
    assert!(!success, "{said}");
    assert!(said.contains("FAILED") && said.contains(in_log), "the log's tail is shown: {said}");
    let all = trials(&sandbox.path().join("s.sqlite"));
    let failed: Vec<&Trial> = all.iter().filter(|trial| !trial.is_complete()).collect();
    assert_eq!(failed.len(), 1, "{said}");
    assert_eq!((failed[0].candidate.split('.').next(), failed[0].step.as_str()), (Some(shorts[0]), "qp100"));
    let TrialStatus::Failed { reason, log_tail } = &failed[0].status else { unreachable!() };
    assert!(reason.contains("client 1 failed"), "{reason}");
    assert!(log_tail.contains(in_log), "{log_tail}");
    assert!(said.contains(log_tail.lines().last().unwrap()), "the end of the log is shown: {said}");
    let of_second = |trial: &&Trial| trial.candidate.split('.').next() == Some(shorts[1]);
    assert_eq!(all.iter().filter(of_second).filter(|trial| trial.is_complete()).count(), 10);
    assert_nothing_runs(&sandbox.path().join("data"));

    let (success, said) = Running::start(&sandbox, &arguments).finish();
    assert!(success, "{said}");
    let all = trials(&sandbox.path().join("s.sqlite"));
    assert_eq!(all.iter().filter(|trial| trial.is_complete()).count(), 20);
    let of_failed =
        |trial: &&Trial| trial.candidate.split('.').next() == Some(shorts[0]) && trial.step == "qp100";
    let again = all.iter().filter(of_failed).find(|trial| trial.is_complete()).unwrap();
    assert!(again.warnings.iter().any(|warning| warning.contains("rebuilt")), "{:?}", again.warnings);
}

#[test]
fn a_postgres_that_dies_in_a_step_fails_its_trial_and_the_next_candidate_runs() {
    let ready = "database system is ready to accept connections";
    kill_server(["postgres:17.11", "postgres:18.6"], ["pg1711", "pg186"], "bin/postgres", ready);
}

#[test]
fn an_innodb_server_that_dies_in_a_step_fails_its_trial_and_the_next_candidate_runs() {
    kill_server(
        ["mysql:8.0.31", "mariadb:10.11.18"],
        ["my8031", "ma101118"],
        "mysqld",
        "ready for connections",
    );
}

#[test]
fn a_rocksdb_server_that_dies_in_a_step_fails_its_trial_and_the_next_candidate_runs() {
    kill_server(
        ["mariadb:10.11.18#rocksdb", "sqlite"],
        ["ma101118_rocksdb", "sqlite3541"],
        "mariadbd",
        "ready for connections",
    );
}

#[test]
fn a_left_database_that_lacks_an_index_is_built_again() {
    let sandbox = Sandbox::new();
    let arguments = small_run(&["sqlite"], "1");
    let mut running = Running::start(&sandbox, &arguments);
    assert!(running.wait_for("settling"));
    running.kill();
    let data = files_below(&sandbox.path().join("data"));
    let path = data.into_iter().find(|path| path.ends_with("ib.sqlite")).unwrap();
    // Rows and ids are all in their place, as after a rebuild that was cut short while it made indexes.
    let file = basecase_client::sqlite::File { path, pragmas: Vec::new() };
    basecase_client::Endpoint::Sqlite(file).connect().unwrap().query("drop index pi1_pdc").unwrap();
    let (success, said) = Running::start(&sandbox, &arguments).finish();
    assert!(success && said.contains("building the database again"), "{said}");
    let all = trials(&sandbox.path().join("s.sqlite"));
    let first = all.iter().find(|trial| trial.step == "qr100").unwrap();
    assert!(first.warnings.iter().any(|warning| warning.contains("rebuilt")), "{:?}", first.warnings);
}
