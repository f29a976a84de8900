//! What reaches people and pipelines: exit codes, tables, texts.

use std::process::{Child, Command, ExitStatus, Stdio};

use basecase_tests::Sandbox;
use basecase_tests::running::{ONE_SECOND, point_queries};

/// Point queries in one run.
fn one_run() -> Vec<&'static str> {
    point_queries("compare", &["sqlite@wal_normal"], &ONE_SECOND)
}

/// How the program ends when nobody reads what it prints.
fn without_reader(sandbox: &Sandbox, arguments: &[&str]) -> ExitStatus {
    let mut child = sandbox.command(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    child.wait().unwrap()
}

// That of a regression is in `tests/rounds.rs`, which measures one anyway.
#[test]
fn defect_08_a_failure_is_in_the_exit_code_without_a_reader() {
    let sandbox = Sandbox::new();
    assert!(without_reader(&sandbox, &one_run()).success());
    assert!(sandbox.path().join("basecase-report/index.html").exists(), "pages are written without a reader");
    assert!(without_reader(&sandbox, &["store", "verify", "s.sqlite"]).success());

    let store = rusqlite::Connection::open(sandbox.path().join("s.sqlite")).unwrap();
    store.execute_batch("update trial set warnings = 'none'").unwrap();
    drop(store);
    assert_eq!(without_reader(&sandbox, &["store", "verify", "s.sqlite"]).code(), Some(1));
}

#[test]
fn defect_08_a_file_that_gate_cannot_write_is_refused_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let gate = ["gate", "sqlite@wal_normal", "sqlite@rollback_full", "--store", "s.sqlite"];
    for option in ["--junit", "--summary"] {
        let output = sandbox.output(&[&gate[..], &[option, "missing/verdicts"]].concat());
        let told = sandbox.transcript(&output);
        assert!(
            told.starts_with("exit code 1\n") && told.contains("cannot write missing/verdicts"),
            "{told}"
        );
        assert!(!sandbox.path().join("s.sqlite").exists(), "{told}");
    }
}

#[test]
fn defect_06_messages_and_what_stores_hold_cannot_steer_the_terminal() {
    let sandbox = Sandbox::new();
    let output = sandbox.output(&["report", "no\u{1b}[31m\u{202e}such\r.sqlite"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("no[U+001B][31m[U+202E]such[U+000D].sqlite"), "{told:?}");

    assert!(sandbox.output(&one_run()).status.success());
    let store = rusqlite::Connection::open(sandbox.path().join("s.sqlite")).unwrap();
    let name = "=1+1\u{1b}]0;title\u{7}\u{9b}2J\u{202e}";
    assert_eq!(
        store.execute("update experiment set facts = json_set(facts, '$.name', ?1)", [name]).unwrap(),
        1
    );
    drop(store);
    let shown: [&[&str]; 8] = [
        &["store", "show", "s.sqlite"],
        &["store", "ls", "s.sqlite"],
        &["store", "ls", "s.sqlite", "--json"],
        &["report", "s.sqlite", "--format", "text"],
        &["report", "s.sqlite", "--format", "md"],
        &["report", "s.sqlite", "--format", "blog"],
        &["report", "s.sqlite", "--format", "csv"],
        &["report", "s.sqlite", "--format", "json"],
    ];
    for arguments in shown {
        let output = sandbox.output(arguments);
        assert!(output.status.success(), "{}", sandbox.transcript(&output));
        let text = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
        let is_hidden = |letter: char| letter != '\n' && letter.is_control() || letter == '\u{202e}';
        assert!(!text.contains(is_hidden), "{arguments:?}: {text:?}");
    }
    let output = sandbox.output(&["store", "ls", "s.sqlite", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed[0]["name"], name, "documents for machines say what was there");
}

/// Processes that keep processors busy until they are dropped.
struct Hogs(Vec<Child>);

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

#[test]
fn defect_26_a_single_run_beside_other_work_has_a_warning() {
    let sandbox = Sandbox::new();
    let hog = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let hogs = Hogs(vec![hog(), hog()]);
    let output = sandbox.output(&one_run());
    drop(hogs);
    let told = sandbox.transcript(&output);
    assert!(told.contains("the machine was busy: others used"), "{told}");
}
