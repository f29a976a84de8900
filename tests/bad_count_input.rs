//! What `basecase count` says to input that it cannot use.

use basecase_probe::{CounterEvent, InstructionCounter, PerfError};
use basecase_tests::Sandbox;
use basecase_tests::running::PLACES;
use insta::assert_snapshot;

use crate::refusals::refusal;

/// The transcript of `basecase count` with these arguments, which must be refused before anything is counted.
fn refused(arguments: &[&str]) -> String {
    let sandbox = Sandbox::new();
    let workload = ["--workload", "microbenchmarks", "--list", "point-query"];
    let output = sandbox.output(&[&["count"], arguments, &workload, &PLACES].concat());
    refusal(&sandbox, &output)
}

#[test]
fn sessions_side_by_side_are_not_counted() {
    assert_snapshot!(refused(&["postgres:17.11", "--threads", "2"]), @r#"
    exit code 1
    -- stderr
    error: instructions are counted for one session at a time: with several, waiting for each other would be counted as work
    hint: leave out --threads and --clients
    "#);
}

#[test]
fn options_of_times_are_refused_where_none_are_taken() {
    assert_snapshot!(refused(&["postgres:17.11", "--budget", "1m"]), @r#"
    exit code 1
    -- stderr
    error: --budget is for times, and basecase count takes none
    hint: leave it out, or use basecase compare with --counts for both
    "#);
    assert_snapshot!(refused(&["postgres:17.11", "--detect", "3%"]), @r#"
    exit code 1
    -- stderr
    error: --detect is for times, and basecase count takes none
    hint: leave it out, or use basecase compare with --counts for both
    "#);
}

#[test]
fn a_search_by_work_takes_no_options_of_times() {
    let sandbox = Sandbox::new();
    let versions = ["bisect", "postgres:16.15", "postgres:17.11", "postgres:18.6", "--counts"];
    let workload = ["--workload", "microbenchmarks", "--list", "point-query", "--rounds", "5"];
    let output = sandbox.output(&[&versions[..], &workload, &PLACES].concat());
    assert_snapshot!(refusal(&sandbox, &output), @r#"
    exit code 1
    -- stderr
    error: --rounds is for times, and basecase bisect --counts takes none
    hint: leave it out, or search by times, without --counts
    "#);
}

#[test]
fn a_change_to_detect_must_be_one() {
    assert_snapshot!(refused(&["postgres:17.11", "--counts-detect", "0"]), @r#"
    exit code 2
    -- stderr
    error: invalid value '0' for '--counts-detect <PERCENT>': write a change such as 0.5%, from 0.01% to 50%

    For more information, try '--help'.
    "#);
}

#[test]
fn an_engine_must_be_one() {
    assert_snapshot!(refused(&["postgres:17.11", "--counts-engine", "valgrind"]), @r#"
    exit code 2
    -- stderr
    error: invalid value 'valgrind' for '--counts-engine <ENGINE>'
      [possible values: auto, callgrind, hardware]

      tip: a similar value exists: 'callgrind'

    For more information, try '--help'.
    "#);
}

#[test]
fn an_engine_of_counts_is_refused_where_nothing_is_counted() {
    let sandbox = Sandbox::new();
    let output =
        sandbox.output(&[&["compare", "sqlite", "--counts-engine", "callgrind"], &PLACES[..]].concat());
    assert_snapshot!(refusal(&sandbox, &output), @r#"
    exit code 1
    -- stderr
    error: --counts-engine says what counts, and nothing is to be counted
    hint: add --counts
    "#);
}

/// Before any build is got and before times are measured.
#[test]
fn an_engine_that_the_machine_lacks_is_refused_before_any_work() {
    let Err(problem) = InstructionCounter::try_event(CounterEvent::Instructions) else {
        return println!("skipped: the processor counts instructions here");
    };
    let sandbox = Sandbox::new();
    let said = |arguments: &[&str]| {
        let workload =
            ["--workload", "microbenchmarks", "--list", "point-query", "--counts-engine", "hardware"];
        let said = refusal(&sandbox, &sandbox.output(&[arguments, &workload, &PLACES].concat()));
        assert!(!sandbox.path().join("s.sqlite").exists() && !sandbox.path().join("data").exists());
        said
    };
    let alone = said(&["count", "postgres:17.11"]);
    let beside = said(&["compare", "sqlite@wal_normal", "sqlite@rollback_full", "--counts"]);
    assert_eq!(alone, beside);
    if !matches!(problem, PerfError::Event { .. }) {
        return assert!(alone.contains("error: the processor cannot count instructions here: "), "{alone}");
    }
    assert_snapshot!(alone, @r#"
    exit code 1
    -- stderr
    error: the processor cannot count instructions here: the kernel cannot count instructions
    hint: few virtual machines have the processor's counters; --counts-engine callgrind needs none
    "#);
}

#[test]
fn what_basecase_does_not_start_by_itself_cannot_be_counted() {
    let said = refused(&["url:postgres://me:correct-horse-1b7f@127.0.0.1:1/ib"]);
    assert_snapshot!(said, @r#"
    exit code 1
    -- stderr
    error: candidate url:postgres://me@127.0.0.1:[PORT]/ib is your own server, whose instructions cannot be counted: each count begins with a fresh start of the server, and basecase does not start yours
    hint: let basecase start the build: path:/usr/lib/…
    "#);
    assert_snapshot!(refused(&["sqlite"]), @r#"
    exit code 1
    -- stderr
    error: candidate sqlite is a part of basecase itself, whose instructions cannot be told from its own
    hint: name the version, which is then a library of its own: sqlite:3.54.1
    "#);
}
