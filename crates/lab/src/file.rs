//! Experiment files.

use std::path::Path;

use basecase_server::{Settle, without_credentials};
use basecase_workload::insert_benchmark::{self, DEFAULT_SEED, PRESETS, Pace, Parameters, Preset};
use serde::Deserialize;
use thiserror::Error;

use crate::plan::{Request, Verify};

/// Why an experiment file was refused.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error(
        "cannot read experiment file {path}: {source}\nhint: name a file such as experiments/first-light.toml"
    )]
    Read {
        /// The file.
        path: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The file is not the TOML of an experiment. The text holds line and column.
    #[error(
        "experiment file {path} cannot be understood\n{reason}\nhint: docs/formats.md describes every key"
    )]
    Syntax {
        /// The file.
        path: String,
        /// What is wrong, with line and column.
        reason: String,
    },
    /// A value that no run can have.
    #[error("experiment file {path}: {reason}")]
    Value {
        /// The file.
        path: String,
        /// What is wrong and what to do.
        reason: String,
    },
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentFile {
    name: Option<String>,
    workload: Option<String>,
    #[serde(default)]
    candidates: Vec<String>,
    #[serde(default)]
    builds: Vec<String>,
    #[serde(default)]
    configs: Vec<String>,
    #[serde(default)]
    sizes: Sizes,
    #[serde(default)]
    schedule: Schedule,
}

/// Sizes as they are written: a preset, and what differs from it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Name of a preset.
    pub preset: Option<String>,
    /// Factor on the preset's rows, writes and seconds.
    pub scale: Option<f64>,
    /// Number of clients.
    pub clients: Option<u32>,
    /// Rows per table in `l.i0`.
    pub rows: Option<u64>,
    /// Writes per client in `l.i1` and `l.i2` together.
    pub writes: Option<u64>,
    /// Seconds of each read-write step.
    pub seconds: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Schedule {
    #[serde(default)]
    settle: Settle,
    #[serde(default)]
    verify: Verify,
    #[serde(default)]
    pace: Pace,
    seed: Option<u64>,
    step_limit_seconds: Option<u64>,
}

impl Sizes {
    /// The parameters that these sizes stand for.
    ///
    /// # Errors
    /// When the preset is unknown or a size is outside its range; the text says what to do.
    pub fn parameters(&self, pace: Pace, seed: Option<u64>) -> Result<Parameters, String> {
        let preset = match &self.preset {
            None => &PRESETS[0],
            Some(name) => Preset::find(name).ok_or_else(|| {
                let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
                format!("there is no preset {name:?}\nhint: the presets are {}", known.join(", "))
            })?,
        };
        let scaled =
            preset.parameters().scaled(self.scale.unwrap_or(1.0)).map_err(|error| error.to_string())?;
        let parameters = Parameters {
            clients: self.clients.unwrap_or(scaled.clients),
            rows: self.rows.unwrap_or(scaled.rows),
            writes: self.writes.unwrap_or(scaled.writes),
            seconds: self.seconds.unwrap_or(scaled.seconds),
            pace,
            seed: seed.unwrap_or(DEFAULT_SEED),
        };
        parameters.check().map_err(|error| error.to_string())?;
        Ok(parameters)
    }
}

/// Reads an experiment file.
///
/// # Errors
/// When the file cannot be read, is not the TOML of an experiment, or holds a value that no run can have.
pub fn read(path: &Path) -> Result<Request, FileError> {
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|source| FileError::Read { path: name.clone(), source })?;
    parse(&text, &name, path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("experiment"))
}

fn parse(text: &str, path: &str, stem: &str) -> Result<Request, FileError> {
    let file: ExperimentFile = toml::from_str(text).map_err(|error| FileError::Syntax {
        path: path.to_owned(),
        reason: without_credentials(error.to_string().trim_end()),
    })?;
    let refuse = |reason: String| FileError::Value { path: path.to_owned(), reason };
    if let Some(workload) = file.workload.filter(|workload| workload != insert_benchmark::NAME) {
        return Err(refuse(format!(
            "there is no workload {workload:?}\nhint: the workloads are {}",
            insert_benchmark::NAME
        )));
    }
    let mut names = file.candidates;
    for build in &file.builds {
        if file.configs.is_empty() {
            names.push(build.clone());
        }
        names.extend(file.configs.iter().map(|config| format!("{build}@{config}")));
    }
    if names.is_empty() {
        return Err(refuse("it names no candidate\nhint: set candidates = [\"postgres:17.11\", \"postgres:18.6\"], or builds and configs".into()));
    }
    let candidates = names
        .iter()
        .map(|name| name.parse())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error: crate::candidate::CandidateError| refuse(error.to_string()))?;
    Ok(Request {
        name: file.name.unwrap_or_else(|| stem.to_owned()),
        candidates,
        parameters: file.sizes.parameters(file.schedule.pace, file.schedule.seed).map_err(refuse)?,
        settle: file.schedule.settle,
        verify: file.schedule.verify,
        step_limit_seconds: file.schedule.step_limit_seconds,
        extra_settings: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_times_configs() {
        let text = r#"
            builds = ["postgres:17.11", "postgres:18.6"]
            configs = ["x10a", "default"]
            candidates = ["sqlite@wal_normal"]
            [sizes]
            preset = "cached-c8"
            scale = 0.001
            clients = 2
            [schedule]
            settle = "formula"
        "#;
        let request = parse(text, "e.toml", "e").unwrap();
        let names: Vec<String> = request.candidates.iter().map(ToString::to_string).collect();
        assert_eq!(
            names.join(" "),
            "sqlite@wal_normal postgres:17.11@x10a postgres:17.11@default postgres:18.6@x10a postgres:18.6@default"
        );
        assert_eq!(
            (request.parameters.clients, request.parameters.rows, request.parameters.seconds),
            (2, 30_000, 2)
        );
        assert_eq!((request.settle, request.name.as_str()), (Settle::Formula, "e"));
    }

    #[test]
    fn refusals_name_file_and_place() {
        let refuse = |text: &str| parse(text, "e.toml", "e").unwrap_err().to_string();
        let syntax = refuse("candidates = [\n  \"sqlite\"\nsizes = 3");
        assert!(syntax.contains("e.toml") && syntax.contains("line 3, column"), "{syntax}");
        let unknown = refuse("candidate = [\"sqlite\"]");
        assert!(
            unknown.contains("unknown field `candidate`") && unknown.contains("`candidates`"),
            "{unknown}"
        );
        let empty = refuse("name = \"x\"");
        assert!(empty.contains("names no candidate") && empty.contains("hint:"), "{empty}");
        let preset = refuse("candidates = [\"sqlite\"]\n[sizes]\npreset = \"cachd\"");
        assert!(preset.contains("cached-c8"), "{preset}");
        let workload = refuse("workload = \"tpcc\"\ncandidates = [\"sqlite\"]");
        assert!(workload.contains("insert-benchmark"), "{workload}");
    }
}
