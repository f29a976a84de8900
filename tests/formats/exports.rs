//! What an export says of stores that have less than it could hold.

use basecase_tests::{Sandbox, workspace};
use insta::assert_snapshot;

use crate::golden_store::unpack;

/// A sandbox with single runs of SQLite.
fn with_single_runs() -> Sandbox {
    let sandbox = Sandbox::new();
    let packed = workspace().join("tests/golden/stores/sqlite_classic.sqlite.gz");
    unpack(&packed, &sandbox.path().join("s.sqlite"));
    sandbox
}

/// What the program writes to standard output and to standard error.
fn written(sandbox: &Sandbox, arguments: &[&str]) -> (String, String) {
    let output = sandbox.output(arguments);
    assert!(output.status.success(), "{}", sandbox.transcript(&output));
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn single_runs_are_exported_without_intervals_and_notes_say_so() {
    let sandbox = with_single_runs();
    let (bmf, notes) = written(&sandbox, &["report", "s.sqlite", "--format", "bmf"]);
    assert!(bmf.contains("throughput-change") && !bmf.contains("lower_value"), "{bmf}");
    assert_snapshot!(notes, @r"
    left out, because they failed, were not run, or their background writers missed their rate: qp100 of sqlite3541.rollback_full, qr500 of sqlite3541.wal_normal, qr500 of sqlite3541.rollback_full, qp500 of sqlite3541.wal_normal, qp500 of sqlite3541.rollback_full and 4 more
    hint: `basecase report --format text` tells which
    left out: lower and upper values, because single runs have no intervals
    hint: `basecase compare … --rounds 5` measures in rounds, and --counts counts the work of operations
    ");
    let (otava, notes) = written(&sandbox, &["report", "s.sqlite", "--format", "otava"]);
    assert_snapshot!(otava.lines().next().unwrap(), @"time,candidate,commit,l.i0.throughput,l.x.throughput,l.i1.throughput,l.i2.throughput,qr100.throughput");
    assert_snapshot!(notes, @r"
    left out: columns that more than a tenth of the versions have no value of: qp100.throughput, qr500.throughput, qp500.throughput, qr1000.throughput, qp1000.throughput
    hint: Otava needs a number in every field; --format json has all that is known
    ");
    let (history, notes) = written(&sandbox, &["history", "s.sqlite", "--format", "otava"]);
    assert_eq!((history.lines().count(), notes.as_str()), (3, ""), "{history}");
    assert!(history.contains(",qr1000.relative_throughput,"), "{history}");
}

#[test]
fn a_store_without_a_single_value_is_refused() {
    let sandbox = with_single_runs();
    let store = rusqlite::Connection::open(sandbox.path().join("s.sqlite")).unwrap();
    store.execute_batch("update trial set status = 'failed', reason = 'it died', log_tail = ''").unwrap();
    drop(store);
    let refused =
        |format: &str| sandbox.transcript(&sandbox.output(&["report", "s.sqlite", "--format", format]));
    assert_snapshot!(refused("bmf"), @r"
    exit code 1
    -- stderr
    error: no step of the experiment has a value to export
    hint: `basecase store show` tells which trials failed; the command that began it measures what is missing
    ");
    assert_eq!(refused("otava"), refused("bmf"));
}
