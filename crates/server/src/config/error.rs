//! Why a config cannot be used.

use std::path::PathBuf;

use basecase_model::Dbms;
use thiserror::Error;

use super::settings::SyntaxError;

/// Why a config cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// No embedded config has this name.
    #[error("unknown config {name:?} for {dbms}\nhint: {near}; or give a file: ./{name}.conf")]
    Unknown {
        /// The dbms.
        dbms: Dbms,
        /// What was asked for.
        name: String,
        /// The nearest names, as a clause.
        near: String,
    },
    /// The file cannot be read.
    #[error("cannot read config {}: {source}\nhint: a name without / and .conf means a config that basecase comes with", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file's name cannot be part of a candidate's name.
    #[error("config {} has a name that cannot stand in tables\nhint: use letters, digits, - and _ only", path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// A line cannot be read.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// Configs that include each other.
    #[error("{file}:{line}: {name} is included by itself\nhint: take one of the `include` lines out")]
    Circle {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u32,
        /// The included config.
        name: String,
    },
    /// A setting of the caller is not one that a config may have.
    #[error("--set {}: {reason}\nhint: {hint}", name.escape_debug())]
    Extra {
        /// The setting.
        name: String,
        /// What is wrong.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// A setting is not one that a config may have, or its size cannot be worked out.
    #[error("{file}:{line}: {reason}\nhint: {hint}")]
    Setting {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u32,
        /// What is wrong.
        reason: String,
        /// What to do.
        hint: String,
    },
}
