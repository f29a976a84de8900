//! Verdicts on real servers, and what is made of them: exit codes for pipelines, histories, bisections, calibrations, causes and profiles. Apart
//! from tests that keep the machine busy, and with the times that measurements have.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::process::Stdio;

use basecase_load::SessionHistories;
use basecase_model::{Slice, Trial, names};
use basecase_tests::Sandbox;
use basecase_tests::disturbance::measured_again_if_disturbed;
use basecase_tests::running::{
    ONE_LOAD, ONE_SECOND, Running, SHORT_ROUNDS, SHORT_ROUNDS_OF_SEVERAL, by_round, in_rounds, point_queries,
    trials,
};
use basecase_workload::Dialect;
use serde_json::Value;

mod explained_settings;
mod planted_in_rounds;
mod profile;

/// The first is the fastest.
const VERSIONS: [&str; 4] = ["sqlite@wal_normal", "sqlite@./v0.conf", "sqlite@./v1.conf", "sqlite@./v2.conf"];

#[test]
fn defect_08_a_pipeline_turns_red_for_a_regression_whoever_reads_and_for_nothing_else() {
    measured_again_if_disturbed(a_regression_turns_a_pipeline_red);
}

fn a_regression_turns_a_pipeline_red() {
    let sandbox = Sandbox::new();
    // Reading locks the file anew for each query in rollback mode.
    for number in 0..3 {
        let cache = 65_536 + number;
        let text = format!("journal_mode = delete\nsynchronous = normal\ncache_size = -{cache}\n");
        sandbox.write(&format!("v{number}.conf"), &text);
    }
    let files = ["--junit", "j.xml", "--summary", "s.md"];
    // A change beyond a wide margin is told by few rounds.
    let gate_of = |margin: &'static str, files: &[&'static str]| {
        let more = [&["--detect", margin], &ONE_LOAD[..], &SHORT_ROUNDS, files].concat();
        in_rounds("gate", &[VERSIONS[0], VERSIONS[3]], &more)
    };
    let gate = |files: &[&'static str]| gate_of("10%", files);
    let slower = sandbox.output(&gate(&files));
    assert_eq!(slower.status.code(), Some(3), "{}", sandbox.transcript(&slower));
    let read = |name: &str| fs::read_to_string(sandbox.path().join(name)).unwrap();
    assert!(read("j.xml").contains("<failure message=\"regression, clear\""), "{}", read("j.xml"));
    assert!(read("s.md").starts_with("### 1 regression, 0 improvements"), "{}", read("s.md"));

    // What is stored is judged again and not measured again.
    let again = Running::to_end(&sandbox, &gate(&files));
    assert_eq!((again.exit_code(), &again.last("verdicts")["regressions"]), (Some(3), &1.into()), "{again}");
    assert_eq!(again.all("round_begins").count(), 0, "{again}");

    // Whatever becomes of standard output and of the files, the verdict is in the exit code.
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

    check_turns(&trials(&sandbox.path().join("s.sqlite")));
    assert!(!sandbox.path().join("data").read_dir().unwrap().any(|entry| {
        entry
            .unwrap()
            .path()
            .read_dir()
            .is_ok_and(|mut below| below.any(|entry| entry.unwrap().path().is_dir()))
    }));

    // What was agreed on before the first round stays.
    let other = sandbox.output(&gate_of("12%", &[]));
    let said = sandbox.transcript(&other);
    assert!(
        !other.status.success() && said.contains("fixed before the first") && said.contains("hint:"),
        "{said}"
    );
    the_same_store_gives_the_same_report(&sandbox);
    the_change_is_found_without_measuring_all_candidates(&sandbox);
    experiments_with_one_base_case_make_a_history_of_dates(&sandbox);
}

/// One slice at a time, as many of one candidate as of the other.
fn check_turns(all: &[Trial]) {
    let rounds = by_round(all, "point-query");
    assert_eq!(rounds.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    for (round, pair) in rounds {
        assert_eq!(pair.len(), 2, "round {round}");
        let positions = |trial: &Trial| trial.slices.iter().map(|slice| slice.position).collect::<Vec<_>>();
        let mut together = [positions(pair[0]), positions(pair[1])].concat();
        together.sort_unstable();
        let slices = together.len() as u32;
        assert_eq!(together, (0..slices).collect::<Vec<_>>(), "one slice at a time");
        let measured_us: f64 = pair.iter().flat_map(|trial| &trial.slices).map(|slice| slice.length_us).sum();
        assert!(slices >= 8 && pair[0].slices.len() == pair[1].slices.len());
        for trial in pair {
            // On a busy machine one or the other slice may pass without the client.
            let idle = trial.slices.iter().filter(|slice| slice.operations <= 20).count();
            assert!(5 * idle < trial.slices.len(), "{:?}", trial.slices);
            assert_eq!(trial.roles[0].items, trial.slices.iter().map(|slice| slice.operations).sum::<u64>());
            let round_s = trial.gauges.get(names::ROUND_SECONDS).unwrap();
            assert!(
                round_s > 1.0 && round_s > measured_us / 1e6,
                "{round_s} s, measured for {measured_us} µs"
            );
        }
    }
}

/// To the byte.
fn the_same_store_gives_the_same_report(sandbox: &Sandbox) {
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

/// A search whose first probe is the comparison that was measured before.
fn the_change_is_found_without_measuring_all_candidates(sandbox: &Sandbox) {
    let more = [&["--detect", "10%", "--json"], &ONE_LOAD[..], &SHORT_ROUNDS].concat();
    let search = in_rounds("bisect", &VERSIONS, &more);
    let output = sandbox.output(&search);
    assert!(output.status.success(), "{}", sandbox.transcript(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&found["is_found"], &found["before"], &found["since"]),
        (&true.into(), &VERSIONS[0].into(), &VERSIONS[1].into())
    );
    let of = |key: &str| -> Vec<Value> {
        found["candidates"].as_array().unwrap().iter().map(|candidate| candidate[key].clone()).collect()
    };
    assert_eq!(of("reading"), ["the first", "a change begins", "not measured", "measured"]);
    assert!(of("interval")[1][1].as_f64().unwrap() < 0.9, "{found:#}");

    // What was measured is not measured again. The last candidate now has the rounds of all probes.
    let again = sandbox.output(&search);
    let same: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&same["before"], &same["since"]), (&found["before"], &found["since"]));
    assert_eq!(same["candidates"][3]["rounds"], 10);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("round "), "{}", sandbox.transcript(&again));
}

/// The two probes of a search have the same base case.
fn experiments_with_one_base_case_make_a_history_of_dates(sandbox: &Sandbox) {
    let history = |more: &[&str]| {
        let list = [&["history", "s.sqlite", "--step", "point-query", "--json"], more].concat();
        serde_json::from_slice::<Value>(&sandbox.output(&list).stdout).unwrap()
    };
    let of_all = history(&["--dates"]);
    let versions: Vec<&str> =
        of_all["versions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let names: Vec<&str> = versions.iter().map(|label| label.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["sqlite3541.wal_normal", "sqlite3541.v2", "sqlite3541.v0"], "{of_all}");
    let step = &of_all["steps"][0];
    assert!(step["ratios"][1].as_f64().unwrap() < 0.9, "locking anew for each query: {step}");
    assert!(step["intervals"][2][0].as_f64().is_some(), "{step}");
    let changes = step["changes"].as_array().unwrap();
    assert!(changes.len() == 1 && changes[0]["since"] == versions[1], "{step}");
    assert_eq!(history(&[])["versions"].as_array().unwrap().len(), 3, "of the newest alone");

    let with_pages = |folder: &str| sandbox.output(&["history", "s.sqlite", "--dates", "--out", folder]);
    let written = with_pages("pages");
    let (text, page) = (String::from_utf8_lossy(&written.stdout), String::from_utf8_lossy(&written.stderr));
    assert!(text.contains(" since ") && page.contains("report: pages/index.html"), "{text}{page}");
    let front = std::fs::read_to_string(sandbox.path().join("pages/index.html")).unwrap();
    assert!(front.contains("history-point-query_range=100.html#change-1"), "{front}");
    let refused = with_pages(".");
    assert!(
        refused.status.code() == Some(1)
            && String::from_utf8_lossy(&refused.stderr).contains("\nhint: name a new"),
        "{}",
        sandbox.transcript(&refused)
    );

    // The rounds also tell what a single run is worth.
    let once = point_queries("compare", &VERSIONS[..2], &ONE_SECOND);
    let output = sandbox.output(&[&once[..], &["--json"]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let steps = report["steps"].as_array().unwrap().iter();
    let step = steps.rev().find(|step| step["step"].as_str().unwrap().starts_with("point-query")).unwrap();
    let (ratio, interval) = (&step["cells"][1]["relative"], &step["cells"][1]["interval"]);
    assert!(interval[0].as_f64() < ratio.as_f64() && ratio.as_f64() < interval[1].as_f64(), "{step:#}");
}

/// The statements that the sessions after the first executed before they were measured, each of which is a message. The first was open when
/// calls began to count.
fn messages_of_histories(trial: &Trial) -> u64 {
    let histories = SessionHistories::new(0, Dialect::Postgres, trial.roles.len());
    let messages = |seed: u64| histories.drawn_from(seed, 1, "client").set_up.len() as u64;
    trial.sessions.iter().skip(1).map(|session| messages(session.seed)).sum()
}

#[test]
fn a_planted_slowdown_is_found_in_a_server_and_the_same_server_is_not_slower() {
    measured_again_if_disturbed(the_planted_slowdown_is_found);
}

fn the_planted_slowdown_is_found() {
    let sandbox = Sandbox::new();
    let settings = ["--set", "shared_buffers=128MB", "--plant", "16%,16%:every=50", "--detect", "8%"];
    let more = [&settings[..], &ONE_LOAD, &SHORT_ROUNDS_OF_SEVERAL].concat();
    let list = in_rounds("calibrate", &["postgres:18.6"], &more);
    let output = sandbox.output(&list);
    assert!(output.status.success(), "{}", sandbox.transcript(&output));
    let report =
        sandbox.output(&["report", "s.sqlite", "--experiment", "calibration", "--format", "json"]).stdout;
    let all = trials(&sandbox.path().join("s.sqlite"));
    // The newest experiment has the base, the same again, the slower one, and one that is as slow on average.
    let rounds = by_round(&all, "point-query");
    assert_eq!(rounds.len(), 5);
    let (mut planted, mut at_times, mut nothing) = (Vec::new(), Vec::new(), Vec::new());
    for trials in rounds.values() {
        let [slower, at_times_slower, base, same] = trials[..] else { panic!("{} candidates", trials.len()) };
        assert!(base.candidate.ends_with("_base") && same.candidate.ends_with("_same"), "{}", base.candidate);
        assert!(slower.candidate.ends_with("_16pc") && at_times_slower.candidate.ends_with("_16pc_every50"));
        let per_call = |trial: &Trial| {
            let calls = trial.gauges.get(names::PLANTED_CALLS).unwrap();
            let statements: u64 = trial.statements.iter().map(|record| record.whole().executed).sum();
            // Beside them and the histories of further sessions, only what opens the sessions and looks at the tables.
            let known = (statements + messages_of_histories(trial)) as f64;
            assert!(
                calls >= known && calls < known + 200.0,
                "{calls} of {statements}, {known} with histories"
            );
            trial.gauges.get(names::PLANTED_US).unwrap() / calls
        };
        planted.push(per_call(slower) - per_call(base));
        at_times.push(per_call(at_times_slower) - per_call(base));
        nothing.push(per_call(same) - per_call(base));
        for trial in [slower, at_times_slower, base, same] {
            // On a busy machine a slice may pass in which the server has no processor, and answers nothing.
            let worked =
                |slice: &Slice| slice.server_cpu_us.is_some_and(|cpu| cpu > 0.0 || slice.operations == 0);
            assert!(trial.slices.iter().all(worked));
            // What the load left has been vacuumed: else how much of it was decides how fast queries are that an index covers.
            assert!(trial.gauges.get("end.debt.pages_not_all_visible").unwrap() <= 1.0);
            assert_eq!(trial.counters.get(names::HOST_CPU_USER_US), None, "the host worked for all of them");
        }
    }
    assert!(planted.iter().all(|planted_us| (0.6..40.0).contains(planted_us)), "{planted:?}");
    // In a single round a neighbour can be in the way.
    nothing.sort_by(f64::total_cmp);
    assert!(nothing[nothing.len() / 2].abs() < 0.2, "nothing was planted there: {nothing:?}");
    let ratio = at_times.iter().sum::<f64>() / planted.iter().sum::<f64>();
    assert!((0.5..2.0).contains(&ratio), "{planted:?}, {at_times:?}");
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert!(report["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |tag: &str| text.lines().find(|line| line.contains(tag)).unwrap().to_owned();
    assert!(line("_16pc ").contains("regression") && line("_16pc_every50").contains("regression"), "{text}");
    assert!(!line("_same").contains("regression"), "{text}");
}
