//! Experiments in rounds on real servers: what is refused, what failures and kills in between leave, chains, and debts.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::PoisonError;

use basecase_model::{PROTOCOL_REVISION, Trial, names};
use basecase_tests::running::{
    HARDLY_SETTLES, KILLS_FOR_MEMORY, MICROBENCHMARKS, ONE_ROUND, ONE_SECOND, PLACES, Point, Running,
    SHORT_TIMES, SMALL, TWO_CONFIGS, assert_nothing_runs, by_round, in_rounds, point_queries, signal, trials,
};
use basecase_tests::{Sandbox, program};
use serde_json::Value;

#[test]
fn what_a_candidate_puts_off_that_is_measured_against_itself_is_paid_and_told() {
    let sandbox = Sandbox::new();
    let steps = ["update-nonindex", "--rounds", "5"];
    // A vacuum of the server's own would pay before it is asked to.
    let settings = ["--set", "shared_buffers=128MB", "--set", "autovacuum=off"];
    let candidates = ["compare", "postgres:18.6", "postgres:18.6", "--full"];
    let list = [&candidates[..], &MICROBENCHMARKS, &steps, &settings, &SHORT_TIMES, &HARDLY_SETTLES, &PLACES]
        .concat();
    let output = sandbox.output(&list);
    assert!(output.status.success(), "{}", sandbox.transcript(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("against itself: pg186.") && text.contains("_again"), "{text}");
    let all = trials(&sandbox.path().join("s.sqlite"));
    let rounds = by_round(&all, "update-nonindex");
    let loads = rounds.values().flatten().filter_map(|trial| trial.gauges.get(names::IMAGE_ROUND));
    let loads: BTreeSet<u32> = loads.map(|round| round as u32).collect();
    assert!(loads.len() >= 3 && loads.contains(&0), "rounds begin with data that was loaded anew: {loads:?}");
    for (round, pair) in rounds {
        assert_eq!(pair.len(), 2, "round {round}");
        for trial in pair {
            assert!(trial.is_complete(), "{:?}", trial.status);
            let paid = |name: &str| trial.gauges.get(name).unwrap();
            assert!(paid("end.debt.dead_rows") > 0.0, "{}", paid("end.debt.dead_rows"));
            // There is a checkpoint to wait for at least.
            assert!((0.001..20.0).contains(&paid(names::DRAIN_SECONDS)), "{}", paid(names::DRAIN_SECONDS));
            assert!(paid(names::DRAIN_SERVER_CPU_US) > 100.0, "{}", paid(names::DRAIN_SERVER_CPU_US));
        }
    }
    let page = fs::read_to_string(sandbox.path().join("basecase-report/method.html")).unwrap();
    assert!(page.contains("Including deferred work"), "{page}");
    let json = sandbox.output(&["report", "s.sqlite", "--format", "json"]).stdout;
    let json: Value = serde_json::from_slice(&json).unwrap();
    let ratios: Vec<f64> =
        found(&json, "debt_inclusive").iter().filter_map(|one| one["ratio"].as_f64()).collect();
    assert!(matches!(ratios[..], [ratio] if (0.5..2.0).contains(&ratio)), "{ratios:?}");
}

/// Every value of this name, wherever it is.
fn found<'a>(json: &'a Value, name: &str) -> Vec<&'a Value> {
    let own = json.get(name).filter(|value| !value.is_null()).into_iter();
    let below: Box<dyn Iterator<Item = &Value>> = match json {
        Value::Object(fields) => Box::new(fields.values()),
        Value::Array(values) => Box::new(values.iter()),
        _ => Box::new(std::iter::empty()),
    };
    own.chain(below.flat_map(|value| found(value, name))).collect()
}

#[test]
fn what_cannot_run_in_rounds_is_refused_before_any_work() {
    let sandbox = Sandbox::new();
    let refused = |candidates: &[&str], more: &[&str], wanted: &str| {
        let output = sandbox.output(&in_rounds("compare", candidates, more));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(wanted) && said.contains("hint:"), "{said}");
        assert!(trials(&sandbox.path().join("s.sqlite")).is_empty());
    };
    refused(&["sqlite@wal_normal"], &[], "there is only one");
    refused(&["sqlite@wal_normal", "url:postgres://u:p@127.0.0.1:1/d"], &[], "cannot be measured in rounds");
    let usage = sandbox.output(&["compare", "sqlite", "sqlite@rollback_full", "--detect", "90%"]);
    assert_eq!(usage.status.code(), Some(2), "{}", sandbox.transcript(&usage));
    let few = sandbox.output(&[
        "compare",
        "sqlite",
        "sqlite@rollback_full",
        "--rounds",
        "2",
        "--store",
        "s.sqlite",
        "--data",
        "data",
        "--rows",
        "1000",
    ]);
    assert!(String::from_utf8_lossy(&few.stderr).contains("fewer than 5"), "{}", sandbox.transcript(&few));
    let calibrate = sandbox.output(&in_rounds("calibrate", &["sqlite"], &[]));
    assert!(String::from_utf8_lossy(&calibrate.stderr).contains("nothing can be planted"));
    let crowd = sandbox.output(&in_rounds("calibrate", &["postgres:18.6"], &["--threads", "16"]));
    assert!(String::from_utf8_lossy(&crowd.stderr).contains("opens 16 connections"));
    let same_seed = ["--repeat", "2", "--option", "seed=5"];
    let repeated = sandbox.output(&in_rounds("calibrate", &["postgres:18.6"], &same_seed));
    assert!(String::from_utf8_lossy(&repeated.stderr).contains("--repeat needs a different seed"));
    assert!(trials(&sandbox.path().join("s.sqlite")).is_empty());
}

/// The process number of the Postgres server that runs in one of the slots.
fn postgres_pid(data: &Path) -> Option<u32> {
    let experiments = fs::read_dir(data).ok()?.flatten();
    let slots = experiments.filter_map(|experiment| fs::read_dir(experiment.path().join("slots")).ok());
    let files = slots.flatten().flatten().map(|slot| slot.path().join("data/postmaster.pid"));
    let pid = |path| fs::read_to_string(path).ok()?.lines().next()?.parse().ok();
    files.into_iter().find_map(pid)
}

#[test]
fn a_candidate_that_fails_leaves_the_others_their_rounds() {
    let _no_other_kills = KILLS_FOR_MEMORY.read().unwrap_or_else(PoisonError::into_inner);
    let sandbox = Sandbox::new();
    let candidates = ["sqlite@wal_normal", "sqlite@rollback_full", "postgres:18.6"];
    // Long enough to be killed in a step.
    let more = ["--set", "shared_buffers=64MB", "--timing", "1/10"];
    let mut running = Running::start(&sandbox, &in_rounds("compare", &candidates, &more));
    running.wait_for(&Point::step("point-query").in_round(1));
    let pid = postgres_pid(&sandbox.path().join("data")).unwrap();
    signal(pid, "KILL");
    let said = running.finish();
    assert_eq!(said.exit_code(), Some(1), "{said}");
    assert!(matches!(said.failed()[..], [one] if one.starts_with("pg186")), "{said}");
    assert_nothing_runs(&sandbox.path().join("data"));

    let all = trials(&sandbox.path().join("s.sqlite"));
    let rounds = by_round(&all, "point-query");
    assert_eq!(rounds.len(), 5, "{said}");
    for (round, trials) in &rounds {
        let complete: Vec<&str> = trials
            .iter()
            .filter(|trial| trial.is_complete())
            .map(|trial| trial.candidate.split('.').next().unwrap())
            .collect();
        let expected: &[&str] = match round {
            0 => &["pg186", "sqlite3541", "sqlite3541"],
            _ => &["sqlite3541", "sqlite3541"],
        };
        assert_eq!(complete, expected, "round {round}");
        assert_eq!(trials.len() - complete.len(), usize::from(*round == 1), "what failed is kept");
    }
    let text = sandbox.output(&["report", "s.sqlite", "--format", "text"]);
    let text = String::from_utf8(text.stdout).unwrap();
    let has = |words: [&str; 2]| text.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(has(["sqlite3541.rollback_full", "no verdict: measured with shortened timing"]), "{text}");
    assert!(has(["pg186", "failed"]), "{text}");
}

#[test]
fn what_was_measured_otherwise_is_kept_apart_and_said() {
    let sandbox = Sandbox::new();
    let list = point_queries("compare", &TWO_CONFIGS, &ONE_SECOND);
    let measure = |command: &mut Command| {
        let output = command.current_dir(sandbox.path()).output().unwrap();
        assert!(output.status.success(), "{}", sandbox.transcript(&output));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = measure(&mut sandbox.command(&list));
    assert!(!said.contains("kept apart"), "{said}");
    {
        let store = rusqlite::Connection::open(sandbox.path().join("s.sqlite")).unwrap();
        let earlier = "UPDATE experiment SET facts = json_set(facts, '$.protocol_revision', 1)";
        assert_eq!(store.execute(earlier, []).unwrap(), 1);
    }
    let said = measure(Command::new("nice").args(["-n", "5"]).arg(program()).args(&list));
    let line = said.lines().find(|line| line.starts_with("kept apart")).unwrap_or_else(|| panic!("{said}"));
    let reasons = format!("(protocol revision 1, here {PROTOCOL_REVISION}; niceness ");
    assert!(line.contains(&reasons), "{line}");
    assert!(!said.contains("were not run again"), "{said}");
    assert_eq!(trials(&sandbox.path().join("s.sqlite")).len(), 4, "all are measured anew");
    // Whoever reads the first is told of the second.
    let first = line.split(": ").last().unwrap().split(' ').next().unwrap();
    let said =
        measure(&mut sandbox.command(&["report", "s.sqlite", "--experiment", first, "--format", "text"]));
    let reasons = format!("(protocol revision {PROTOCOL_REVISION}, here 1; niceness ");
    assert!(said.contains(&reasons), "{said}");
}

#[test]
fn chains_of_the_insert_benchmark_come_round_after_round() {
    let sandbox = Sandbox::new();
    // It passes the check of configs, and no start without a certificate.
    sandbox.write("no_start.conf", "shared_buffers = 64MB\nssl = on\n");
    let candidates = ["sqlite@wal_normal", "sqlite@rollback_full", "postgres:18.6@./no_start.conf"];
    let list =
        [&["compare"], &candidates[..], &SMALL, &ONE_ROUND, &SHORT_TIMES, &HARDLY_SETTLES, &PLACES].concat();
    let mut seen = 0;
    for rounds in [1, 2] {
        let output = sandbox.output(&list);
        assert_eq!(output.status.code(), Some(1), "{}", sandbox.transcript(&output));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("failed: pg186.no_start l.i0"), "{said}");
        let all = trials(&sandbox.path().join("s.sqlite"));
        let complete: Vec<&Trial> = all.iter().filter(|trial| trial.is_complete()).collect();
        assert_eq!(complete.len(), rounds * 2 * 10, "{said}");
        assert!(complete[seen..].iter().all(|trial| trial.place.round as usize + 1 == rounds));
        seen = complete.len();
    }
}

#[test]
fn candidates_go_through_the_insert_benchmark_in_lock_step_and_kills_leave_no_server() {
    let sandbox = Sandbox::new();
    let store = sandbox.path().join("s.sqlite");
    let list = [
        &["compare", "postgres:18.6", "postgres:18.6", "--set", "shared_buffers=64MB"][..],
        &["--timing", "1/10"],
        &SMALL,
        &ONE_ROUND,
        &HARDLY_SETTLES,
        &PLACES,
    ]
    .concat();
    for step in ["l.i1", "qp100"] {
        let mut running = Running::start(&sandbox, &list);
        running.wait_for(&Point::work(step));
        running.kill();
        // One of the two stood still, and had to go on to stop.
        assert_nothing_runs(&sandbox.path().join("data"));
    }
    let said = Running::to_end(&sandbox, &list);
    assert!(said.is_success(), "{said}");
    assert_nothing_runs(&sandbox.path().join("data"));

    let all = trials(&store);
    assert!(all.iter().all(Trial::is_complete), "{said}");
    for step in ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"] {
        let rounds = by_round(&all, step);
        assert_eq!(rounds.keys().collect::<Vec<_>>(), [&0], "{step}");
        assert_eq!(
            rounds[&0].len(),
            2,
            "{step}: what was measured before a kill stays, and is not measured again"
        );
        let pair = [rounds[&0][0], rounds[&0][1]];
        assert_ne!(pair[0].candidate, pair[1].candidate, "{step}");
        for trial in pair {
            let worked_s = trial.slices.iter().map(|slice| slice.length_us).sum::<f64>() / 1e6;
            assert!(worked_s <= trial.seconds + 0.1, "{step}: {worked_s} of {}", trial.seconds);
            if step.starts_with('q') {
                // Of its own time, while twice as much went by.
                assert!((0.95..2.5).contains(&trial.seconds), "{step}: {}", trial.seconds);
            }
        }
        let passes = |trial: &Trial| trial.slices.iter().map(|slice| slice.pass).collect::<Vec<_>>();
        // By the clock, one may need a chunk more than the other to come to its end.
        let both = passes(pair[0]).len().min(passes(pair[1]).len());
        assert_eq!(passes(pair[0])[..both], passes(pair[1])[..both], "{step}");
        assert!(both >= 2 || !step.starts_with('q'), "{step}: {:?}", pair[0].slices);
        assert_eq!(passes(pair[0]).is_empty(), step == "l.x");
        if step.starts_with("l.i") {
            let rows = |trial: &Trial| trial.slices.iter().map(|slice| slice.operations).collect::<Vec<_>>();
            assert_eq!(rows(pair[0]), rows(pair[1]), "{step}: equally old in every chunk");
            assert_eq!(rows(pair[0]).iter().sum::<u64>(), pair[0].roles[1].items);
        }
    }
}
