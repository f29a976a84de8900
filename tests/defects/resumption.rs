//! Runs that go on where another one stopped.

use std::fs;
use std::path::PathBuf;

use basecase_model::{Trial, TrialStatus};
use basecase_tests::Sandbox;
use basecase_tests::running::{
    HARDLY_SETTLES, PLACES, Point, Running, SMALL, assert_nothing_runs, one_round, trials,
};

/// Two candidates through all steps, one after the other.
fn classic() -> Vec<&'static str> {
    [&["compare", "sqlite@rollback_full", "sqlite@wal_normal"], &SMALL[..], &HARDLY_SETTLES, &PLACES].concat()
}

/// One round more each time it is run to its end.
fn round() -> Vec<&'static str> {
    one_round("point-query")
}

/// Runs until it comes to a point, and kills it then.
fn kill_at(sandbox: &Sandbox, arguments: &[&str], point: &Point) {
    let mut running = Running::start(sandbox, arguments);
    running.wait_for(point);
    running.kill();
    assert_nothing_runs(&sandbox.path().join("data"));
}

/// The only file of that name whose path has this word.
fn find(sandbox: &Sandbox, name: &str, word: &str) -> PathBuf {
    let mut folders = vec![sandbox.path().join("data")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.ends_with(name) && path.to_str().unwrap().contains(word) {
                return path;
            }
            folders.extend(path.is_dir().then_some(path));
        }
    }
    panic!("no {name} of {word}");
}

fn stored(sandbox: &Sandbox) -> Vec<Trial> {
    trials(&sandbox.path().join("s.sqlite"))
}

/// What failed, and why.
fn failures(trials: &[Trial]) -> Vec<(&str, &str)> {
    trials
        .iter()
        .filter_map(|trial| match &trial.status {
            TrialStatus::Failed { reason, .. } => Some((trial.step.as_str(), reason.as_str())),
            TrialStatus::Complete => None,
        })
        .collect()
}

#[test]
fn defect_19_data_that_cannot_be_opened_is_kept_until_the_user_wants_it_rebuilt() {
    let sandbox = Sandbox::new();
    kill_at(&sandbox, &classic(), &Point::phase("settle"));
    let database = find(&sandbox, "ib.sqlite", "rollback_full");
    let whole = fs::read(&database).unwrap();
    // What SQLite had not ended would undo the damage.
    let journal = database.with_extension("sqlite-journal");
    let unfinished = fs::read(&journal).ok();
    let _ = fs::remove_file(&journal);
    let mut damaged = whole.clone();
    damaged[..16].fill(0);
    fs::write(&database, &damaged).unwrap();

    let told = Running::to_end(&sandbox, &classic());
    assert_eq!(told.failed(), ["sqlite3541.rollback_full qr100.L1"], "{told}");
    assert_eq!(fs::read(&database).unwrap(), damaged, "what could not be opened stays as it was");
    let all = stored(&sandbox);
    let failed = failures(&all);
    let [(step, reason)] = failed[..] else { panic!("{failed:?}") };
    assert!(step == "qr100" && reason.contains("is kept") && reason.contains("hint: "), "{step}: {reason}");
    assert!(reason.contains("--rebuild") && reason.contains("not a database"), "{reason}");
    let of_next = all.iter().filter(|trial| trial.candidate.ends_with("wal_normal"));
    assert_eq!(of_next.filter(|trial| trial.is_complete()).count(), 10, "the next candidate ran");

    // The cause is mended, and all goes on from what there is.
    fs::write(&database, &whole).unwrap();
    if let Some(unfinished) = unfinished {
        fs::write(&journal, unfinished).unwrap();
    }
    kill_at(&sandbox, &classic(), &Point::work("qp500"));
    let again = stored(&sandbox);
    let is_first = |trial: &&Trial| trial.step == "qr100" && trial.candidate.ends_with("rollback_full");
    let first = again.iter().filter(is_first).find(|trial| trial.is_complete()).unwrap();
    assert!(first.warnings.iter().any(|warning| warning.contains("restarted")), "{:?}", first.warnings);

    // Or it is not, and the user gives the data up.
    let database = find(&sandbox, "ib.sqlite", "rollback_full");
    fs::write(&database, &damaged).unwrap();
    let told = Running::to_end(&sandbox, &[&classic()[..], &["--rebuild"]].concat());
    assert!(told.is_success(), "{told}");
    let all = stored(&sandbox);
    assert_eq!(all.iter().filter(|trial| trial.is_complete()).count(), 20);
    let rebuilt = |trial: &&Trial| trial.warnings.iter().any(|warning| warning.contains("rebuilt"));
    assert_eq!(all.iter().filter(rebuilt).count(), 1);
}

#[test]
fn defect_19_an_image_of_rounds_that_cannot_be_read_is_kept_until_the_user_wants_it_rebuilt() {
    let sandbox = Sandbox::new();
    kill_at(&sandbox, &round(), &Point::step("point-query"));
    let state = find(&sandbox, "state.json", "rollback_full");
    fs::write(&state, "{").unwrap();
    let told = Running::to_end(&sandbox, &round());
    assert_eq!(told.exit_code(), Some(1), "{told}");
    let all = stored(&sandbox);
    let failed = failures(&all);
    let [(_, reason)] = failed[..] else { panic!("{failed:?}") };
    assert!(reason.contains("is damaged") && reason.contains("--rebuild"), "{reason}");
    assert!(state.with_file_name("ib.sqlite").is_file(), "the image stays");

    let told = Running::to_end(&sandbox, &[&round()[..], &["--rebuild"]].concat());
    assert!(told.is_success(), "{told}");
    let loads = stored(&sandbox);
    let loads: Vec<&Trial> =
        loads.iter().filter(|trial| trial.is_complete() && trial.step.starts_with("load")).collect();
    assert_eq!(loads.len(), 2, "each was loaded for one trial");
}

#[test]
fn defect_21_what_is_loaded_again_for_later_rounds_is_no_second_trial() {
    let sandbox = Sandbox::new();
    // Killed after the load was stored and before its data was kept.
    kill_at(&sandbox, &round(), &Point::step("point-query"));
    fs::remove_file(find(&sandbox, "state.json", "rollback_full")).unwrap();
    for rounds in 1..=2 {
        let told = Running::to_end(&sandbox, &round());
        assert!(told.is_success(), "{told}");
        let all = stored(&sandbox);
        assert!(all.iter().all(Trial::is_complete));
        let (slices, loads): (Vec<&Trial>, Vec<&Trial>) =
            all.iter().partition(|trial| !trial.slices.is_empty());
        assert_eq!((slices.len(), loads.len()), (2 * rounds, 2));
        let told = |trial: &&&Trial| trial.warnings.iter().any(|warning| warning.contains("loaded again"));
        // Data of rounds that came to their end is removed.
        assert_eq!(loads.iter().filter(told).count(), rounds);
    }
}
