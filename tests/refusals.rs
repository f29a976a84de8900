//! What tests of mistakes share: a refusal and what must be true after it.

use std::fs;
use std::process::Output;

use basecase_store::Store;
use basecase_tests::Sandbox;

/// The transcript of `basecase compare` with these arguments, which must be refused before anything is measured.
pub(crate) fn compare(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let arguments = [&["compare"], arguments, &["--store", "s.sqlite", "--data", "data"]].concat();
    refusal(sandbox, &sandbox.output(&arguments))
}

/// Checks that `output` is a refusal as it should be, and returns its transcript.
pub(crate) fn refusal(sandbox: &Sandbox, output: &Output) -> String {
    let transcript = sandbox.transcript(output);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{transcript}");
    assert!(output.stdout.is_empty(), "what went wrong is no data: {transcript}");
    let message = String::from_utf8_lossy(&output.stderr);
    let begins = message.lines().filter(|line| line.starts_with("error: ")).count();
    assert_eq!(begins, 1, "{transcript}");
    if output.status.code() == Some(1) {
        assert!(message.lines().last().unwrap().starts_with("hint: "), "{transcript}");
    }
    assert_nothing_happened(sandbox);
    transcript
}

/// No trial is stored, complete or failed, and no server runs in the sandbox or has left data there.
fn assert_nothing_happened(sandbox: &Sandbox) {
    if let Ok(store) = Store::open_read_only(&sandbox.path().join("s.sqlite")) {
        for experiment in store.experiments().unwrap() {
            assert!(store.trials(&experiment.id).unwrap().is_empty());
        }
    }
    for experiment in fs::read_dir(sandbox.path().join("data")).into_iter().flatten().flatten() {
        assert_eq!(fs::read_dir(experiment.path()).unwrap().count(), 0, "{experiment:?}");
    }
    let data = sandbox.path().join("data");
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(!line.contains(data.to_str().unwrap()), "left over: {line}");
    }
}
