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
}
