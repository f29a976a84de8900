//! Rounds in which a candidate or its helpers misbehave, and runs whose client does.

use std::thread::sleep;
use std::time::Duration;

use basecase_model::{Trial, names};
use basecase_tests::Sandbox;
use basecase_tests::running::{HARDLY_SETTLES, MICROBENCHMARKS, PLACES, Point, Running, TWO_CONFIGS, trials};

/// Shorter than a pass of these runs, so that stops cannot all fall between passes.
const BETWEEN_STOPS: Duration = Duration::from_millis(300);

/// Runs point queries that are in the window at once, suspends the process so often for so long once it is at work, and returns the trials.
fn suspended(sandbox: &Sandbox, more: &[&str], (times, pause): (u32, Duration)) -> Vec<Trial> {
    let steps = ["point-query", "--option", "warm_up_seconds=0"];
    let arguments =
        [&["compare"], &TWO_CONFIGS[..], &MICROBENCHMARKS, &steps, more, &HARDLY_SETTLES, &PLACES].concat();
    let mut running = Running::start(sandbox, &arguments);
    running.wait_for(&Point::work("point-query"));
    // A stop that falls between passes is none of theirs.
    for _ in 0..times {
        if running.is_over() {
            break;
        }
        running.signal("STOP");
        sleep(pause);
        running.signal("CONT");
        sleep(BETWEEN_STOPS);
    }
    let told = running.finish();
    assert!(told.is_success(), "{told}");
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
    let trials = suspended(&sandbox, &["--seconds", "2"], (1, Duration::from_millis(1_200)));
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
    let trials = suspended(&sandbox, &["--budget", "10s"], (20, Duration::from_millis(700)));
    let told: Vec<&Trial> = trials.iter().filter(|trial| told(trial).is_some()).collect();
    assert!(!told.is_empty(), "{:?}", trials.iter().map(|trial| &trial.warnings).collect::<Vec<_>>());
    for trial in told {
        let passes = trial.gauges.iter().filter(|(name, _)| name.starts_with(names::CLIENT_STOPPED_PASS));
        assert!(passes.count() > 0, "{:?}", trial.gauges);
    }
}
