//! Which server a result belongs to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A database management system that basecase can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dbms {
    /// PostgreSQL.
    Postgres,
    /// SQLite, embedded in basecase's own process.
    Sqlite,
}

impl Dbms {
    /// Every dbms, in the order in which they are listed to users.
    pub const ALL: [Dbms; 2] = [Dbms::Postgres, Dbms::Sqlite];

    /// The word for this dbms on the command line, in files and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Dbms::Postgres => "postgres",
            Dbms::Sqlite => "sqlite",
        }
    }

    /// The prefix of row names in published Insert Benchmark results, e.g. `pg` in `pg176`.
    pub fn short_prefix(self) -> &'static str {
        match self {
            Dbms::Postgres => "pg",
            Dbms::Sqlite => "sqlite",
        }
    }
}

impl fmt::Display for Dbms {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Dbms {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Dbms::ALL.into_iter().find(|dbms| dbms.as_str() == text).ok_or(())
    }
}

/// The printed name of a candidate, `<build>.<config>`, e.g. `pg176.x10a_c2r24`. Unique within an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CandidateName(pub String);

impl CandidateName {
    /// The name of `build` under `config`.
    pub fn new(build: &str, config: &str) -> Self {
        CandidateName(format!("{build}.{config}"))
    }
}

impl fmt::Display for CandidateName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}
