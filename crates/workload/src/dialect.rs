//! How each dbms spells the same thing.

use basecase_model::Dbms;

/// The SQL of one dbms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Postgres.
    Postgres,
    /// SQLite.
    Sqlite,
}

impl From<Dbms> for Dialect {
    fn from(dbms: Dbms) -> Self {
        match dbms {
            Dbms::Postgres => Dialect::Postgres,
            Dbms::Sqlite => Dialect::Sqlite,
        }
    }
}
