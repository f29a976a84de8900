//! A repository of SQLite for tests: commits of which one makes each row slower, compiled in no time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Sandbox, workspace};

/// A repository of SQLite whose commits compile in no time: its one file adds to a library that is compiled already.
#[derive(Debug)]
pub struct Repository<'a> {
    sandbox: &'a Sandbox,
}

impl<'a> Repository<'a> {
    /// An empty one in the folder `r`.
    pub fn new(sandbox: &'a Sandbox) -> Self {
        fs::create_dir(sandbox.path().join("r")).unwrap();
        let repository = Repository { sandbox };
        repository.git(&["init", "-q", "-b", "main"]);
        let header = fs::read_to_string(amalgamation().join("sqlite3.h")).unwrap();
        repository.write("sqlite3.h", &header);
        repository
    }

    /// What git says in it.
    pub fn git(&self, arguments: &[&str]) -> String {
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
    pub fn commit(&self, subject: &str, turns: u32, error: &str) -> String {
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
    let told = Command::new(cargo).args(arguments).arg(platform).current_dir(workspace()).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let packages = told["packages"].as_array().unwrap().iter();
    let package = packages.into_iter().find(|package| package["name"] == "libsqlite3-sys").unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("sqlite3")
}

/// Compiles SQLite without the function that commits have, and returns the flags with which they are compiled.
pub fn flags(sandbox: &Sandbox) -> String {
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

/// The step that is measured, and its tables.
pub const QUERY: [&str; 8] =
    ["--workload", "microbenchmarks", "--list", "point-query", "--tables", "1", "--rows", "500"];
