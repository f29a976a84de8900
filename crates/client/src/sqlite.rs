//! Sessions with SQLite in this process: with the library that is part of it, or with one that is loaded beside it.

mod connection;
mod forks;
mod library;
mod process;

use std::ffi::{c_int, c_void};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use basecase_model::{Operation, Parameter, ParameterType, Reply, Value};

use crate::bounds::Rows;
use crate::breaker::Breaker;
use crate::{Error, Interrupter, Session};
use connection::{Bound, Column, Connection, Which};
pub use forks::{ForkedFile, ForkedSessions, serve_forked};
pub use library::{Library, LibraryError};
pub use process::Meter;

/// A SQLite database, the library that works on it, and the settings that every session applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The library.
    pub library: Library,
    /// The database file.
    pub path: PathBuf,
    /// Pragmas with their values, set in this order by every session.
    pub pragmas: Vec<(String, String)>,
}

impl File {
    /// A file of the bundled library, without settings.
    pub fn bundled(path: PathBuf) -> Self {
        File { library: Library::bundled(), path, pragmas: Vec::new() }
    }
}

/// How long a session waits for another session's lock before it gives up, in steps of [`busy_wait`].
const BUSY_ATTEMPTS: c_int = 60_000;

/// A session with one SQLite file.
pub struct SqliteSession {
    connection: Connection,
    breaker: Breaker,
    /// The outcome of the last operation, until it is received.
    outcome: Option<Result<Reply, Error>>,
}

impl SqliteSession {
    /// Opens the file, creates it if it is missing, and sets the pragmas.
    ///
    /// # Errors
    /// If the file cannot be opened, or its library does not know a pragma or refuses its value.
    pub fn open(file: &File) -> Result<Self, Error> {
        let mut connection = Connection::open(&file.library, &file.path, busy_wait)?;
        for (name, value) in &file.pragmas {
            // SQLite ignores a pragma that it does not know.
            if connection.columns_of(&format!("PRAGMA {name}"))? == 0 {
                let version = file.library.version();
                return Err(Error::refusal(
                    format!("SQLite {version} has no pragma {name}"),
                    "name a config without it for this version, as in sqlite:3.24.0@FILE.conf",
                ));
            }
            let sql = format!("PRAGMA {name}='{}'", value.replace('\'', "''"));
            connection.execute(Which::Once(&sql), [].into_iter(), |_| Ok(()))?;
        }
        let breaker = Breaker::new(connection.interrupt());
        Ok(SqliteSession { connection, breaker, outcome: None })
    }

    /// Executes an operation and fetches every row.
    fn perform(&mut self, operation: &Operation) -> Result<Reply, Error> {
        let which = operation.prepared.map_or(Which::Once(&operation.text), Which::Kept);
        let values = operation.parameters.iter().map(|parameter| match parameter {
            Parameter::Integer(integer) => Bound::Integer(*integer),
            Parameter::Text { .. } => Bound::Text(operation.text_of(*parameter)),
        });
        let mut reply = Reply::default();
        let changed = self.connection.execute(which, values, |row| {
            if reply.fetched == 0 {
                reply.first = row.integer(0);
            }
            reply.fetched += 1;
            Ok(())
        })?;
        reply.affected = changed.unwrap_or(0);
        Ok(reply)
    }
}

/// Waits for another session's lock: SQLite calls this with the number of earlier calls for the same lock.
///
/// SQLite's own `busy_timeout` sleeps up to 100 ms at a time; measurements would show the sleep instead of the engine.
extern "C" fn busy_wait(_: *mut c_void, attempts: c_int) -> c_int {
    let pause_us = match attempts {
        0..10 => 50,
        10..100 => 200,
        _ => 1_000,
    };
    thread::sleep(Duration::from_micros(pause_us));
    c_int::from(attempts < BUSY_ATTEMPTS && !basecase_stop::is_asked())
}

impl Session for SqliteSession {
    fn prepare_with_types(&mut self, sql: &str, _types: &[ParameterType]) -> Result<usize, Error> {
        basecase_stop::check()?;
        self.connection.keep(sql)
    }

    fn arrange(&mut self, numbers: &[usize]) {
        self.connection.arrange(numbers);
    }

    /// Executes the operation.
    fn send(&mut self, operation: &Operation) -> Result<(), Error> {
        if self.outcome.is_some() {
            return Err(Error::unanswered());
        }
        self.outcome = Some(self.perform(operation));
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<Reply>, Error> {
        self.outcome.take().transpose()
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Error> {
        basecase_stop::check()?;
        let mut kept = Rows::default();
        self.connection.execute(Which::Once(sql), [].into_iter(), |row| {
            kept.take((0..row.columns()).map(|column| value_of(row.column(column))))
        })?;
        Ok(kept.all())
    }

    fn has_unsent(&self) -> bool {
        false
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Does nothing: the dbms runs in the caller's thread.
    fn set_blocking(&mut self, _is_blocking: bool) -> Result<(), Error> {
        Ok(())
    }

    fn server_pid(&self) -> Option<u32> {
        None
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(self.breaker.interrupter())
    }
}

fn value_of(column: Column<'_>) -> Value {
    match column {
        Column::Null => Value::Null,
        Column::Integer(integer) => Value::Integer(integer),
        Column::Real(real) => Value::Text(real.to_string()),
        Column::Bytes(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn session(folder: &tempfile::TempDir, pragmas: &[(&str, &str)]) -> Result<SqliteSession, Error> {
        SqliteSession::open(&File {
            library: Library::bundled(),
            path: folder.path().join("ib.sqlite"),
            pragmas: pragmas.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        })
    }

    #[test]
    fn text_and_prepared_count_alike() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = session(&folder, &[("journal_mode", "wal"), ("synchronous", "normal")]).unwrap();
        assert_eq!(session.query("pragma journal_mode").unwrap(), [[Value::Text("wal".into())]]);
        assert_eq!(session.query("pragma synchronous").unwrap(), [[Value::Integer(1)]]);
        session.query("create table t (id integer primary key, k int)").unwrap();
        let mut operation = Operation::default();
        operation.text.push_str("insert into t (k) values (1), (2), (3)");
        assert_eq!(session.execute(&operation).unwrap().affected, 3);
        let number = session.prepare("select id from t where k >= ? order by id").unwrap();
        operation.clear();
        operation.prepared = Some(number);
        operation.parameters.push(2.into());
        let reply = session.execute(&operation).unwrap();
        assert_eq!(reply, Reply { fetched: 2, affected: 0, first: Some(2) });
        operation.clear();
        operation.text.push_str("delete from t where id < 3");
        assert_eq!(session.execute(&operation).unwrap().affected, 2);
        operation.text.clear();
        operation.text.push_str("select max(id) from t");
        assert_eq!(session.execute(&operation).unwrap(), Reply { fetched: 1, affected: 0, first: Some(3) });
    }

    #[test]
    fn texts_are_parameters_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = session(&folder, &[]).unwrap();
        session.query("create table t (id integer primary key, c text)").unwrap();
        let types = [ParameterType::Text, ParameterType::Integer];
        let number = session.prepare_with_types("insert into t (c, id) values (?, ?)", &types).unwrap();
        let mut operation = Operation { prepared: Some(number), text: "it's".into(), ..Operation::default() };
        operation.parameters = vec![Parameter::Text { start: 0, end: 4 }, Parameter::Integer(7)];
        assert_eq!(session.execute(&operation).unwrap().affected, 1);
        let rows = session.query("select id, c from t").unwrap();
        assert_eq!(rows, [[Value::Integer(7), Value::Text("it's".into())]]);
    }

    #[test]
    fn refusals_are_fatal_and_carry_the_code() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = session(&folder, &[]).unwrap();
        let error = session.query("select nonsense").unwrap_err();
        assert_eq!(error.kind(), Kind::Refused);
        assert!(error.code().is_some(), "{error}");
    }

    #[test]
    fn keys_that_are_there_already_are_told_from_other_refusals() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = session(&folder, &[]).unwrap();
        session.query("create table t (id integer primary key, k int unique, n int not null)").unwrap();
        session.query("create table u (a text primary key, b int) without rowid").unwrap();
        session.query("insert into t values (1, 1, 1)").unwrap();
        session.query("insert into u values ('x', 1)").unwrap();
        for (sql, kind) in [
            ("insert into t values (1, 2, 1)", Kind::Duplicate),
            ("insert into t values (2, 1, 1)", Kind::Duplicate),
            ("insert into u values ('x', 2)", Kind::Duplicate),
            ("insert into t values (2, 2, null)", Kind::Refused),
        ] {
            assert_eq!(session.query(sql).unwrap_err().kind(), kind, "{sql}");
        }
    }

    #[test]
    fn a_reply_is_received_once_and_before_the_next_operation() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = session(&folder, &[]).unwrap();
        let operation = Operation { text: "select 7".into(), ..Operation::default() };
        assert_eq!(session.receive().unwrap(), None);
        session.send(&operation).unwrap();
        assert_eq!(session.send(&operation).unwrap_err().kind(), Kind::Refused);
        assert_eq!(session.receive().unwrap(), Some(Reply { fetched: 1, affected: 0, first: Some(7) }));
        assert_eq!(session.receive().unwrap(), None);
        session.send(&Operation { text: "nonsense".into(), ..Operation::default() }).unwrap();
        assert_eq!(session.receive().unwrap_err().kind(), Kind::Refused);
        assert_eq!(session.execute(&operation).unwrap().first, Some(7));
    }

    #[test]
    fn two_writers_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        session(&folder, &[]).unwrap().query("create table t (id integer primary key)").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut session = session(&folder, &[]).unwrap();
                    let mut operation = Operation::default();
                    operation.text.push_str("insert into t default values");
                    for _ in 0..50 {
                        assert_eq!(session.execute(&operation).unwrap().affected, 1);
                    }
                });
            }
        });
        let rows = session(&folder, &[]).unwrap().query("select count(*) from t").unwrap();
        assert_eq!(rows, [[Value::Integer(100)]]);
    }
}
