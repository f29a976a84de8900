//! Rounds in which a candidate or its helpers misbehave, and runs whose client does.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use basecase_model::{Trial, names};
use basecase_tests::Sandbox;

use crate::running::{Running, trials};

/// Point queries on small tables that are in the window at once.
const POINT_QUERIES: [&str; 12] = [
    "--workload",
    "microbenchmarks",
    "--list",
    "point-query",
    "--option",
    "rows=5000",
    "--option",
    "warm_up_seconds=0",
    "--store",
    "s.sqlite",
    "--data",
    "data",
];

/// Runs with what is given besides, suspends the process so often for so long once it says `text`, and returns the trials.
fn suspended(
    sandbox: &Sandbox,
    arguments: &[&str],
    text: &str,
    (times, pause): (u32, Duration),
) -> Vec<Trial> {
    let mut running = Running::start(sandbox, &[arguments, &POINT_QUERIES].concat());
    assert!(running.wait_for(text), "{}", running.said());
    let pid = running.child.id().to_string();
    for signal in ["-STOP", "-CONT"].into_iter().cycle().take(2 * times as usize) {
        sleep(pause);
        if running.child.try_wait().unwrap().is_some() {
            break;
        }
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
    let (success, said) = running.finish();
    assert!(success, "{said}");
    trials(&sandbox.path().join("s.sqlite"))
}

/// The seconds that a warning tells, and those that were counted.
fn told(trial: &Trial) -> Option<(f64, f64)> {
    let warning =
        trial.warnings.iter().find(|warning| warning.starts_with("basecase itself did not run for "))?;
    let seconds = warning.split_whitespace().nth(6)?.parse().ok()?;
    Some((seconds, trial.gauges.get(names::CLIENT_STOPPED_US)? / 1e6))
}

#[test]
fn defect_18_a_client_that_was_suspended_is_told_with_how_long() {
    let sandbox = Sandbox::new();
    let pause = Duration::from_millis(1_200);
    let arguments = ["compare", "sqlite@wal_normal", "sqlite@rollback_full", "--seconds", "3"];
    let trials = suspended(&sandbox, &arguments, "settling", (3, pause));
    let told: Vec<(f64, f64)> = trials.iter().filter_map(told).collect();
    let is_right = |(seconds, counted): &(f64, f64)| *seconds >= 1.0 && (seconds - counted).abs() < 0.06;
    assert!(
        told.iter().any(is_right),
        "{told:?} {:?}",
        trials.iter().map(|trial| &trial.warnings).collect::<Vec<_>>()
    );
}

#[test]
fn defect_18_passes_in_which_the_client_was_suspended_are_told_in_rounds() {
    let sandbox = Sandbox::new();
    let arguments = ["compare", "sqlite@wal_normal", "sqlite@rollback_full", "--budget", "1s"];
    let trials = suspended(&sandbox, &arguments, "round 1  point", (7, Duration::from_millis(700)));
    let told: Vec<&Trial> = trials.iter().filter(|trial| told(trial).is_some()).collect();
    assert!(!told.is_empty(), "{:?}", trials.iter().map(|trial| &trial.warnings).collect::<Vec<_>>());
    for trial in told {
        let passes = trial.gauges.iter().filter(|(name, _)| name.starts_with(names::CLIENT_STOPPED_PASS));
        assert!(passes.count() > 0, "{:?}", trial.gauges);
    }
}
