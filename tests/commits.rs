//! Commits as candidates: the one that made a query slower, a pull request, and what bad input gets.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use basecase_tests::Sandbox;
use basecase_tests::running::PLACES;
use serde_json::Value;

use crate::counts::{CALLGRIND, can_count};
use crate::refusals::refusal;

/// A repository of SQLite whose commits compile in no time: its one file adds to a library that is compiled already.
struct Repository<'a> {
    sandbox: &'a Sandbox,
}

impl<'a> Repository<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        fs::create_dir(sandbox.path().join("r")).unwrap();
        let repository = Repository { sandbox };
        repository.git(&["init", "-q", "-b", "main"]);
        let header = fs::read_to_string(amalgamation().join("sqlite3.h")).unwrap();
        repository.write("sqlite3.h", &header);
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A. Author", "-c", "user.email=a@example.org"]).args(arguments);
        command
            .env("GIT_AUTHOR_DATE", "2026-03-01T12:00:00+01:00")
            .env("GIT_COMMITTER_DATE", "2026-03-01T12:00:00+01:00");
        let output = command.current_dir(self.sandbox.path().join("r")).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        self.sandbox.write(&format!("r/{name}"), text);
    }

    /// A commit with a loop of so many turns for each row; its hash.
    fn commit(&self, subject: &str, turns: u32, error: &str) -> String {
        let source = format!(
            "/* {subject} */\n{error}\nstruct sqlite3_stmt;\nint real_sqlite3_step(struct sqlite3_stmt *statement);\n\
             int sqlite3_step(struct sqlite3_stmt *statement) {{\n  for (volatile int turn = 0; turn < {turns}; turn++) {{}}\n  \
             return real_sqlite3_step(statement);\n}}\n"
        );
        self.write("sqlite3.c", &source);
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", subject]);
        self.git(&["rev-parse", "HEAD"])
    }
}

/// The folder of SQLite's source that the program itself is compiled with.
fn amalgamation() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Only what this machine needs is sure to be here.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let arguments = ["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform"];
    let told = Command::new(cargo)
        .args(arguments)
        .arg(platform)
        .current_dir(basecase_tests::workspace())
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let packages = told["packages"].as_array().unwrap().iter();
    let package = packages.into_iter().find(|package| package["name"] == "libsqlite3-sys").unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("sqlite3")
}

/// Compiles SQLite without the function that commits have, and returns the flags with which they are compiled.
fn flags(sandbox: &Sandbox) -> String {
    let object = sandbox.path().join("real.o");
    let source = amalgamation().join("sqlite3.c");
    let compiled = Command::new("gcc")
        .args([
            "-O0",
            "-fPIC",
            "-Dsqlite3_step=real_sqlite3_step",
            "-DSQLITE_ENABLE_COLUMN_METADATA",
            "-c",
            "-o",
        ])
        .args([&object, &source])
        .status();
    assert!(compiled.unwrap().success());
    format!("-O0 {}", object.display())
}

const QUERY: [&str; 8] =
    ["--workload", "microbenchmarks", "--list", "point-query", "--tables", "1", "--rows", "500"];

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
