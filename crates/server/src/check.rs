//! Whether a build accepts a config, asked before any start.

use std::fmt::Write as _;
use std::os::unix::fs::chown;
use std::path::PathBuf;

use thiserror::Error;

use crate::account::{Account, AccountError};
use crate::build::Build;
use crate::config::Config;
use crate::host::Host;
use crate::process;
use crate::suggestion::nearest;

/// Why a build would not start with a config.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The server refuses settings.
    #[error("config {config} does not fit postgres {version}:{problems}\nhint: {hint}")]
    Settings {
        /// The config's name.
        config: String,
        /// The build's version.
        version: String,
        /// One line for each setting, with file and line.
        problems: String,
        /// What to do.
        hint: String,
    },
    /// The config wants more memory than there is.
    #[error(
        "config {config} asks for {wanted_mib} MiB of memory (shared_buffers + wal_buffers + maintenance_work_mem), and this host has {present_mib} MiB\nhint: lower shared_buffers in {file}, or size it from the machine: shared_buffers = {{memory:25%}}"
    )]
    Memory {
        /// The config's name.
        config: String,
        /// Its file.
        file: String,
        /// What it asks for.
        wanted_mib: u64,
        /// What there is.
        present_mib: u64,
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
}

/// Asks `build` whether it would start with `config`, without starting it, and compares the memory it asks for with `host`.
///
/// # Errors
/// Naming every setting that is refused with its file and line, or the memory.
pub fn check(build: &Build, config: &Config, host: Host) -> Result<(), CheckError> {
    let wanted = memory_bytes(config);
    if wanted > host.memory_bytes {
        return Err(CheckError::Memory {
            config: config.name.clone(),
            file: config.file.clone(),
            wanted_mib: wanted >> 20,
            present_mib: host.memory_bytes >> 20,
        });
    }
    let program = build.program("postgres");
    let failed =
        |reason: String| CheckError::Ask { program: program.clone(), config: config.name.clone(), reason };
    let account = Account::for_servers()?;
    let folder = tempfile::Builder::new()
        .prefix("basecase-check-")
        .tempdir()
        .map_err(|error| failed(error.to_string()))?;
    let file = folder.path().join("postgresql.conf");
    std::fs::write(&file, config.to_text()).map_err(|error| failed(error.to_string()))?;
    if let Some(account) = &account {
        for path in [folder.path(), &file] {
            chown(path, Some(account.uid), Some(account.gid)).map_err(|error| failed(error.to_string()))?;
        }
        account.check_reaches(folder.path())?;
    }
    let mut command = process::command(&program, account.as_ref());
    let output = command
        .args(["-C", "data_directory", "-D"])
        .arg(folder.path())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let complaints = complaints(&text);
    if complaints.is_empty() {
        return Err(failed(text.trim().to_owned()));
    }
    let known = known_settings(build, account.as_ref());
    Err(describe(build, config, &complaints, &known))
}

/// One refused setting.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    setting: String,
    text: String,
    advice: Option<String>,
}

/// The refused settings in the server's log, in the order in which it names them.
fn complaints(log: &str) -> Vec<Complaint> {
    let mut found: Vec<Complaint> = Vec::new();
    for line in log.lines() {
        if let Some((_, advice)) = line.split_once("HINT:  ") {
            if let Some(last) = found.last_mut() {
                last.advice = Some(advice.trim().to_owned());
            }
        } else if let Some((_, text)) =
            ["LOG:  ", "FATAL:  ", "ERROR:  "].iter().find_map(|level| line.split_once(level))
            && let Some((_, rest)) = text.split_once("parameter \"")
            && let Some((setting, _)) = rest.split_once('"')
        {
            let text = text.split(" in file \"").next().unwrap_or(text).trim().to_owned();
            found.push(Complaint { setting: setting.to_owned(), text, advice: None });
        }
    }
    found
}

fn describe(build: &Build, config: &Config, complaints: &[Complaint], known: &[String]) -> CheckError {
    let mut problems = String::new();
    let mut hints: Vec<String> = Vec::new();
    for complaint in complaints {
        let line = config.settings.iter().find(|setting| setting.name == complaint.setting.to_lowercase());
        let place = line.map_or("--set", |setting| setting.place.as_str());
        // Writing to a string cannot fail.
        let _ = write!(problems, "\n  {place}: {}", complaint.text);
        hints.push(hint(complaint, known, line.map(|setting| setting.value.as_str())));
    }
    hints.dedup();
    CheckError::Settings {
        config: config.name.clone(),
        version: build.facts.version.clone(),
        problems,
        hint: hints.join("; "),
    }
}

fn hint(complaint: &Complaint, known: &[String], value: Option<&str>) -> String {
    let name = &complaint.setting;
    if complaint.text.starts_with("unrecognized") {
        let near = nearest(name, known.iter().map(String::as_str));
        let near =
            if near.is_empty() { String::new() } else { format!("near {name} are {}, or ", near.join(", ")) };
        return format!("{near}use a config without {name} for this version");
    }
    let advice = complaint.advice.clone().unwrap_or_else(|| format!("correct {name}"));
    let advice = advice.trim_end_matches('.').replacen("Available", "available", 1);
    if value == Some("io_uring") {
        return format!("this build was made without liburing, use another (path:DIR); {advice}");
    }
    advice
}

/// Names of the settings that the build knows; none when it does not say.
fn known_settings(build: &Build, account: Option<&Account>) -> Vec<String> {
    let output = process::command(&build.program("postgres"), account).arg("--describe-config").output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
}

/// What the server reserves, plus one maintenance command. Memory of queries is not counted: it is asked for as they need it.
fn memory_bytes(config: &Config) -> u64 {
    let of = |name: &str, unit: u64| config.value(name).and_then(|value| bytes(value, unit)).unwrap_or(0);
    of("shared_buffers", 8192)
        .saturating_add(of("wal_buffers", 8192))
        .saturating_add(of("maintenance_work_mem", 1024))
}

/// A size as Postgres writes it, in bytes. `unit` is what a bare number counts.
fn bytes(text: &str, unit: u64) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor = match suffix.trim() {
        "" => unit,
        "B" => 1,
        "kB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config_file::ConfigFile;
    use basecase_model::Dbms;

    const HOST: Host = Host { cores: 2, memory_bytes: 4 << 30 };

    #[test]
    fn complaints_are_read_from_the_log() {
        let log = "2026-11-21 GMT [1] LOG:  skipping missing configuration file \"/t/postgresql.auto.conf\"\n\
            2026-11-21 GMT [1] LOG:  unrecognized configuration parameter \"io_method\" in file \"/t/p.conf\" line 1\n\
            2026-11-21 GMT [1] LOG:  1 kB is outside the valid range for parameter \"work_mem\" (64 kB .. 2147483647 kB)\n\
            2026-11-21 GMT [1] LOG:  invalid value for parameter \"wal_compression\": \"3\"\n\
            2026-11-21 GMT [1] HINT:  Available values: pglz, on, off.\n\
            2026-11-21 GMT [1] FATAL:  configuration file \"/t/p.conf\" contains errors\n";
        let found = complaints(log);
        let names: Vec<&str> = found.iter().map(|complaint| complaint.setting.as_str()).collect();
        assert_eq!(names, ["io_method", "work_mem", "wal_compression"]);
        assert_eq!(found[0].text, "unrecognized configuration parameter \"io_method\"");
        assert_eq!(found[2].advice.as_deref(), Some("Available values: pglz, on, off."));
    }

    #[test]
    fn sizes_in_all_units() {
        assert_eq!(bytes("128MB", 8192), Some(128 << 20));
        assert_eq!(bytes("16384", 8192), Some(128 << 20));
        assert_eq!(bytes("-1", 8192), None);
        assert_eq!(bytes("1 GB", 8192), Some(1 << 30));
    }

    #[test]
    fn memory_adds_what_is_reserved() {
        let text = "shared_buffers = 3GB\nwal_buffers = -1\nmaintenance_work_mem = 1024";
        let config = ConfigFile::parse(Dbms::Postgres, "c", "c.conf", text, HOST)
            .unwrap()
            .for_version(&"17.11".parse().unwrap());
        assert_eq!(memory_bytes(&config), (3 << 30) + (1 << 20));
    }
}
