//! Experiments in rounds: verdicts on real servers, exit codes for pipelines, and what kills in between leave.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use basecase_model::{PROTOCOL_REVISION, Trial, names};
use basecase_tests::{Sandbox, program};
use serde_json::Value;

use crate::running::{Running, assert_nothing_runs, trials};

/// Point queries in the fewest rounds that can decide anything.
const POINT_QUERIES: [&str; 10] = [
    "--workload",
    "microbenchmarks",
    "--list",
    "point-query",
    "--option",
    "rows=5000",
    "--rounds",
    "5",
    "--store",
    "s.sqlite",
];

fn arguments<'a>(command: &'a str, candidates: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&[command], candidates, &POINT_QUERIES, &["--data", "data"], more].concat()
}

/// The same run once, for a second a step.
fn arguments_of_one_run<'a>(candidates: &[&'a str]) -> Vec<&'a str> {
    let in_rounds = arguments("compare", candidates, &["--seconds", "1"]);
    in_rounds.into_iter().filter(|word| !["--rounds", "5"].contains(word)).collect()
}

/// The trials of a step by round, in the order of the candidates' names.
fn by_round<'a>(trials: &'a [Trial], step: &str) -> BTreeMap<u32, Vec<&'a Trial>> {
    let mut rounds: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
    // Steps of workload files have their options behind their names.
    let is_of = |trial: &&Trial| trial.step.split('_').next() == Some(step);
    for trial in trials.iter().filter(is_of) {
        rounds.entry(trial.place.round).or_default().push(trial);
    }
    rounds.values_mut().for_each(|trials| trials.sort_by(|one, other| one.candidate.cmp(&other.candidate)));
    rounds
}

#[test]
fn defect_08_a_pipeline_turns_red_for_a_regression_whoever_reads_and_for_nothing_else() {
    let sandbox = Sandbox::new();
    let files = ["--junit", "j.xml", "--summary", "s.md"];
    // Reading locks the file anew for each query in rollback mode.
    let slower = sandbox.output(&arguments("gate", &["sqlite@wal_normal", "sqlite@rollback_full"], &files));
    assert_eq!(slower.status.code(), Some(3), "{}", sandbox.transcript(&slower));
    let read = |name: &str| fs::read_to_string(sandbox.path().join(name)).unwrap();
    assert!(read("j.xml").contains("<failure message=\"regression, clear\""), "{}", read("j.xml"));
    assert!(read("s.md").starts_with("### 1 regression, 0 improvements"), "{}", read("s.md"));

    // What is stored is judged again and not measured again; the other way round it is an improvement, in another experiment.
    let again = sandbox.output(&arguments("gate", &["sqlite@wal_normal", "sqlite@rollback_full"], &files));
    assert_eq!(again.status.code(), Some(3));
    assert!(!String::from_utf8_lossy(&again.stderr).contains("round 6"), "{}", sandbox.transcript(&again));

    // Whatever becomes of standard output and of the files, the verdict is in the exit code.
    let gate =
        |files: &[&'static str]| arguments("gate", &["sqlite@wal_normal", "sqlite@rollback_full"], files);
    let mut child =
        sandbox.command(&gate(&files)).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3), "nobody reads");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = sandbox.command(&gate(&["--junit", "/dev/full"])).stdout(full).output().unwrap();
    let told = sandbox.transcript(&output);
    assert!(told.starts_with("exit code 3\n"), "{told}");
    for what in ["to standard output", "/dev/full"] {
        assert!(told.contains(&format!("error: cannot write {what}")), "{told}");
    }

    let all = trials(&sandbox.path().join("s.sqlite"));
    for (round, pair) in by_round(&all, "point-query") {
        assert_eq!(pair.len(), 2, "round {round}");
        let positions = |trial: &Trial| trial.slices.iter().map(|slice| slice.position).collect::<Vec<_>>();
        let mut together = [positions(pair[0]), positions(pair[1])].concat();
        together.sort_unstable();
        let slices = together.len() as u32;
        assert_eq!(together, (0..slices).collect::<Vec<_>>(), "one slice at a time");
        assert!(slices >= 8 && pair[0].slices.len() == pair[1].slices.len());
        for trial in pair {
            assert!(trial.slices.iter().all(|slice| slice.operations > 20), "{:?}", trial.slices);
            assert_eq!(trial.roles[0].items, trial.slices.iter().map(|slice| slice.operations).sum::<u64>());
            assert!(trial.gauges.get(names::ROUND_SECONDS).unwrap() > 5.0);
        }
    }
    assert!(!sandbox.path().join("data").read_dir().unwrap().any(|entry| {
        entry
            .unwrap()
            .path()
            .read_dir()
            .is_ok_and(|mut below| below.any(|entry| entry.unwrap().path().is_dir()))
    }));
}

#[test]
fn experiments_with_one_base_case_make_a_history_of_dates() {
    let sandbox = Sandbox::new();
    sandbox.write("later.conf", "journal_mode = wal\nsynchronous = normal\ncache_size = -65536\n");
    let measure = |candidate: &str| {
        let output = sandbox.output(&arguments("compare", &["sqlite@wal_normal", candidate], &[]));
        assert!(output.status.success(), "{}", sandbox.transcript(&output));
    };
    measure("sqlite@rollback_full");
    measure("sqlite@./later.conf");
    let history = |more: &[&str]| {
        let list = [&["history", "s.sqlite", "--step", "point-query", "--json"], more].concat();
        serde_json::from_slice::<Value>(&sandbox.output(&list).stdout).unwrap()
    };
    let of_all = history(&["--dates"]);
    let versions: Vec<&str> =
        of_all["versions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let names: Vec<&str> = versions.iter().map(|label| label.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["sqlite3541.wal_normal", "sqlite3541.rollback_full", "sqlite3541.later"], "{of_all}");
    let step = &of_all["steps"][0];
    assert!(step["ratios"][1].as_f64().unwrap() < 0.9, "locking anew for each query: {step}");
    assert!(step["intervals"][2][0].as_f64().is_some(), "{step}");
    let changes = step["changes"].as_array().unwrap();
    assert!(changes.len() == 1 && changes[0]["since"] == versions[2], "{step}");
    assert_eq!(history(&[])["versions"].as_array().unwrap().len(), 2, "of the newest alone");

    // The rounds also tell what a single run is worth.
    let once = arguments_of_one_run(&["sqlite@wal_normal", "sqlite@./later.conf"]);
    let output = sandbox.output(&[&once[..], &["--json"]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let steps = report["steps"].as_array().unwrap().iter();
    let step = steps.rev().find(|step| step["step"].as_str().unwrap().starts_with("point-query")).unwrap();
    let (ratio, interval) = (&step["cells"][1]["relative"], &step["cells"][1]["interval"]);
    assert!(interval[0].as_f64() < ratio.as_f64() && ratio.as_f64() < interval[1].as_f64(), "{step:#}");
}

#[test]
fn a_change_is_found_without_measuring_all_candidates() {
    let sandbox = Sandbox::new();
    let mut candidates: Vec<String> = vec!["sqlite@wal_normal".into()];
    for number in 0..3 {
        let text =
            format!("journal_mode = delete\nsynchronous = normal\ncache_size = -{}\n", 65_536 + number);
        sandbox.write(&format!("v{number}.conf"), &text);
        candidates.push(format!("sqlite@./v{number}.conf"));
    }
    let names: Vec<&str> = candidates.iter().map(String::as_str).collect();
    let output = sandbox.output(&arguments("bisect", &names, &["--json"]));
    assert!(output.status.success(), "{}", sandbox.transcript(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Reading locks the file anew for each query in rollback mode.
    assert_eq!(
        (&found["is_found"], &found["before"], &found["since"]),
        (&true.into(), &names[0].into(), &names[1].into())
    );
    let of = |key: &str| -> Vec<Value> {
        found["candidates"].as_array().unwrap().iter().map(|candidate| candidate[key].clone()).collect()
    };
    assert_eq!(of("reading"), ["the first", "like the last", "not measured", "like the last"]);
    assert!(of("interval")[1][1].as_f64().unwrap() < 0.9, "{found:#}");

    // What was measured is not measured again. The last candidate now has the rounds of all probes.
    let again = sandbox.output(&arguments("bisect", &names, &["--json"]));
    let same: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&same["before"], &same["since"]), (&found["before"], &found["since"]));
    assert_eq!(same["candidates"][3]["rounds"], 10);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("round "), "{}", sandbox.transcript(&again));
}

#[test]
fn a_planted_slowdown_is_found_in_a_server_and_the_same_server_is_not_slower() {
    let sandbox = Sandbox::new();
    let settings = ["--set", "shared_buffers=128MB", "--plant", "8%,8%:every=50"];
    let list = arguments("calibrate", &["postgres:18.6"], &settings);
    let output = sandbox.output(&list);
    assert!(output.status.success(), "{}", sandbox.transcript(&output));
    let report =
        sandbox.output(&["report", "s.sqlite", "--experiment", "calibration", "--format", "json"]).stdout;
    let all = trials(&sandbox.path().join("s.sqlite"));
    // The newest experiment has the base, the same again, the slower one, and one that is as slow on average.
    let rounds = by_round(&all, "point-query");
    assert_eq!(rounds.len(), 5);
    let (mut planted, mut at_times) = (Vec::new(), Vec::new());
    for trials in rounds.values() {
        let [slower, at_times_slower, base, same] = trials[..] else { panic!("{} candidates", trials.len()) };
        assert!(base.candidate.ends_with("_base") && same.candidate.ends_with("_same"), "{}", base.candidate);
        assert!(slower.candidate.ends_with("_8pc") && at_times_slower.candidate.ends_with("_8pc_every50"));
        let per_call = |trial: &Trial| {
            let calls = trial.gauges.get(names::PLANTED_CALLS).unwrap();
            let statements: u64 = trial.statements.iter().map(|record| record.whole().executed).sum();
            // Beside them, only what opens the sessions and looks at the tables.
            assert!(
                calls >= statements as f64 && calls < statements as f64 + 200.0,
                "{calls} of {statements}"
            );
            trial.gauges.get(names::PLANTED_US).unwrap() / calls
        };
        planted.push(per_call(slower) - per_call(base));
        at_times.push(per_call(at_times_slower) - per_call(base));
        assert!((per_call(same) - per_call(base)).abs() < 0.2, "nothing was planted there");
        for trial in [slower, at_times_slower, base, same] {
            assert!(trial.slices.iter().all(|slice| slice.server_cpu_us.is_some_and(|cpu| cpu > 0.0)));
            // What the load left has been vacuumed: else how much of it was decides how fast queries are that an index covers.
            assert!(trial.gauges.get("end.debt.pages_not_all_visible").unwrap() <= 1.0);
            assert_eq!(trial.counters.get(names::HOST_CPU_USER_US), None, "the host worked for all of them");
        }
    }
    assert!(planted.iter().all(|planted_us| (0.3..20.0).contains(planted_us)), "{planted:?}");
    let ratio = at_times.iter().sum::<f64>() / planted.iter().sum::<f64>();
    assert!((0.5..2.0).contains(&ratio), "{planted:?}, {at_times:?}");
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert!(report["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |tag: &str| text.lines().find(|line| line.contains(tag)).unwrap().to_owned();
    assert!(line("_8pc ").contains("regression") && line("_8pc_every50").contains("regression"), "{text}");
    assert!(!line("_same").contains("regression"), "{text}");
}

#[test]
fn what_a_step_that_writes_puts_off_is_paid_after_it_and_told() {
    let sandbox = Sandbox::new();
    let list = ["--workload", "microbenchmarks", "--list", "update-nonindex", "--rows", "5000"];
    // A vacuum of the server's own would pay before it is asked to.
    let settings = ["--set", "shared_buffers=128MB", "--set", "autovacuum=off"];
    let places = ["--store", "s.sqlite", "--data", "data"];
    let candidates = ["compare", "postgres:18.6", "postgres:18.6", "--rounds", "5"];
    let output = sandbox.output(&[&candidates[..], &list, &settings, &places].concat());
    assert!(output.status.success(), "{}", sandbox.transcript(&output));
    let all = trials(&sandbox.path().join("s.sqlite"));
    for (round, pair) in by_round(&all, "update-nonindex") {
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
    assert!(page.contains("With what was put off"), "{page}");
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
fn killed_rounds_go_on_and_none_is_lost_or_run_twice() {
    let sandbox = Sandbox::new();
    let store = sandbox.path().join("s.sqlite");
    let list = arguments("compare", &["sqlite@wal_normal", "sqlite@rollback_full"], &[]);
    let mut seen: BTreeMap<(String, u32, String), String> = BTreeMap::new();
    let mut remember = |trials: Vec<Trial>| {
        for trial in trials {
            let key = (trial.step.clone(), trial.place.round, trial.candidate.clone());
            let first = seen.entry(key).or_insert(trial.started_at.clone());
            assert_eq!(*first, trial.started_at, "{} {} was run twice", trial.candidate, trial.step);
        }
    };
    for (text, delay_ms) in [("keeping its data", 0), ("round 2  point", 1_000), ("round 4: ", 0)] {
        let mut running = Running::start(&sandbox, &list);
        assert!(running.wait_for(text), "the run ended before {text:?}: {}", running.said());
        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
        running.kill();
        assert_nothing_runs(&sandbox.path().join("data"));
        remember(trials(&store));
    }
    let (success, said) = Running::start(&sandbox, &list).finish();
    assert!(success, "{said}");
    let all = trials(&store);
    remember(all.clone());
    let rounds = by_round(&all, "point-query");
    assert_eq!(rounds.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(rounds.values().all(|pair| pair.len() == 2));

    // What was agreed on before the first round stays.
    let other = sandbox.output(&[&list[..], &["--detect", "5%"]].concat());
    let said = sandbox.transcript(&other);
    assert!(
        !other.status.success() && said.contains("fixed before the first") && said.contains("hint:"),
        "{said}"
    );

    // The same store gives the same report, to the byte.
    let pages = |folder: &str| {
        let output = sandbox.output(&["report", "s.sqlite", "--out", folder]);
        assert!(output.status.success(), "{}", sandbox.transcript(&output));
        let mut files: Vec<_> = fs::read_dir(sandbox.path().join(folder)).unwrap().flatten().collect();
        files.sort_by_key(fs::DirEntry::file_name);
        let files = files.into_iter().filter(|file| file.path().is_file());
        files.map(|file| fs::read(file.path()).unwrap()).collect::<Vec<_>>()
    };
    assert!(pages("one") == pages("two"));
}

#[test]
fn what_cannot_run_in_rounds_is_refused_before_any_work() {
    let sandbox = Sandbox::new();
    let refused = |candidates: &[&str], more: &[&str], wanted: &str| {
        let output = sandbox.output(&arguments("compare", candidates, more));
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
    let calibrate = sandbox.output(&arguments("calibrate", &["sqlite"], &[]));
    assert!(String::from_utf8_lossy(&calibrate.stderr).contains("nothing can be planted"));
    let crowd = sandbox.output(&arguments("calibrate", &["postgres:18.6"], &["--threads", "16"]));
    assert!(String::from_utf8_lossy(&crowd.stderr).contains("opens 16 connections"));
    let same_seed = ["--repeat", "2", "--option", "seed=5"];
    let repeated = sandbox.output(&arguments("calibrate", &["postgres:18.6"], &same_seed));
    assert!(String::from_utf8_lossy(&repeated.stderr).contains("--repeat takes a seed of its own"));
    assert!(trials(&sandbox.path().join("s.sqlite")).is_empty());
}

/// The process number of the Postgres server that runs in one of the slots.
fn postgres_pid(data: &Path) -> Option<String> {
    let experiments = fs::read_dir(data).ok()?.flatten();
    let slots = experiments.filter_map(|experiment| fs::read_dir(experiment.path().join("slots")).ok());
    let files = slots.flatten().flatten().map(|slot| slot.path().join("data/postmaster.pid"));
    let pid = |path| Some(fs::read_to_string(path).ok()?.lines().next()?.to_owned());
    files.into_iter().find_map(pid)
}

#[test]
fn a_candidate_that_fails_leaves_the_others_their_verdicts() {
    let sandbox = Sandbox::new();
    let candidates = ["sqlite@wal_normal", "sqlite@rollback_full", "postgres:18.6"];
    let list = arguments("compare", &candidates, &["--set", "shared_buffers=64MB"]);
    let mut running = Running::start(&sandbox, &list);
    assert!(running.wait_for("round 2  point"), "the run ended before: {}", running.said());
    let pid = postgres_pid(&sandbox.path().join("data")).unwrap();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let (success, said) = running.finish();
    assert!(!success && said.contains("failed: pg186"), "{said}");
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
    assert!(has(["sqlite3541.rollback_full", "regression"]), "{text}");
    assert!(has(["pg186", "failed"]), "{text}");
}

#[test]
fn a_candidate_that_is_named_again_is_measured_against_itself() {
    let sandbox = Sandbox::new();
    let list = arguments("compare", &["sqlite@wal_normal", "sqlite@wal_normal"], &[]);
    let output = sandbox.output(&list);
    assert!(output.status.success(), "{}", sandbox.transcript(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("against itself: sqlite3541.wal_normal_again"), "{text}");
    assert_eq!(by_round(&trials(&sandbox.path().join("s.sqlite")), "point-query").len(), 5);
}

#[test]
fn what_was_measured_otherwise_is_kept_apart_and_said() {
    let sandbox = Sandbox::new();
    let list = arguments_of_one_run(&["sqlite@wal_normal", "sqlite@rollback_full"]);
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
    let sizes = ["--rows", "2000", "--writes", "200", "--seconds", "1", "--budget", "1s"];
    let list = [&["compare"], &candidates[..], &sizes, &["--store", "s.sqlite", "--data", "data"]].concat();
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
        &["--rows", "20000", "--writes", "4000", "--seconds", "3", "--budget", "1s"],
        &["--store", "s.sqlite", "--data", "data"],
    ]
    .concat();
    for text in ["round 1  l.i1", "round 1  qp100"] {
        let mut running = Running::start(&sandbox, &list);
        assert!(running.wait_for(text), "the run ended before {text:?}: {}", running.said());
        std::thread::sleep(std::time::Duration::from_millis(500));
        running.kill();
        // One of the two stood still, and had to go on to stop.
        assert_nothing_runs(&sandbox.path().join("data"));
    }
    let (success, said) = Running::start(&sandbox, &list).finish();
    assert!(success, "{said}");
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
                assert!((2.9..4.5).contains(&trial.seconds), "{step}: {}", trial.seconds);
            }
        }
        let passes = |trial: &Trial| trial.slices.iter().map(|slice| slice.pass).collect::<Vec<_>>();
        // By the clock, one may need a portion more than the other to come to its end.
        let both = passes(pair[0]).len().min(passes(pair[1]).len());
        assert_eq!(passes(pair[0])[..both], passes(pair[1])[..both], "{step}");
        assert!(both >= 4 || !step.starts_with('q'), "{step}: {:?}", pair[0].slices);
        assert_eq!(passes(pair[0]).is_empty(), step == "l.x");
        if step.starts_with("l.i") {
            let rows = |trial: &Trial| trial.slices.iter().map(|slice| slice.operations).collect::<Vec<_>>();
            assert_eq!(rows(pair[0]), rows(pair[1]), "{step}: equally old in every portion");
            assert_eq!(rows(pair[0]).iter().sum::<u64>(), pair[0].roles[1].items);
        }
    }
}
