//! Runs that are cut short at any point, and go on: nothing finished is lost or run twice, and nothing is left over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::thread::sleep;
use std::time::Duration;

use basecase_model::{Trial, TrialStatus};
use basecase_tests::Sandbox;
use basecase_tests::running::{
    HARDLY_SETTLES, KILLS_FOR_MEMORY, MICROBENCHMARKS, PLACES, Point, Running, SMALL, assert_nothing_runs,
    processes_with, signal, trials,
};

/// Every file and folder below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        found.push(entry.path());
        if entry.path().is_dir() {
            found.extend(files_below(&entry.path()));
        }
    }
    found
}

/// The arguments of a run of these candidates that takes seconds.
fn small_run<'a>(candidates: &[&'a str]) -> Vec<&'a str> {
    [&["compare"], candidates, &SMALL, &HARDLY_SETTLES, &PLACES].concat()
}

/// A run that is cut short.
struct Cut {
    /// Where.
    point: Point,
    /// How long after it: some instant within what it does.
    delay_ms: u64,
    /// Whether the user interrupts it, who waits for its end.
    is_interrupt: bool,
    /// Whether the next run can go on with the data that this one leaves, where that is certain.
    leaves_whole: Option<bool>,
}

/// A kill right at a point.
fn at(point: Point) -> Cut {
    Cut { point, delay_ms: 0, is_interrupt: false, leaves_whole: None }
}

impl Cut {
    fn after(self, delay_ms: u64) -> Cut {
        Cut { delay_ms, ..self }
    }

    fn leaves_whole(self, is_whole: bool) -> Cut {
        Cut { leaves_whole: Some(is_whole), ..self }
    }

    fn by_the_user(self) -> Cut {
        Cut { is_interrupt: true, ..self }
    }
}

/// Cuts runs of the same command short, in order, and lets the last one finish.
fn cut_short(candidates: &[&str], cuts: Vec<Cut>) {
    let sandbox = Sandbox::new();
    let data = sandbox.path().join("data");
    let store = sandbox.path().join("s.sqlite");
    let arguments = small_run(candidates);
    let mut finished: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut remember = |trials: &[Trial]| {
        for trial in trials {
            let key = (trial.candidate.clone(), trial.step.clone());
            let first = finished.entry(key).or_insert(trial.started_at.clone());
            assert_eq!(*first, trial.started_at, "{} {} was run twice", trial.candidate, trial.step);
        }
        finished.len()
    };
    let mut left_whole = None;
    let rebuild = Point::phase("rebuild");
    for Cut { point, delay_ms, is_interrupt, leaves_whole } in cuts {
        let mut running = Running::start(&sandbox, &arguments);
        running.wait_for(&point);
        let told = running.told();
        assert!(left_whole.is_none_or(|whole| told.has(&rebuild) != whole), "{left_whole:?}: {told}");
        left_whole = leaves_whole;
        sleep(Duration::from_millis(delay_ms));
        if is_interrupt {
            running.signal("INT");
            let told = running.finish();
            assert_eq!(told.exit_code(), Some(1), "{told}");
            let hint = "run the same command again to resume";
            assert_eq!(told.last("interrupted")["hints"][0], hint, "{told}");
        } else {
            running.kill();
        }
        assert_nothing_runs(&data);
        remember(&trials(&store));
    }
    let before = trials(&store).len();
    let told = Running::to_end(&sandbox, &arguments);
    assert!(told.is_success(), "{told}");
    assert_eq!(told.last("summary")["found"], before, "{told}");
    let all = trials(&store);
    assert_eq!(all.len(), candidates.len() * 10, "each step of each candidate exactly once");
    assert!(all.iter().all(Trial::is_complete));
    assert_eq!(remember(&all), candidates.len() * 10);
    assert_nothing_runs(&data);
    assert_eq!(files_below(&data), Vec::<PathBuf>::new(), "data of finished candidates is removed");
}

/// What only a server has: it is made, is stopped by the kernel in the midst of work, recovers, and settles.
fn cuts_of_a_server() -> Vec<Cut> {
    vec![
        at(Point::phase("initialise")).after(400),
        at(Point::inserts("qr100")).leaves_whole(false),
        at(Point::phase("settle")).leaves_whole(true),
        at(Point::work("qp100")).by_the_user(),
    ]
}

#[test]
fn cut_short_on_postgres() {
    cut_short(&["postgres:17.11"], cuts_of_a_server());
}

#[test]
fn cut_short_on_innodb() {
    cut_short(&["mariadb:10.11.18"], cuts_of_a_server());
}

#[test]
fn cut_short_on_rocksdb() {
    cut_short(&["mariadb:10.11.18#rocksdb"], cuts_of_a_server());
}

#[test]
fn killed_at_each_point_on_two_sqlite_configs() {
    cut_short(
        &["sqlite@rollback_full", "sqlite@wal_normal"],
        vec![
            at(Point::phase("initialise")),
            at(Point::step("l.i0")),
            at(Point::step("l.x")).after(1),
            at(Point::step("l.i1")).after(1),
            at(Point::work("l.i2")),
            at(Point::phase("settle")).leaves_whole(true),
            at(Point::inserts("qr100")).leaves_whole(false),
            at(Point::work("qp100")).after(700),
            at(Point::step("qr500")).after(30),
            at(Point::trials(10)),
            at(Point::phase("initialise").of("wal_normal")),
            at(Point::trials(15)).after(300),
            at(Point::step("qp1000").of("wal_normal")),
        ],
    );
}

/// Kills the server of the first of two candidates in a step: the trial is stored as failed with the log's tail, the next candidate runs, and
/// the same command measures what failed, and only that, on a rebuilt database.
fn kill_server(server: &str, program: &str, in_log: &str, workload: &[&str], step: &str, steps: usize) {
    let _no_other_kills = KILLS_FOR_MEMORY.read().unwrap_or_else(PoisonError::into_inner);
    let sandbox = Sandbox::new();
    let arguments = [&["compare", server, "sqlite"], workload, &HARDLY_SETTLES, &PLACES].concat();
    let mut running = Running::start(&sandbox, &arguments);
    running.wait_for(&Point::work(step));
    let of_this_test = processes_with(sandbox.path().to_str().unwrap());
    let (pid, _) = of_this_test.iter().find(|(_, line)| line.contains(program)).unwrap();
    signal(*pid, "KILL");
    let told = running.finish();
    let name = told.last("experiment_begins")["candidates"][0].as_str().unwrap();
    assert_eq!(told.exit_code(), Some(1), "{told}");
    let all = trials(&sandbox.path().join("s.sqlite"));
    let failed: Vec<&Trial> = all.iter().filter(|trial| !trial.is_complete()).collect();
    let [failed] = failed[..] else { panic!("{told}") };
    let is_of_step = |trial: &Trial| trial.candidate == name && trial.step.split('_').next() == Some(step);
    assert!(is_of_step(failed), "{} {}", failed.candidate, failed.step);
    let TrialStatus::Failed { reason, log_tail } = &failed.status else { unreachable!() };
    assert!(reason.contains("client 1 failed"), "{reason}");
    assert!(log_tail.contains(in_log), "{log_tail}");
    let mut stored = told.all("trial_stored");
    assert!(stored.any(|told| told["log_tail"] == *log_tail && told["reason"] == *reason), "{told}");
    assert_eq!(all.iter().filter(|trial| trial.candidate != name && trial.is_complete()).count(), steps);
    assert_nothing_runs(&sandbox.path().join("data"));

    // For people this time.
    let output = sandbox.output(&arguments);
    assert!(output.status.success(), "{}", sandbox.transcript(&output));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let found = all.len() - 1;
    assert!(said.contains(&format!("{found} of {} trials were already in s.sqlite", 2 * steps)), "{said}");
    let all = trials(&sandbox.path().join("s.sqlite"));
    assert_eq!(all.iter().filter(|trial| trial.is_complete()).count(), 2 * steps);
    let again = all.iter().find(|trial| is_of_step(trial) && trial.is_complete()).unwrap();
    assert!(again.warnings.iter().any(|warning| warning.contains("rebuilt")), "{:?}", again.warnings);
}

#[test]
fn a_postgres_that_dies_in_a_step_fails_its_trial_and_the_next_candidate_runs() {
    let ready = "database system is ready to accept connections";
    kill_server("postgres:17.11", "bin/postgres", ready, &SMALL, "qp100", 10);
}

/// A step that reads, and one that changes rows for long enough to be killed in it.
fn reads_and_writes() -> Vec<&'static str> {
    [&MICROBENCHMARKS[..], &["point-query,update-index", "--seconds", "2", "--warm-up-seconds", "0"]].concat()
}

#[test]
fn an_innodb_server_that_dies_in_a_step_fails_its_trial_and_the_next_candidate_runs() {
    kill_server("mysql:8.0.31", "mysqld", "ready for connections", &reads_and_writes(), "update-index", 3);
}

#[test]
fn a_rocksdb_server_that_dies_in_a_step_fails_its_trial_and_the_next_candidate_runs() {
    let server = "mariadb:10.11.18#rocksdb";
    kill_server(server, "mariadbd", "ready for connections", &reads_and_writes(), "update-index", 3);
}

#[test]
fn a_left_database_that_lacks_an_index_is_built_again() {
    let sandbox = Sandbox::new();
    let arguments = small_run(&["sqlite"]);
    let mut running = Running::start(&sandbox, &arguments);
    running.wait_for(&Point::phase("settle"));
    running.kill();
    let data = files_below(&sandbox.path().join("data"));
    let path = data.into_iter().find(|path| path.ends_with("ib.sqlite")).unwrap();
    // Rows and ids are all in their place, as after a rebuild that was cut short while it made indexes.
    let file = basecase_client::sqlite::File::bundled(path);
    basecase_client::Endpoint::Sqlite(file).connect().unwrap().query("drop index pi1_pdc").unwrap();
    let mut running = Running::start(&sandbox, &arguments);
    running.wait_for(&Point::trials(5));
    assert_eq!(running.told().last("phase")["phase"], "settle", "{}", running.told());
    assert!(running.told().all("phase").any(|phase| phase["reason"] == "had_begun"));
    running.kill();
    let all = trials(&sandbox.path().join("s.sqlite"));
    let first = all.iter().find(|trial| trial.step == "qr100").unwrap();
    assert!(first.warnings.iter().any(|warning| warning.contains("rebuilt")), "{:?}", first.warnings);
}
