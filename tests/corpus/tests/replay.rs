//! Every input of the corpus goes the way that it goes under the fuzzer.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and its output names the input"
)]

use std::fs;
use std::path::PathBuf;

use basecase_corpus::{Marks, TARGETS};

/// Runs the inputs of a target, and checks that together they come by these marks.
fn replay(target: &str, wanted: &[&str]) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let (_, entry) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no inputs in {}", folder.display());
    let mut marks = Marks::new();
    for file in files {
        // Should it panic, the test's output names the input.
        println!("{}", file.display());
        marks.extend(entry(&fs::read(&file).unwrap()));
    }
    for mark in wanted {
        assert!(marks.iter().any(|found| found.starts_with(mark)), "no input comes by {mark}: {marks:#?}");
    }
}

#[test]
fn defect_fuzz_corpus_of_workload_files() {
    replay("workload", &["load refused", "run refused", "events drawn", "load drawn"]);
}

#[test]
fn defect_fuzz_corpus_of_experiment_files() {
    replay("experiment", &["refused", "plan refused", "planned insert-benchmark", "planned own"]);
}

#[test]
fn defect_fuzz_corpus_of_configs() {
    replay(
        "config",
        &["refused", "a config of postgres", "a config of mysql", "a config of sqlite", "one more setting"],
    );
}

#[test]
fn defect_fuzz_corpus_of_candidates() {
    replay(
        "candidate",
        &["refused", "url refused", "a URL of Postgres", "a URL of MySQL", "a recipe", "no recipe"],
    );
}

#[test]
fn defect_fuzz_corpus_of_stores() {
    replay("store", &["opening refused", "found", "whole", "reported in way", "opened for writing"]);
}

#[test]
fn defect_fuzz_corpus_of_postgres_servers() {
    replay(
        "postgres",
        &["login: done", "preparation: done", "text: reply: done", "prepared: reply: done", "rows: done"],
    );
}

#[test]
fn defect_fuzz_corpus_of_mysql_servers() {
    replay(
        "mysql",
        &["login: done", "preparation: done", "text: reply: done", "prepared: reply: done", "rows: done"],
    );
}
