//! Checks, without starting the server, whether a build accepts a config.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use basecase_builds::{Build, nearest};
use basecase_model::{Dbms, Engine};
use basecase_process::{Account, AccountError, FolderError, PrivateFolder, Scratch};
use thiserror::Error;

use crate::config::Config;
use crate::config::Host;
use crate::config::share_of_memory;

/// Why a build would not start with a config.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The server refuses settings, or would change their values.
    #[error("config {config} does not fit {build}:{problems}\nhint: {hint}")]
    Settings {
        /// The config's name.
        config: String,
        /// Dbms and version of the build.
        build: String,
        /// One line for each setting, with file and line.
        problems: String,
        /// What to do.
        hint: String,
    },
    /// The config needs more memory than there is.
    #[error("config {config} asks for {wanted_mib} MiB of memory ({parts}), and {available}\nhint: {hint}")]
    Memory {
        /// The config's name.
        config: String,
        /// How much it needs.
        wanted_mib: u64,
        /// The settings that it is the sum of.
        parts: String,
        /// How much is available, as a clause.
        available: String,
        /// How to reduce the largest of them.
        hint: String,
    },
    /// The build lacks the engine.
    #[error("{build} has no {engine}: {reason}\nhint: {hint}")]
    Engine {
        /// Dbms and version of the build.
        build: String,
        /// The engine.
        engine: Engine,
        /// How that is known.
        reason: String,
        /// What to do.
        hint: &'static str,
    },
    /// The server could not be asked.
    #[error("cannot ask {} about config {config}: {reason}\nhint: run the program with --version by hand", program.display())]
    Ask {
        /// The program.
        program: PathBuf,
        /// The config's name.
        config: String,
        /// What failed.
        reason: String,
    },
    /// The dbms has no server.
    #[error(transparent)]
    NoServer(#[from] NoServer),
    /// The account for servers is missing, or cannot reach a folder.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The folder for the server's files cannot be created.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// A dbms without a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0} runs without a server\nhint: name a build of a dbms that has one")]
pub struct NoServer(pub Dbms);

/// Checks whether `build` would start with `config` and, if it has a choice, `engine`, by calling `ask`, and whether `host`
/// has the memory that it reserves. Returns that memory in bytes. Files that the server reads for this lie below the folder
/// `place`.
///
/// # Errors
/// Naming every refused setting with its file and line, or the memory, or the missing engine.
pub(crate) fn check_by(
    ask: impl FnOnce(&Question<'_>) -> Result<Answer, CheckError>,
    build: &Build,
    engine: Option<Engine>,
    config: &Config,
    host: Host,
    place: &Path,
) -> Result<u64, CheckError> {
    let account = Account::for_servers()?;
    if let Some(account) = &account {
        account.check_reaches(place)?;
    }
    let scratch = Scratch::new(place, account.as_ref())?;
    let folder = scratch.folder();
    let question = Question { build, engine, config, host, account: account.as_ref(), folder };
    let answer = ask(&question)?;
    let reserved = compare_memory(config, host, &answer.memory)?;
    if answer.complaints.is_empty() { Ok(reserved) } else { Err(describe(&question, &answer)) }
}

/// The build and config to check, and where.
pub(crate) struct Question<'a> {
    pub(crate) build: &'a Build,
    pub(crate) engine: Option<Engine>,
    pub(crate) config: &'a Config,
    pub(crate) host: Host,
    pub(crate) account: Option<&'a Account>,
    /// A folder for files that the server reads, which is removed afterwards.
    pub(crate) folder: &'a PrivateFolder,
}

impl Question<'_> {
    /// Writes a file into the folder, where the server can read it.
    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        self.folder.write(name, text.as_bytes())?;
        Ok(self.folder.path().join(name))
    }

    /// A command for the program `name` of the build, in the environment that the config gives the server.
    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = self.build.command(name, self.account);
        command.envs(self.config.environment());
        command
    }

    /// The error for a server that could not be asked.
    pub(crate) fn failed(&self, reason: String) -> CheckError {
        let program = self.build.program(self.build.tree().server());
        CheckError::Ask { program, config: self.config.name.clone(), reason }
    }
}

/// A server's answer about a config.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) complaints: Vec<Complaint>,
    /// The names of all settings that the build knows, if there are complaints.
    pub(crate) known: Vec<String>,
    /// The memory reserved at the start, in bytes, by setting.
    pub(crate) memory: Vec<(&'static str, u64)>,
}

/// One refused setting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) setting: String,
    pub(crate) text: String,
    /// What to do; `None` if the build does not know the name.
    pub(crate) advice: Option<String>,
}

fn compare_memory(config: &Config, host: Host, memory: &[(&'static str, u64)]) -> Result<u64, CheckError> {
    let wanted = memory.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let Some((largest, _)) = memory.iter().max_by_key(|(_, bytes)| *bytes) else { return Ok(0) };
    if wanted <= host.memory_bytes {
        return Ok(wanted);
    }
    let parts: Vec<&str> = memory.iter().map(|(name, _)| *name).collect();
    let quarter = share_of_memory(config.rules.megabyte, host, 25);
    let hint = format!(
        "reduce it, e.g. with --set {largest}={quarter} or under [settings] of an experiment file, or lower {largest} in {}",
        config.file
    );
    Err(CheckError::Memory {
        config: config.name.clone(),
        wanted_mib: wanted >> 20,
        parts: parts.join(" + "),
        available: host.memory_text(),
        hint,
    })
}

fn describe(question: &Question<'_>, answer: &Answer) -> CheckError {
    let config = question.config;
    let mut problems = String::new();
    let mut hints: Vec<String> = Vec::new();
    for complaint in &answer.complaints {
        let line = config.settings.iter().find(|setting| setting.name == complaint.setting.to_lowercase());
        let place = line.map_or("--set", |setting| setting.place.as_str());
        // Writing to a string cannot fail.
        let _ = write!(problems, "\n  {place}: {}", complaint.text);
        let hint = complaint.advice.clone().unwrap_or_else(|| use_another(&complaint.setting, &answer.known));
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    CheckError::Settings {
        config: config.name.clone(),
        build: question.build.title(),
        problems,
        hint: hints.join("; "),
    }
}

/// What to do about a name that the build does not know.
fn use_another(name: &str, known: &[String]) -> String {
    let near = nearest(name, known.iter().map(String::as_str));
    let near =
        if near.is_empty() { String::new() } else { format!("similar settings: {}; or ", near.join(", ")) };
    format!("{near}use a config without {name} for this version")
}
