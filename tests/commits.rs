//! Commits as candidates: the one that made a query slower, and what bad input gets.

use basecase_tests::Sandbox;
use basecase_tests::running::PLACES;
use basecase_tests::sqlite_repository::{QUERY, Repository, flags};
use serde_json::Value;

use crate::counts::{CALLGRIND, can_count};
use crate::refusals::refusal;

#[test]
fn the_commit_that_made_a_query_slower_is_named_and_one_that_does_not_compile_is_passed_over() {
    let sandbox = Sandbox::new();
    let repository = Repository::new(&sandbox);
    let first = repository.commit("Import", 0, "");
    repository.commit("Remark", 0, "");
    repository.commit("Break it", 0, "#error not today");
    let before = repository.commit("Mend it", 0, "");
    let since = repository.commit("Check each row more carefully", 100, "");
    repository.commit("Remark again", 100, "");
    let flags = flags(&sandbox);
    let range = format!("{first}..main");
    let search =
        ["bisect", "git:r", &range, "--counts", "--no-confirmation", "--json", "--build-flags", &flags];
    let arguments = [&search[..], &QUERY, &CALLGRIND, &PLACES].concat();
    if !can_count(&sandbox, &arguments) {
        return;
    }
    let output = sandbox.output(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let change = &found["changes"][0];
    assert_eq!((&change["before"], &change["since"]), (&Value::from(before), &Value::from(since)), "{found}");
    assert_eq!((&change["is_exact"], &found["is_found"]), (&true.into(), &true.into()));
    assert_eq!(change["commit"]["subject"], "Check each row more carefully");
    assert_eq!(change["movers"][0]["function"], "sqlite3_step", "{found}");
    assert!(change["ratio"].as_f64().unwrap() > 1.0);
    let again = sandbox.output(&[&arguments[..], &["--out", "again"]].concat());
    let told: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(told["changes"], found["changes"], "nothing is counted again, and the pages are written");
    assert!(sandbox.path().join("again/bisection.html").is_file(), "{}", sandbox.transcript(&again));
}

#[test]
fn what_is_no_range_or_no_commit_is_refused_before_anything_is_compiled() {
    let sandbox = Sandbox::new();
    let repository = Repository::new(&sandbox);
    repository.commit("Import", 0, "");
    repository.commit("Remark", 0, "");
    let refused = |arguments: &[&str]| {
        refusal(&sandbox, &sandbox.output(&[arguments, &["--workload", "microbenchmarks"], &PLACES].concat()))
    };
    let words = refused(&["compare", "git:r", "main~1..main"]);
    assert!(
        words.contains("main~1..main is a range of commits, and candidates are one build each"),
        "{words}"
    );
    let words = refused(&["compare", "sqlite", "--build-flags", "-O1"]);
    assert!(words.contains("are for candidates that are commits, and there is none"), "{words}");
    let search = |range: &str| refused(&["bisect", "git:r", range, "--list", "point-query", "--counts"]);
    let words = search("main..main~1");
    assert!(words.contains("main comes after main~1") && words.contains("main~1..main"), "{words}");
    let words = search("mian~1..main");
    assert!(words.contains("has no tag, branch or commit \"mian~1\""), "{words}");
    let words = refused(&["bisect", "git:r", "main~1..main", "--fix", "main~1..main=none.patch"]);
    assert!(words.contains("there is no patch none.patch"), "{words}");
    let words = refused(&["compare", "git:none@main", "sqlite"]);
    assert!(words.contains("none is in no git repository"), "{words}");
    let words = refused(&["history", "git:r", "main~1..main", "--builds", "0"]);
    assert!(words.contains("0 is not in 1..=10000"), "{words}");
}
