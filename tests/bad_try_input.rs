//! What `explain --try` says to settings that explain nothing and to experiments that cannot be run again; and how it goes on.

use basecase_report::fixture;
use basecase_store::Store;
use basecase_tests::Sandbox;
use basecase_tests::running::{
    HARDLY_SETTLES, MICROBENCHMARKS, ONE_ROUND, Point, Running, SHORT_TIMES, by_round, trials,
};

use crate::refusals::refusal;

const CELL: &str = "point-query";
/// Not those of the tests of refusals, which must stay empty.
const STORE: &str = "kept.sqlite";
const KEPT: [&str; 4] = ["--store", STORE, "--data", "kept"];

/// A sandbox with a round of three configs of SQLite.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("base.conf", "journal_mode = wal\nsynchronous = off\ncache_size = 1000\n");
    sandbox
        .write("small.conf", "journal_mode = wal\nsynchronous = off\ncache_size = 10\ntemp_store = memory\n");
    sandbox.write("slow.conf", "journal_mode = wal\nsynchronous = full\ncache_size = 1000\n");
    let candidates = ["compare", "sqlite@base.conf", "sqlite@small.conf", "sqlite@slow.conf"];
    let arguments = [&candidates[..], &MICROBENCHMARKS, &[CELL, "--threads", "1"], &ONE_ROUND, &SHORT_TIMES];
    let output = sandbox.output(&[&arguments.concat()[..], &HARDLY_SETTLES, &KEPT].concat());
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    sandbox
}

/// The name of a candidate with this config, on the step.
fn cell(config: &str) -> String {
    format!("sqlite{}.{config}/{CELL}", basecase_lab::sqlite_version().replace('.', ""))
}

#[test]
fn settings_that_explain_nothing_are_refused() {
    let sandbox = sandbox();
    let (small, base) = (cell("small"), cell("base"));
    let (of_small, of_base) = (small.trim_end_matches("/point-query"), base.trim_end_matches("/point-query"));
    let refused = |arguments: &[&str], reason: &str, hint: &str| {
        let output = sandbox.output(&[&["explain", STORE], arguments].concat());
        let refusal = refusal(&sandbox, &output);
        assert!(refusal.contains(&format!("error: {reason}")), "{reason}: {refusal}");
        assert!(refusal.contains(hint), "{hint}: {refusal}");
    };
    let tried = |setting: &str, reason: &str, hint: &str| refused(&[&small, "--try", setting], reason, hint);
    tried(
        "cache_siz",
        "--try cache_siz: cache_siz is not a pragma that a config may set",
        "hint: did you mean cache_size",
    );
    tried("cache_size=1\n2", "--try cache_size: cache_size: \"1\\n2\" is more than one line", "hint: ");
    let same = format!("journal_mode is wal in {of_base} and in {of_small}, so it explains no difference");
    tried("journal_mode", &same, "hint: try a setting that differs, or give a value");
    tried("cache_size=10", &format!("{of_small} has cache_size = 10 already"), "hint: give another value");
    let nowhere = format!("threads is at the server's default in {of_base} and in {of_small}");
    tried("threads", &nowhere, "give a value: --try threads=VALUE");
    tried("=1", "invalid value '=1' for '--try <SETTING[=VALUE]>'", "write SETTING or SETTING=VALUE");

    let several = format!("hint: name one of them: {small}_range=100, ");
    let of_step = "--try measures one candidate on one step, and 2 have changed or were named";
    refused(&[CELL, "--try", "cache_size"], of_step, &several);
    refused(&["--try", "cache_size"], "there is nothing to explain", "hint: name a step");
    refused(&["point-qery", "--try", "cache_size"], "the experiment has no step", "hint: did you mean");
    refused(&[&base, "--try", "cache_size"], &format!("{of_base} is the base case"), "hint: name one of");
    refused(&[&small, "--try", "cache_size", "--experiment", "x"], "kept.sqlite has no experiment", "hint: ");
    refused(&[&small, "--budget", "1m"], "the following required arguments were not provided", "--try");
    assert_eq!(experiments(&sandbox), 1, "nothing was begun");
}

fn experiments(sandbox: &Sandbox) -> usize {
    Store::open_read_only(&sandbox.path().join(STORE)).unwrap().experiments().unwrap().len()
}

#[test]
fn an_experiment_that_cannot_be_run_again_is_refused() {
    let sandbox = sandbox();
    let small = cell("small");
    let tried = || {
        let output = sandbox.output(&["explain", STORE, &small, "--try", "cache_size"]);
        refusal(&sandbox, &output)
    };
    sandbox.write("small.conf", "journal_mode = wal\nsynchronous = off\ncache_size = 20\n");
    let changed = tried();
    assert!(changed.contains("would be another experiment by now"), "{changed}");
    std::fs::remove_file(sandbox.path().join("small.conf")).unwrap();
    let gone = tried();
    assert!(gone.contains("cannot be given again: cannot read config small.conf"), "{gone}");
    assert_eq!(experiments(&sandbox), 1);
    // Nobody gave the command of made-up results.
    let (experiment, trials) = fixture::in_rounds();
    let mut store = Store::create_or_open(&sandbox.path().join("made.sqlite")).unwrap();
    store.save_experiment(&experiment).unwrap();
    assert!(!trials.is_empty());
    drop(store);
    let output = sandbox.output(&["explain", "made.sqlite", "hot-points", "--try", "jit"]);
    let made = refusal(&sandbox, &output);
    assert!(made.contains("nothing was measured that explains hot-points"), "{made}");
}

#[test]
fn the_same_command_goes_on_where_it_was_killed() {
    let sandbox = sandbox();
    let small = cell("small");
    let arguments = ["explain", STORE, &small, "--try", "cache_size", "--budget", "1ms"];
    let mut running = Running::start(&sandbox, &arguments);
    running.wait_for(&Point::work(CELL));
    running.kill();
    for rounds in 1..=2 {
        let told = Running::to_end(&sandbox, &arguments);
        assert!(told.is_success(), "{told}");
        let all = trials(&sandbox.path().join(STORE));
        let own: Vec<_> =
            all.into_iter().filter(|trial| trial.candidate.contains("small+cache_size=1000")).collect();
        let by_round = by_round(&own, CELL);
        assert_eq!(by_round.len(), rounds, "{by_round:?}");
        assert!(by_round.values().all(|trials| trials.len() == 1), "{by_round:?}");
    }
    assert_eq!(experiments(&sandbox), 2);
    let named = ["explain", STORE, &small, "--try", "cache_size", "--experiment"];
    let store = Store::open_read_only(&sandbox.path().join(STORE)).unwrap();
    let tries = store.experiments().unwrap()[1].id.clone();
    let output = sandbox.output(&[&named[..], &[&tries]].concat());
    let refused = refusal(&sandbox, &output);
    assert!(
        refused.contains("tries a setting itself\nhint: name the experiment that it explains"),
        "{refused}"
    );
}
