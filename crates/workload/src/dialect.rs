//! How each dbms spells the same thing.

use basecase_model::{Dbms, Engine};

/// The SQL of one dbms.
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
    /// The SQL of `dbms` for tables of `engine`; its usual engine when none is named.
    pub fn of(dbms: Dbms, engine: Option<Engine>) -> Self {
        match dbms {
            Dbms::Postgres => Dialect::Postgres,
            Dbms::Mysql | Dbms::Mariadb => Dialect::Mysql(engine.unwrap_or(Engine::Innodb)),
            Dbms::Sqlite => Dialect::Sqlite,
        }
    }
}
