//! `doctor` on the machine of the tests, whatever that is like, and what a run says of it.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use basecase_tests::running::{PLACES, SMALL};
use basecase_tests::{Sandbox, program};
use serde_json::{Value, json};

use crate::schema::Schema;

const SEVERITIES: [&str; 4] = ["disturbs", "limits", "unknown", "fine"];

fn severity(finding: &Value) -> usize {
    let told = finding["severity"].as_str();
    SEVERITIES.iter().position(|name| Some(*name) == told).unwrap()
}

/// Every finding has what a program needs, and their order is the one that is documented.
fn check_findings(examination: &Value) {
    let findings = examination["findings"].as_array().unwrap();
    for finding in findings {
        assert!(!finding["found"].as_str().unwrap().is_empty(), "{finding}");
        let needs_advice = ["disturbs", "limits"].contains(&finding["severity"].as_str().unwrap());
        assert_eq!(finding["advice"].is_string(), needs_advice, "{finding}");
        assert!(finding["values"].as_object().unwrap().values().all(Value::is_number), "{finding}");
    }
    let names: BTreeSet<&str> = findings.iter().map(|finding| finding["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), findings.len(), "a name twice: {examination:#}");
    for name in
        ["governor", "steal", "swap", "huge pages", "ASLR", "clock", "disk space", "sync", "neighbours"]
            .into_iter()
            .chain(["canary", "timer", "clients", "compilers", "valgrind", "perf counter", "control groups"])
    {
        assert!(names.contains(name), "{name}: {examination:#}");
    }
    for pair in findings.windows(2) {
        let share = |finding: &Value| finding["share"].as_f64().unwrap_or(-1.0);
        let (one, other) = ((severity(&pair[0]), -share(&pair[0])), (severity(&pair[1]), -share(&pair[1])));
        assert!(one <= other, "{:#} before {:#}", pair[0], pair[1]);
    }
    for (number, name) in SEVERITIES.iter().enumerate() {
        let count = findings.iter().filter(|finding| severity(finding) == number).count();
        assert_eq!(examination[*name], Value::from(count));
    }
}

#[test]
fn this_machine_is_examined_for_programs_and_for_people() {
    let sandbox = Sandbox::new();
    let started = |arguments: &[&str]| {
        sandbox.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // Side by side, for each takes a while. No file can be made in /proc, which is told and no failure.
    let for_programs = started(&["doctor", "--json", "--data", "data"]);
    let for_people = started(&["doctor", "--data", "/proc/no-such-folder"]);
    let (json, text) = (for_programs.wait_with_output().unwrap(), for_people.wait_with_output().unwrap());
    assert_eq!(json.status.code(), Some(0), "{}", sandbox.transcript(&json));
    let examination: Value = serde_json::from_slice(&json.stdout).unwrap();
    check_findings(&examination);
    Schema::named("doctor").assert_refuses(&examination, "/findings/0/severity", json!("awful"));
    assert_eq!(examination["data"], "data");
    let finding = |name: &str| {
        let findings = examination["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["name"] == name).unwrap()["values"].clone()
    };
    assert!(finding("canary")["readings"].as_f64().unwrap() > 10.0, "{}", finding("canary"));
    assert!(finding("sync")["median_us"].as_f64().unwrap() > 0.0, "{}", finding("sync"));
    assert_eq!(fs::read_dir(sandbox.path()).unwrap().count(), 0, "something was left");

    assert_eq!(text.status.code(), Some(0), "{}", sandbox.transcript(&text));
    assert!(String::from_utf8_lossy(&text.stderr).contains("watching the processors"));
    let text = String::from_utf8(text.stdout).unwrap();
    // A path longer than that stands on a line of its own.
    let is_short = |line: &str| line.chars().count() <= 80 || line.split_whitespace().count() == 1;
    assert!(text.lines().all(is_short), "{text}");
    assert!(text.lines().next().unwrap().contains("measurements here"), "{text}");
    let (_, unknown) = text.split_once("\nUnknown\n").unwrap();
    assert!(unknown.contains("a file in /proc cannot be written: "), "{text}");
}

#[test]
fn a_run_says_what_disturbs_it_once() {
    let sandbox = Sandbox::new();
    // The one fault that any user can plant for a single process.
    let mut command = Command::new("nice");
    command.args(["-n", "5"]).arg(program()).args(["compare", "sqlite@wal_normal"]).args(SMALL).args(PLACES);
    let output = command.current_dir(sandbox.path()).stdin(Stdio::null()).output().unwrap();
    let progress = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{progress}");
    let said: Vec<&str> =
        progress.lines().filter(|line| line.starts_with("disturbs measurements here: ")).collect();
    // A machine may have two that are worse.
    let is_full = said.len() == 2;
    assert!(is_full || said.len() == 1 && said[0].contains("niceness: +5: "), "{progress}");
    assert!(said.last().unwrap().ends_with("; see basecase doctor"), "{progress}");
    assert!(!sandbox.transcript(&output).contains("disturbs measurements here"));
}
