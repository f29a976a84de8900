//! Where to reach a dbms.

use crate::{Error, Session, mysql, postgres, sqlite};

/// Where to reach a dbms, and as which user.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// A Postgres server.
    Postgres(postgres::Address),
    /// A MySQL or MariaDB server.
    Mysql(mysql::Address),
    /// A SQLite file.
    Sqlite(sqlite::File),
    /// A SQLite file, each session with which is a process of its own.
    SqliteForked(sqlite::ForkedFile),
}

impl Endpoint {
    /// Opens one session.
    ///
    /// # Errors
    /// If the dbms cannot be reached, refuses the login or does not answer in time ([`crate::set_connect_patience`]).
    pub fn connect(&self) -> Result<Box<dyn Session>, Error> {
        Ok(match self {
            Endpoint::Postgres(address) => Box::new(postgres::PostgresSession::connect(address)?),
            Endpoint::Mysql(address) => Box::new(mysql::MysqlSession::connect(address)?),
            Endpoint::Sqlite(file) => Box::new(sqlite::SqliteSession::open(file)?),
            Endpoint::SqliteForked(file) => Box::new(file.connect()?),
        })
    }
}
