//! Files that are opened, and files that are refused.

use std::fs;

use rusqlite::Connection;

use super::sample;
use crate::{Problem, Store, schema};

#[test]
fn a_new_store_is_marked_and_read_while_it_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let mut store = Store::create_or_open(&path).unwrap();
    assert_eq!(schema::kind_of(&path).unwrap(), schema::FileKind::Store);
    let reader = Store::open_read_only(&path).unwrap();
    store.save_experiment(&sample::experiment("e")).unwrap();
    assert_eq!(reader.experiments().unwrap(), [sample::experiment("e")]);
    drop((store, reader));
    assert_eq!(Store::create_or_open(&path).unwrap().experiments().unwrap().len(), 1);
}

#[test]
fn the_settings_are_those_that_keep_a_trial() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::create_or_open(&directory.path().join("results.db")).unwrap();
    let setting = |name: &str| -> String {
        let connection = store.connection();
        connection
            .query_row(&format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}"), [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!(setting("journal_mode"), "wal");
    assert_eq!(setting("synchronous"), "2");
    assert_eq!(setting("foreign_keys"), "1");
}

#[test]
fn another_file_is_refused_untouched() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = directory.path().join("foreign.db");
    let connection = Connection::open(&foreign).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.execute_batch("CREATE TABLE theirs (a)").unwrap();
    drop(connection);
    let notes = directory.path().join("notes.txt");
    fs::write(&notes, "not a database").unwrap();

    for path in [&foreign, &notes] {
        let before = fs::read(path).unwrap();
        for refused in [Store::create_or_open(path), Store::open_read_only(path)] {
            let error = refused.unwrap_err();
            assert!(matches!(error.problem, Problem::Foreign), "{error}");
            assert!(error.to_string().contains(path.to_str().unwrap()));
            assert!(error.to_string().contains("\nhint: "));
        }
        assert_eq!(fs::read(path).unwrap(), before);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "no file was left beside them");
}

#[test]
fn a_newer_version_is_refused_with_a_hint() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let store = Store::create_or_open(&path).unwrap();
    store.connection().pragma_update(None, "user_version", schema::VERSION + 1).unwrap();
    drop(store);
    for refused in [Store::create_or_open(&path), Store::open_read_only(&path)] {
        let error = refused.unwrap_err();
        assert!(matches!(error.problem, Problem::Newer { found: 12, known: 11 }), "{error}");
        assert!(error.to_string().ends_with("hint: use a newer basecase"));
    }
}

#[test]
fn a_store_of_the_first_version_is_read_and_brought_up_to_date() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../schema.sql")).unwrap();
    let application_id = schema::APPLICATION_ID;
    old.execute_batch(&format!(
        "PRAGMA application_id = {application_id}; PRAGMA user_version = 1;
         INSERT INTO experiment VALUES ('e', 'n', 't', '{{}}');
         INSERT INTO cell VALUES ('c', '{{}}');
         INSERT INTO trial VALUES
             ('t', 'e', 'c', 's', 'x', 0, 0, 0, 'unpinned', 't', 1.0, 'complete', NULL, NULL, 1, '[]');
         INSERT INTO role VALUES
             ('t', 0, 1, 'r', 'insert', 42, 4200, 0, 0, 0, 0, 0, 1, 0.0, NULL, '[]', 1000, x'', x'', NULL);"
    ))
    .unwrap();
    // As every version leaves it.
    old.pragma_update(None, "journal_mode", "WAL").unwrap();
    drop(old);
    let check = |store: &Store| {
        let number = |sql: &str| store.connection().query_row(sql, [], |row| row.get(0)).unwrap();
        let events: u64 = number("SELECT events FROM role");
        assert_eq!(events, 42, "every statement was an event");
        let others: u64 = number("SELECT (SELECT count(*) FROM statement) + (SELECT count(*) FROM track)");
        assert_eq!(others, 0);
    };
    let before = fs::read(&path).unwrap();
    check(&Store::open_read_only(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), before, "a reader changes nothing");
    check(&Store::create_or_open(&path).unwrap());
    check(&Store::open_read_only(&path).unwrap());
}

#[test]
fn defect_14_an_older_store_is_brought_into_the_order_of_time_and_keeps_repeated_trials() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let mut store = Store::create_or_open(&path).unwrap();
    store.save_experiment(&sample::experiment("e")).unwrap();
    let cell = sample::cell("l.i0");
    for (round, time) in [(2, "05.125Z"), (1, "05.12Z"), (0, "05Z"), (3, "06Z")] {
        let started_at = format!("2026-01-02T03:04:{time}");
        let trial = basecase_model::Trial { started_at, ..sample::trial(&cell, round) };
        store.save_trial("e", &cell, &trial).unwrap();
    }
    // As left by version 6, with a load that was stored twice because of a kill.
    store
        .connection()
        .execute_batch(
            "DROP INDEX trial_sequence; ALTER TABLE trial DROP COLUMN sequence;
             DROP INDEX experiment_sequence; ALTER TABLE experiment DROP COLUMN sequence; DROP TABLE step_count; DROP TABLE session;
             DROP TABLE server_reading;
             DROP TABLE slices; DROP VIEW measure; DROP TABLE measures;
             CREATE TABLE slice (trial, number, pass, position, opened_us, length_us, operations, rate, warm_up_operations, server_cpu_us,
                 others_cpu_us, steal_us, canary_ns);
             CREATE TABLE measure (trial, kind, name, value);
             PRAGMA user_version = 6; UPDATE trial SET round = 2 WHERE round = 3;",
        )
        .unwrap();
    drop(store);
    for store in [Store::open_read_only(&path).unwrap(), Store::create_or_open(&path).unwrap()] {
        let trials = store.trials("e").unwrap();
        let times: Vec<&str> = trials.iter().map(|trial| &trial.started_at[17..]).collect();
        assert_eq!(times, ["05Z", "05.12Z", "05.125Z", "06Z"]);
        // The first store is a copy in memory, to which there is one connection alone.
        assert_eq!(store.of_rounds(&[("e", "base")], |_, trials| trials.len()).unwrap()[0], times.len());
        let problems = store.verify().unwrap();
        assert!(
            problems.iter().any(|problem| problem.contains("2 complete trials of it in round 3")),
            "{problems:?}"
        );
    }
}

#[test]
fn a_reader_creates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let error = Store::open_read_only(&path).unwrap_err();
    assert!(matches!(error.problem, Problem::Missing), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let error = Store::create_or_open("/no/such/directory/results.db".as_ref()).unwrap_err();
    assert!(matches!(error.problem, Problem::Denied(_)), "{error}");
    assert!(error.to_string().starts_with("the store /no/such/directory/results.db: "));
}

#[test]
fn many_may_open_a_new_store_at_once() {
    for _ in 0..10 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.db");
        std::thread::scope(|scope| {
            let openers: Vec<_> = (0..6).map(|_| scope.spawn(|| Store::create_or_open(&path))).collect();
            for opener in openers {
                opener.join().unwrap().unwrap();
            }
        });
    }
}

#[test]
fn a_damaged_file_is_found_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let mut store = Store::create_or_open(&path).unwrap();
    store.save_experiment(&sample::experiment("e")).unwrap();
    let cell = sample::cell("l.i0");
    for number in 0..20 {
        store.save_trial("e", &cell, &sample::trial(&cell, number)).unwrap();
    }
    drop(store);
    let whole = fs::read(&path).unwrap();
    // The first page holds the tables' definitions, which every read needs.
    for page in 1..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..][..4096].fill(0x5a);
        fs::write(&path, damaged).unwrap();
        let problems = Store::open_read_only(&path).unwrap().verify().unwrap();
        assert!(!problems.is_empty(), "page {page}");
    }
    fs::write(&path, &whole[..4096]).unwrap();
    let cut = Store::open_read_only(&path).and_then(|store| store.verify());
    assert!(!cut.is_ok_and(|problems| problems.is_empty()));
}

#[test]
fn a_full_disk_keeps_what_was_stored() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create_or_open(&directory.path().join("results.db")).unwrap();
    store.save_experiment(&sample::experiment("e")).unwrap();
    let pages: u32 = store.connection().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.connection().pragma_update_and_check(None, "max_page_count", pages + 8, |_| Ok(())).unwrap();
    let cell = sample::cell("l.i0");
    let mut kept = 0;
    let error = loop {
        match store.save_trial("e", &cell, &sample::trial(&cell, kept)) {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error.problem, Problem::Full), "{error}");
    assert!(kept > 0);
    assert_eq!(store.trials("e").unwrap().len(), kept as usize);
    assert!(store.verify().unwrap().is_empty());
}
