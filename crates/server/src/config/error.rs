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
        /// What was requested.
        name: String,
        /// Similar names, as a clause.
        near: String,
    },
    /// The file cannot be read.
    #[error("cannot read config {}: {source}\nhint: a name without / and .conf means one of basecase's own configs", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file's name cannot be part of a candidate name.
    #[error("config {} has a name that cannot be used in tables\nhint: use letters, digits, - and _ only", path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// A line cannot be read.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A config includes itself, directly or through others.
    #[error("{file}:{line}: {name} includes itself\nhint: remove one of the `include` lines")]
    Circle {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u32,
        /// The included config.
        name: String,
    },
    /// A config may not have this setting, which the caller added.
    #[error("{option} {}: {reason}\nhint: {hint}", name.escape_debug())]
    Extra {
        /// The option that added it.
        option: &'static str,
        /// The setting.
        name: String,
        /// What is wrong.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// A config may not have this setting, or its value cannot be sized.
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
