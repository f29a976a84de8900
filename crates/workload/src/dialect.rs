//! SQL dialects.

use basecase_model::{Dbms, Engine};

/// A SQL dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Postgres.
    Postgres,
    /// MySQL and MariaDB, with the engine of the tables.
    Mysql(Engine),
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Dialect; 4] =
        [Dialect::Postgres, Dialect::Mysql(Engine::Innodb), Dialect::Mysql(Engine::Rocksdb), Dialect::Sqlite];

    /// The dialect of `dbms` for tables of `engine`; the default engine if none is named.
    pub fn of(dbms: Dbms, engine: Option<Engine>) -> Self {
        match dbms {
            Dbms::Postgres => Dialect::Postgres,
            Dbms::Mysql | Dbms::Mariadb => Dialect::Mysql(engine.unwrap_or(Engine::Innodb)),
            Dbms::Sqlite => Dialect::Sqlite,
        }
    }

    /// How a prepared statement's text writes its parameter of this number, counted from 1.
    pub(crate) fn parameter(self, number: usize) -> String {
        match self {
            Dialect::Postgres => format!("${number}"),
            Dialect::Mysql(_) | Dialect::Sqlite => "?".to_owned(),
        }
    }

    /// The most parameters that a prepared statement can have.
    pub(crate) fn most_parameters(self) -> usize {
        match self {
            Dialect::Postgres | Dialect::Mysql(_) => 65_535,
            Dialect::Sqlite => 32_766,
        }
    }

    /// What begins a transaction.
    pub(crate) fn begin(self, is_writing: bool) -> &'static str {
        match self {
            // It takes the write lock at once: a transaction that reads first could not wait for it later.
            Dialect::Sqlite if is_writing => "BEGIN IMMEDIATE",
            Dialect::Postgres | Dialect::Mysql(_) | Dialect::Sqlite => "BEGIN",
        }
    }

    /// Whether what begins a transaction can be prepared. MySQL refuses to (error 1295).
    pub(crate) fn prepares_begin(self) -> bool {
        match self {
            Dialect::Postgres | Dialect::Sqlite => true,
            Dialect::Mysql(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_the_dialect_of_every_dbms_and_engine() {
        let engines = || Engine::ALL.into_iter().map(Some).chain([None]);
        let mut all = Dbms::ALL.into_iter().flat_map(|dbms| engines().map(move |one| Dialect::of(dbms, one)));
        assert!(all.all(|dialect| Dialect::ALL.contains(&dialect)));
    }
}
