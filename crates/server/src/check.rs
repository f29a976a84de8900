//! Whether a build accepts a config, asked before any start.

mod mysql;
mod postgres;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use basecase_model::{Dbms, Engine};
use thiserror::Error;

use crate::config::Config;
use crate::host::Host;
use crate::sizing::share_of_memory;
use basecase_builds::Build;
use basecase_builds::nearest;
use basecase_process::Scratch;
use basecase_process::{Account, AccountError};
use basecase_process::{FolderError, PrivateFolder};

/// Why a build would not start with a config.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The server refuses settings, or would take other values than they say.
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
    /// The config wants more memory than there is.
    #[error(
        "config {config} asks for {wanted_mib} MiB of memory ({parts}), and {}\nhint: give it less, as with --set {largest}={} or under [settings] of an experiment file, or lower {largest} in {file}",
        host.memory_text(), share_of_memory(*dbms, *host, 25)
    )]
    Memory {
        /// The config's name.
        config: String,
        /// Its file.
        file: String,
        /// What it asks for.
        wanted_mib: u64,
        /// The settings that add up to it.
        parts: String,
        /// The largest of them.
        largest: &'static str,
        /// The dbms, as which sizes are written.
        dbms: Dbms,
        /// What there is.
        host: Host,
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
    /// The user that servers run as is missing or kept out.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The folder for the server's files cannot be made.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Asks `build` whether it would start with `config` and, where it has a choice, `engine`, without starting it, and compares the
/// memory that it reserves with `host`. Returns that memory, in bytes. What the server reads meanwhile lies below the folder `place`.
///
/// # Errors
/// Naming every setting that is refused with its file and line, or the memory, or the missing engine.
pub fn check(
    build: &Build,
    engine: Option<Engine>,
    config: &Config,
    host: Host,
    place: &Path,
) -> Result<u64, CheckError> {
    let program = build.program(build.tree().server());
    let failed =
        |reason: String| CheckError::Ask { program: program.clone(), config: config.name.clone(), reason };
    let account = Account::for_servers()?;
    if let Some(account) = &account {
        account.check_reaches(place)?;
    }
    let scratch = Scratch::new(place, account.as_ref())?;
    let folder = scratch.folder();
    let question = Question { build, engine, config, host, account: account.as_ref(), folder };
    let answer = match build.facts.dbms {
        Dbms::Postgres | Dbms::Sqlite => postgres::ask(&question),
        Dbms::Mysql | Dbms::Mariadb => {
            mysql::check_engine(&question)?;
            mysql::ask(&question)
        }
    };
    let answer = answer.map_err(failed)?;
    let reserved = compare_memory(config, host, &answer.memory)?;
    if answer.complaints.is_empty() { Ok(reserved) } else { Err(describe(&question, &answer)) }
}

/// What is asked.
struct Question<'a> {
    build: &'a Build,
    engine: Option<Engine>,
    config: &'a Config,
    host: Host,
    account: Option<&'a Account>,
    /// A folder for files that the server reads, which is removed afterwards.
    folder: &'a PrivateFolder,
}

impl Question<'_> {
    /// Writes a file that the server can read into the folder.
    fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        self.folder.write(name, text.as_bytes())?;
        Ok(self.folder.path().join(name))
    }
}

/// What a server says to a config.
#[derive(Debug, Default)]
struct Answer {
    complaints: Vec<Complaint>,
    /// The names of all settings that the build knows, where there are complaints.
    known: Vec<String>,
    /// What is reserved at the start, in bytes, by setting.
    memory: Vec<(&'static str, u64)>,
}

/// One refused setting.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    setting: String,
    text: String,
    /// What to do; `None` when the build does not know the name.
    advice: Option<String>,
}

fn compare_memory(config: &Config, host: Host, memory: &[(&'static str, u64)]) -> Result<u64, CheckError> {
    let wanted = memory.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let Some((largest, _)) = memory.iter().max_by_key(|(_, bytes)| *bytes) else { return Ok(0) };
    if wanted <= host.memory_bytes {
        return Ok(wanted);
    }
    let parts: Vec<&str> = memory.iter().map(|(name, _)| *name).collect();
    Err(CheckError::Memory {
        config: config.name.clone(),
        file: config.file.clone(),
        wanted_mib: wanted >> 20,
        parts: parts.join(" + "),
        largest,
        dbms: config.dbms,
        host,
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
        if near.is_empty() { String::new() } else { format!("near {name} are {}, or ", near.join(", ")) };
    format!("{near}use a config without {name} for this version")
}
