//! The program as it is installed. End-to-end tests build it by this target, so that its crates are compiled as they are for tests, once.

use std::process::Command;

#[test]
fn it_says_which_version_it_is() {
    let output = Command::new(env!("CARGO_BIN_EXE_basecase")).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("basecase {}\n", env!("CARGO_PKG_VERSION")));
}
