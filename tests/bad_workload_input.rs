//! What the program says to workloads, lists, options and workload files that it cannot use.

use basecase_tests::Sandbox;
use insta::assert_snapshot;

use crate::refusals::{compare, refusal};

#[test]
fn workloads_that_do_not_exist_or_take_something_else() {
    let sandbox = Sandbox::new();
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "microbenchmark"]), @r#"
    exit code 1
    -- stderr
    error: there is no workload "microbenchmark"
    hint: the workloads are insert-benchmark, microbenchmarks, oltp, oltp_read_write, oltp_read_only, oltp_write_only, oltp_point_select, oltp_insert, oltp_delete, oltp_update_index, oltp_update_non_index, bulk_insert, select_random_points, select_random_ranges; or give a file: ./microbenchmark.toml
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "./none.toml"]), @r#"
    exit code 1
    -- stderr
    error: cannot read workload file ./none.toml: No such file or directory (os error 2)
    hint: docs/formats.md describes workload files
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "microbenchmarks", "--list", "point-qery"]), @r#"
    exit code 1
    -- stderr
    error: workload microbenchmarks: unknown step, list or group `point-qery`
    hint: did you mean `point-query`?
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "microbenchmarks", "--list", "33"]), @r#"
    exit code 1
    -- stderr
    error: workload microbenchmarks: unknown step, list or group `33`
    hint: did you mean `32`?
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "oltp_read_only", "--option", "range-sizes=5"]), @r#"
    exit code 1
    -- stderr
    error: workload oltp_read_only: unknown option `range_sizes`
    hint: did you mean `range_size`?
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "oltp_read_only", "--option", "skip-trx=maybe"]), @r#"
    exit code 1
    -- stderr
    error: workload oltp_read_only: skip_trx is `maybe`
    hint: give on or off
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "oltp_read_only", "--preset", "small"]), @r#"
    exit code 1
    -- stderr
    error: --preset is only for insert-benchmark
    hint: oltp_read_only takes --tables, --rows, --threads, --seconds, --write-seconds and --option
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--list", "32"]), @r#"
    exit code 1
    -- stderr
    error: --list is for workload files, and insert-benchmark is not one
    hint: give its sizes by --preset, --rows, --writes, --seconds and --clients
    "#);
}

#[test]
fn sizes_that_a_workload_cannot_have() {
    let sandbox = Sandbox::new();
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "microbenchmarks", "--list", "32", "--rows", "5000"]), @r#"
    exit code 1
    -- stderr
    error: workload microbenchmarks: range is 10000, which is above rows, which is 5000
    hint: give 5000 or less
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "oltp_read_only", "--rows", "2147483648"]), @r#"
    exit code 1
    -- stderr
    error: workload oltp_read_only: table_size is 2147483648, which is above 2147483647
    hint: give 2147483647 or less
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "oltp_read_only", "--threads", "0"]), @r#"
    exit code 1
    -- stderr
    error: workload oltp_read_only: threads is `0`
    hint: give a number of threads from 1 to 100000, or several different ones: 8,16,32
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "oltp_read_only", "--threads", "8,16,8"]), @r#"
    exit code 1
    -- stderr
    error: workload oltp_read_only: threads is `8,16,8`
    hint: give a number of threads from 1 to 100000, or several different ones: 8,16,32
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--workload", "oltp_read_only", "--warm-up-seconds", "-1"]), @r#"
    exit code 1
    -- stderr
    error: workload oltp_read_only: warm_up_seconds is `-1`
    hint: give a number from 0 to 10000000
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:18.6", "--workload", "oltp_read_only", "--threads", "500"]), @r#"
    exit code 1
    -- stderr
    error: candidate postgres:18.6 allows 200 connections (max_connections), and this run opens 500 and one that watches
    hint: leave room with --set max_connections=510, or run with fewer threads
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:18.6", "--workload", "oltp_read_only", "--threads", "1,32", "--set", "max_connections=32"]), @r#"
    exit code 1
    -- stderr
    error: candidate postgres:18.6 allows 32 connections (max_connections), and this run opens 32 and one that watches
    hint: leave room with --set max_connections=42, or run with fewer threads
    "#);
}

#[test]
fn workload_files_with_mistakes() {
    let sandbox = Sandbox::new();
    let good = [
        "[options]",
        "size = { default = 100, least = 1, most = 1_000, help = 'articles' }",
        "[tables.article]",
        "rows = 'size'",
        "columns = [{ name = 'id', type = 'integer not null', content = 'row' }]",
        "primary_key = 'id'",
        "[statements]",
        "look = { sql = 'select id from {table} where id = {1..size}', fetches = 1 }",
        "[[steps]]",
        "name = 'looking'",
        "event = 'look'",
    ]
    .join("\n");
    let mistake = |right: &str, wrong: &str| {
        assert!(good.contains(right), "{right}");
        sandbox.write("mine.toml", &good.replace(right, wrong));
        compare(&sandbox, &["sqlite", "--workload", "./mine.toml"])
    };
    assert_snapshot!(mistake("primary_key", "primary_kee"), @r#"
    exit code 1
    -- stderr
    error: ./mine.toml, line 6, column 1: unknown key `primary_kee`
    hint: did you mean `primary_key`?
    "#);
    assert_snapshot!(mistake("1..size", "1..sise"), @r#"
    exit code 1
    -- stderr
    error: ./mine.toml, line 8, column 55: unknown name `sise`
    hint: did you mean `size`?
    "#);
    assert_snapshot!(mistake("event = 'look'", "event = 'lok'"), @r#"
    exit code 1
    -- stderr
    error: ./mine.toml, line 11, column 9: unknown event `lok`
    hint: did you mean `look`?
    "#);
    assert_snapshot!(mistake("least = 1,", "least = 1.5,"), @r#"
    exit code 1
    -- stderr
    error: ./mine.toml, line 2, column 33: expected an integer, found a number
    hint: docs/formats.md describes workload files
    "#);
    assert_snapshot!(mistake("[tables.article]", "[tables.article"), @r#"
    exit code 1
    -- stderr
    error: ./mine.toml, line 3, column 16: unclosed table, expected `]`
    hint: docs/formats.md describes workload files
    "#);
}

#[test]
fn searches_that_have_nothing_to_look_for() {
    let sandbox = Sandbox::new();
    let bisect = |arguments: &[&str]| refusal(&sandbox, &sandbox.output(&[&["bisect"], arguments].concat()));
    assert_snapshot!(bisect(&["sqlite@wal_normal", "sqlite@rollback_full"]), @r"
    exit code 1
    -- stderr
    error: 2 candidates have none between them where a change could have begun
    hint: name three or more, the oldest first; two are for `basecase compare`
    ");
    let three =
        ["sqlite@wal_normal", "sqlite@rollback_full", "sqlite@default", "--workload", "microbenchmarks"];
    assert_snapshot!(bisect(&[&three[..], &["--list", "point-query,hot-points"]].concat()), @r"
    exit code 1
    -- stderr
    error: 2 steps match, and a change is searched for in one step
    hint: --step names one of these: point-query_range=100, hot-points_range=100
    ");
    assert_snapshot!(bisect(&[&three[..], &["--list", "point-query", "--step", "l.i2"]].concat()), @r"
    exit code 1
    -- stderr
    error: the workload has no step l.i2
    hint: --step names one of these: point-query_range=100
    ");
}
