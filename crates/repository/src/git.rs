//! The program git.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use basecase_process::Account;

/// The program git, and the folders in which it finds others.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    path: OsString,
}

impl Git {
    /// That at `program`, with this `PATH`.
    pub fn new(program: PathBuf, path: OsString) -> Self {
        Git { program, path }
    }

    /// The system's; `None` if there is none.
    pub fn of_system() -> Option<Self> {
        let path = OsString::from(basecase_process::PATH);
        let programs = std::env::split_paths(&path).map(|folder| folder.join("git"));
        let program = programs.into_iter().find(|program| program.is_file())?;
        Some(Git { program, path })
    }

    /// The file of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A call of it as `account`, without the caller's environment.
    pub(crate) fn command_as(&self, account: Option<&Account>) -> Command {
        let mut command = basecase_process::command(&self.program, account);
        command.env("PATH", &self.path);
        command
    }
}
