//! Killed runs. The run is this test binary, started a second time.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::sample;
use crate::{Problem, Store};

const STORE_VARIABLE: &str = "BASECASE_TEST_STORE";

/// Not a test of its own, but the run that [`a_killed_run_leaves_whole_trials`] kills.
#[test]
#[ignore = "is started by another test"]
fn run_until_killed() {
    let Some(path) = std::env::var_os(STORE_VARIABLE).map(PathBuf::from) else { return };
    let mut store = Store::create_or_open(&path).unwrap();
    let _lock = store.lock_for_run("basecase compare").unwrap();
    store.save_experiment(&sample::experiment("e")).unwrap();
    let cell = sample::cell("l.i0");
    let first = store.trials("e").unwrap().len() as u32;
    for number in first.. {
        store.save_trial("e", &cell, &sample::trial(&cell, number)).unwrap();
    }
}

fn start(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::crash::run_until_killed", "--ignored"])
        .env(STORE_VARIABLE, path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn trials(path: &Path) -> usize {
    Store::open_read_only(path).and_then(|store| store.trials("e")).map_or(0, |trials| trials.len())
}

#[test]
fn a_killed_run_leaves_whole_trials() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let cell = sample::cell("l.i0");
    let mut stored = 0;
    for kill in 0..5 {
        let mut run = start(&path);
        let deadline = Instant::now() + Duration::from_secs(30);
        while trials(&path) <= stored && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(3 + 2 * kill));
        }
        let error = Store::create_or_open(&path).unwrap().lock_for_run("another").unwrap_err();
        run.kill().unwrap();
        run.wait().unwrap();

        assert!(matches!(error.problem, Problem::Held { .. }), "{error}");
        assert!(error.to_string().contains(&format!("pid {} (basecase compare)", run.id())), "{error}");
        let store = Store::create_or_open(&path).unwrap();
        let lock = store.lock_for_run("another").unwrap();
        assert_eq!(store.verify().unwrap(), Vec::<String>::new());
        let trials = store.trials("e").unwrap();
        assert!(trials.len() > stored);
        for (number, trial) in (0..).zip(&trials) {
            assert_eq!(*trial, sample::trial(&cell, number));
        }
        stored = trials.len();
        drop(lock);
    }
}

#[test]
fn a_lock_ends_with_its_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let store = Store::create_or_open(&path).unwrap();
    let link = directory.path().join("another name.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let linked = Store::create_or_open(&link).unwrap();
    let lock = store.lock_for_run("a long first command").unwrap();
    let error = linked.lock_for_run("second").unwrap_err();
    assert!(error.to_string().contains("(a long first command)\nhint: "), "{error}");
    drop(lock);
    let _lock = store.lock_for_run("third").unwrap();
    let error = store.lock_for_run("fourth").unwrap_err();
    assert!(error.to_string().contains("(third)\nhint: "), "{error}");
}

#[test]
fn a_change_that_a_killed_run_left_half_done_is_undone_for_whoever_reads() {
    let directory = tempfile::tempdir().unwrap();
    let (path, left) = (directory.path().join("s.sqlite"), directory.path().join("left.sqlite"));
    drop(Store::create_or_open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "journal_mode", "delete").unwrap();
    // With the smallest cache, pages reach the file before the transaction ends.
    connection.pragma_update(None, "cache_size", 1).unwrap();
    let change = "begin immediate; create table t (x); \
                  insert into t with recursive n (x) as (select 1 union all select x + 1 from n where x < 20000) select x from n";
    connection.execute_batch(change).unwrap();
    std::fs::copy(&path, &left).unwrap();
    std::fs::copy(directory.path().join("s.sqlite-journal"), directory.path().join("left.sqlite-journal"))
        .unwrap();
    let whole =
        rusqlite::Connection::open_with_flags(&left, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    whole.query_row("select count(*) from sqlite_master", [], |_| Ok(())).unwrap_err();
    let store = Store::open_read_only(&left).unwrap();
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    assert!(!directory.path().join("left.sqlite-journal").exists());
}
