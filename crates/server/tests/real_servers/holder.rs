//! A program that owns a server until it is killed, and whether a server still runs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use basecase_builds::default_home;

/// The example `hold_server`.
pub(crate) fn hold_server() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("examples/hold_server");
    assert!(program.exists(), "run `cargo build -p basecase-server --examples` first");
    program
}

/// It, with a server of this build in the directory, and the pid of that server.
pub(crate) fn holder(directory: &Path, request: &str) -> (Child, u32) {
    let mut child = Command::new(hold_server())
        .arg(default_home().unwrap())
        .arg(directory.join("instance"))
        .arg(request)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid = line.trim().parse().unwrap();
    (child, pid)
}

/// Whether a process is there and has not ended.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}
