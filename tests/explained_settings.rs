//! A setting that is tried: what is left of a change that it makes, and of one that it does not make.

use std::collections::BTreeSet;

use basecase_store::Store;
use basecase_tests::Sandbox;
use basecase_tests::disturbance::measured_again_if_disturbed;
use basecase_tests::running::{
    HARDLY_SETTLES, MICROBENCHMARKS, PLACES, SHORT_ROUNDS, SHORT_ROUNDS_OF_SERVERS,
};

/// Settings of both configs of SQLite.
const BOTH: &str = "synchronous = off\n";
/// The large effect that is looked for.
const DETECT: [&str; 2] = ["--detect", "30%"];

/// Standard output with lines that went on below made whole.
fn said(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.output(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The candidates and the number of trials of each experiment in the store.
fn stored(sandbox: &Sandbox) -> Vec<(Vec<String>, usize)> {
    let store = Store::open_read_only(&sandbox.path().join("s.sqlite")).unwrap();
    let experiments = store.experiments().unwrap().into_iter();
    let told = |experiment: basecase_model::Experiment| {
        let names = experiment.candidates.iter().map(|facts| facts.name.0.clone()).collect();
        (names, store.trials(&experiment.id).unwrap().len())
    };
    experiments.map(told).collect()
}

#[test]
fn the_planted_setting_explains_the_change_and_another_that_differs_does_not() {
    measured_again_if_disturbed(one_of_two_settings_explains_the_change);
}

fn one_of_two_settings_explains_the_change() {
    let sandbox = Sandbox::new();
    sandbox.write("wal.conf", &format!("{BOTH}journal_mode = wal\nbusy_timeout = 2000\n"));
    // Each transaction makes a file and removes it: an effect that is many times what load beside it does.
    sandbox.write("delete.conf", &format!("{BOTH}journal_mode = delete\nbusy_timeout = 1000\n"));
    let candidates = ["compare", "sqlite@wal.conf", "sqlite@delete.conf"];
    let step = ["update-nonindex", "--option", "rows=20000", "--threads", "1", "--loads", "1"];
    let short = [&DETECT[..], &HARDLY_SETTLES, &SHORT_ROUNDS].concat();
    said(&sandbox, &[&candidates[..], &MICROBENCHMARKS, &step, &short, &PLACES].concat());
    // Three candidates take turns.
    let explain =
        [&["explain", "s.sqlite", "update-nonindex"][..], &SHORT_ROUNDS_OF_SERVERS, &["--try"]].concat();

    let planted = said(&sandbox, &[&explain[..], &["journal_mode"]].concat());
    assert!(planted.contains(" with journal_mode=wal as in the base case: "), "{planted}");
    assert!(
        planted.ends_with(" rounds") && planted.contains("are left: the setting explains the change"),
        "{planted}"
    );
    let innocent = said(&sandbox, &[&explain[..], &["busy_timeout"]].concat());
    assert!(innocent.contains(" with busy_timeout=2000 as in the base case: "), "{innocent}");
    // On a noisy machine it may be open whether it explains a part.
    assert!(innocent.contains("are left: the setting does not explain "), "{innocent}");

    // Each is an experiment of its own, with the same base case and contender.
    let experiments = stored(&sandbox);
    let varied: BTreeSet<&str> = experiments[1..].iter().map(|(names, _)| names[2].as_str()).collect();
    assert!(experiments[1..].iter().all(|(names, _)| names[..2] == experiments[0].0), "{experiments:?}");
    let suffixes = ["delete+busy_timeout=2000", "delete+journal_mode=wal"];
    assert!(varied.iter().zip(suffixes).all(|(name, suffix)| name.ends_with(suffix)), "{varied:?}");
    // What is decided is not measured again.
    let again = said(&sandbox, &[&explain[..], &["journal_mode"]].concat());
    assert!(again.contains("are left: the setting explains the change"), "{again}");
    assert_eq!(stored(&sandbox), experiments);
}
