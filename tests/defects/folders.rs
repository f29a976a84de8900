//! Folders, builds and accounts that others could prepare.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use basecase_tests::{Sandbox, program};

/// A run on SQLite that takes seconds and leaves its data.
const RUN: [&str; 13] = [
    "compare",
    "sqlite",
    "--rows",
    "1000",
    "--writes",
    "200",
    "--seconds",
    "1",
    "--data",
    "data",
    "--keep-data",
    "--out",
    "report",
];

/// Whether this user may give files to others.
fn is_root() -> bool {
    Path::new("/proc/self").metadata().unwrap().uid() == 0
}

fn run(sandbox: &Sandbox, store: &str) -> Output {
    sandbox.output(&[&RUN[..], &["--store", store]].concat())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The only folder in a folder.
fn only_folder_in(folder: &Path) -> PathBuf {
    let folders =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let folders: Vec<PathBuf> = folders.collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders[0].clone()
}

/// The program as it runs where everybody may write to what it makes.
fn without_umask(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(program()).args(arguments);
    command.current_dir(sandbox.path()).env("NO_COLOR", "1").output().unwrap()
}

#[test]
fn defect_02_folders_that_others_prepared_are_refused_and_links_in_them_lead_nowhere() {
    let sandbox = Sandbox::new();
    let output = run(&sandbox, "first.sqlite");
    assert!(output.status.success(), "{}", said(&output));
    let experiment = only_folder_in(&sandbox.path().join("data"));
    let directory = only_folder_in(&experiment);
    for folder in [&experiment, &directory] {
        assert_eq!(folder.metadata().unwrap().mode() & 0o067, 0, "{}", folder.display());
    }
    let outside = sandbox.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("ib.sqlite"), "precious").unwrap();
    fs::remove_dir_all(&directory).unwrap();
    symlink(&outside, &directory).unwrap();
    let output = run(&sandbox, "second.sqlite");
    assert!(said(&output).contains("is a file or a link, not a folder\nhint: "), "{}", said(&output));
    assert_eq!(fs::read_to_string(outside.join("ib.sqlite")).unwrap(), "precious");
    fs::remove_file(&directory).unwrap();

    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, PermissionsExt::from_mode(0o777)).unwrap();
    let output = run(&sandbox, "third.sqlite");
    assert!(said(&output).contains("others may write to "), "{}", said(&output));
    fs::set_permissions(&directory, PermissionsExt::from_mode(0o700)).unwrap();
    if is_root() {
        chown(&experiment, Some(4_000_000), None).unwrap();
        let output = run(&sandbox, "fourth.sqlite");
        assert!(
            said(&output).contains(" belongs to user 4000000, and a folder of servers must"),
            "{}",
            said(&output)
        );
    }
}

#[test]
fn defect_28_without_a_umask_nobody_may_write_to_what_is_made() {
    let sandbox = Sandbox::new();
    let output = without_umask(&sandbox, &[&RUN[..], &["--store", "s.sqlite"]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let data = sandbox.path().join("data");
    let experiment = only_folder_in(&data);
    let directory = only_folder_in(&experiment);
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    assert_eq!([mode(&data), mode(&directory)], [0o755, 0o700]);
    assert_eq!(mode(&experiment) & 0o067, 0);
}

#[test]
fn defect_28_without_a_umask_mysql_reads_its_config() {
    let sandbox = Sandbox::new();
    sandbox.write("small.cnf", "innodb_buffer_pool_size = 64M\n");
    sandbox.write("typo.cnf", "innodb_buffer_pool_sice = 128M\n");
    let output = without_umask(
        &sandbox,
        &[
            "compare",
            "mysql:8.0.31@./small.cnf",
            "mysql:8.0.31@./typo.cnf",
            "--rows",
            "1000",
            "--data",
            "data",
        ],
    );
    // The first config is read and fits, so that it is the second over which the run ends.
    let said = said(&output);
    assert!(said.contains("config typo does not fit mysql 8.0.31:"), "{said}");
}

#[test]
fn defect_04_a_home_of_another_user_is_refused() {
    if !is_root() {
        return;
    }
    let sandbox = Sandbox::new();
    let home = sandbox.path().join("home");
    fs::create_dir(&home).unwrap();
    chown(&home, Some(4_000_000), None).unwrap();
    let output = sandbox.command(&["server", "list"]).env("BASECASE_HOME", &home).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("home belongs to user 4000000, and basecase's home must belong to"),
        "{}",
        said(&output)
    );
}
