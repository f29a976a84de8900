//! `completions` and `man`: what shells and man(1) know of the program, from the declaration of its arguments.

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;

use super::perform::make_folder;
use crate::arguments::{Arguments, shown};
use crate::output;

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program(), "basecase", &mut script);
    output::print_report(&String::from_utf8_lossy(&script))
}

/// Prints the man page of the program, or writes those of all commands into a folder.
pub(crate) fn man(folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(program()).render(&mut page).context("cannot render the man page")?;
        return output::print_report(&String::from_utf8_lossy(&page));
    };
    make_folder(folder)?;
    clap_mangen::generate_to(program(), folder).with_context(|| {
        format!("cannot write man pages into {}\nhint: check free space and permissions", folder.display())
    })
}

/// The program as people see it: without the commands that it calls itself by.
fn program() -> Command {
    let program = Arguments::command();
    let shown: Vec<Command> = shown(&program).cloned().collect();
    let bare = Command::new("basecase")
        .about(program.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .args(program.get_arguments().cloned());
    bare.subcommands(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_know_commands_and_options_but_not_what_is_hidden() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut program(), "basecase", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("compare") && script.contains("budget"), "{shell}");
            assert!(!script.contains(crate::arguments::COMMIT_HISTORY), "{shell}");
        }
    }

    #[test]
    fn each_command_has_a_man_page() {
        let folder = tempfile::tempdir().unwrap();
        man(Some(folder.path())).unwrap();
        let page = std::fs::read_to_string(folder.path().join("basecase-compare.1")).unwrap();
        assert!(page.contains("\\-\\-budget"), "{page}");
        assert!(folder.path().join("basecase.1").exists());
    }
}
