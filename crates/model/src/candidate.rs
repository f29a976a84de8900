//! The server that a result belongs to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hexadecimal;

/// A database management system that basecase can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dbms {
    /// PostgreSQL.
    Postgres,
    /// MySQL.
    Mysql,
    /// MariaDB.
    Mariadb,
    /// SQLite, embedded in basecase's own process.
    Sqlite,
}

impl Dbms {
    /// Every dbms, in the order in which they are listed to users.
    pub const ALL: [Dbms; 4] = [Dbms::Postgres, Dbms::Mysql, Dbms::Mariadb, Dbms::Sqlite];

    /// The word for this dbms on the command line, in files and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Dbms::Postgres => "postgres",
            Dbms::Mysql => "mysql",
            Dbms::Mariadb => "mariadb",
            Dbms::Sqlite => "sqlite",
        }
    }

    /// The prefix of row names in published Insert Benchmark results, e.g. `pg` in `pg176`.
    pub fn short_prefix(self) -> &'static str {
        match self {
            Dbms::Postgres => "pg",
            Dbms::Mysql => "my",
            Dbms::Mariadb => "ma",
            Dbms::Sqlite => "sqlite",
        }
    }

    /// Whether its sessions are threads of one process; otherwise each is a process.
    pub fn has_threads(self) -> bool {
        match self {
            Dbms::Mysql | Dbms::Mariadb => true,
            Dbms::Postgres | Dbms::Sqlite => false,
        }
    }

    /// Whether the engine runs inside basecase: there is no server to start, to watch or to get.
    pub fn is_embedded(self) -> bool {
        match self {
            Dbms::Postgres | Dbms::Mysql | Dbms::Mariadb => false,
            Dbms::Sqlite => true,
        }
    }

    /// The prefixes of names of what its server counts.
    pub fn counter_prefixes(self) -> &'static [&'static str] {
        match self {
            Dbms::Postgres => &["postgres."],
            Dbms::Mysql | Dbms::Mariadb => &["mysql.", "innodb."],
            Dbms::Sqlite => &[],
        }
    }

    /// The engine of tables if the user names none; `None` if there is no choice.
    pub fn default_engine(self) -> Option<Engine> {
        match self {
            Dbms::Mysql | Dbms::Mariadb => Some(Engine::Innodb),
            Dbms::Postgres | Dbms::Sqlite => None,
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

/// A storage engine of MySQL and MariaDB: what stores the benchmark's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// InnoDB.
    Innodb,
    /// RocksDB, as MyRocks.
    Rocksdb,
}

impl Engine {
    /// Every engine, in the order in which they are listed to users.
    pub const ALL: [Engine; 2] = [Engine::Innodb, Engine::Rocksdb];

    /// The word for this engine on the command line, in files, in SQL and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Innodb => "innodb",
            Engine::Rocksdb => "rocksdb",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Engine {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Engine::ALL.into_iter().find(|engine| engine.as_str() == text).ok_or(())
    }
}

/// The printed name of a candidate, `<build>.<config>`, e.g. `pg176.x10a_c2r24`. It is unique within an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CandidateName(pub String);

/// The length of a name above which its folder has only the beginning of it, and the length of that.
const LONGEST_FOLDER: usize = 28;
const FOLDER_HEAD: usize = 19;
/// The suffix of the name of a replicate.
const AGAIN: &str = "_again";

impl CandidateName {
    /// The name of `build` with `config`. An engine that is not the dbms's default stands between them, as in `ma101118_rocksdb.za1`.
    pub fn new(build: &str, engine: Option<Engine>, config: &str) -> Self {
        match engine {
            None | Some(Engine::Innodb) => CandidateName(format!("{build}.{config}")),
            Some(engine) => CandidateName(format!("{build}_{engine}.{config}")),
        }
    }

    /// The name of the folder of its data. The paths of sockets must be short: of a setting that is tried, as in `pg1519.x10a+jit=off`, it has
    /// the mark alone, since an experiment tries one; and of a long name, as those of commits are, its beginning and a checksum.
    pub fn folder(&self) -> String {
        let name = match self.0.split_once('+') {
            Some((own, setting)) if setting.contains('=') => &self.0[..=own.len()],
            _ => &self.0,
        };
        match name.get(..FOLDER_HEAD) {
            Some(head) if name.len() > LONGEST_FOLDER => {
                let digest = Sha256::digest(name.as_bytes());
                format!("{head}~{}", hexadecimal(&digest[..4]))
            }
            _ => name.to_owned(),
        }
    }

    /// The suffix of a candidate that is named for the `times`th time after the first.
    pub fn again(times: usize) -> String {
        match times {
            0 => String::new(),
            1 => AGAIN.to_owned(),
            _ => format!("{AGAIN}{times}"),
        }
    }

    /// Whether it names a replicate of `first`.
    pub fn is_again(&self, first: &CandidateName) -> bool {
        self.0.strip_prefix(&first.0).is_some_and(|tag| tag.starts_with(AGAIN))
    }

    /// The candidate's name without the suffix of a replicate.
    pub fn first(&self) -> &str {
        self.0.rsplit_once(AGAIN).map_or(&self.0, |(first, _)| first)
    }
}

impl fmt::Display for CandidateName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_after_its_candidate_but_for_the_setting_that_is_tried() {
        let folder = |name: &str| CandidateName(name.to_owned()).folder();
        assert_eq!(folder("pg1519.x10a_c2r24"), "pg1519.x10a_c2r24");
        assert_eq!(folder("pg1519.x10a_again2"), "pg1519.x10a_again2");
        assert_eq!(
            folder("pg1519.x10a_c2r24+debug_logical_replication_streaming=buffered"),
            "pg1519.x10a_c2r24+"
        );
        let [one, other] =
            ["1a2b3c4d", "5e6f7a8b"].map(|commit| folder(&format!("pg19devel_def_{commit}_i.x10a_c2r24")));
        assert!(one != other && one.len() == 28 && one.starts_with("pg19devel_def_"), "{one} {other}");
    }
}
