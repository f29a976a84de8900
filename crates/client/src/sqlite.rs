//! Sessions with SQLite, embedded in this process.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use basecase_model::{Operation, Parameter, ParameterType, Reply, Value};
use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_ROWID, SQLITE_CONSTRAINT_UNIQUE};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement};

use crate::bounds::Rows;
use crate::breaker::Breaker;
use crate::{Error, Interrupter, Kind, Session};

/// A SQLite database, and the settings that every session applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The database file.
    pub path: PathBuf,
    /// Pragmas with their values, set in this order by every session.
    pub pragmas: Vec<(String, String)>,
}

/// How long a session waits for another session's lock before it gives up, in steps of [`busy_wait`].
const BUSY_ATTEMPTS: i32 = 60_000;

/// Statements that a session keeps prepared, at least.
const LEAST_STATEMENTS: usize = 64;

/// A session with one SQLite file.
pub struct SqliteSession {
    connection: Connection,
    breaker: Breaker,
    prepared: Vec<String>,
    /// The outcome of the last operation, until it is received.
    outcome: Option<Result<Reply, Error>>,
}

impl SqliteSession {
    /// Opens the file, creates it if it is missing, and sets the pragmas.
    ///
    /// # Errors
    /// If the file cannot be opened, or a pragma did not take the value it was given.
    pub fn open(file: &File) -> Result<Self, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&file.path, flags).map_err(|error| {
            Error::new(Kind::Disconnected, format!("cannot open {}: {error}", file.path.display()))
                .with_hint("check that the folder exists and can be written")
        })?;
        connection.busy_handler(Some(busy_wait)).map_err(sqlite_error)?;
        connection.set_prepared_statement_cache_capacity(LEAST_STATEMENTS);
        for (name, value) in &file.pragmas {
            connection.pragma_update_and_check(None, name, value, |_| Ok(())).or_else(
                |error| match error {
                    // Most pragmas return no row when they are set.
                    rusqlite::Error::QueryReturnedNoRows => Ok(()),
                    error => Err(sqlite_error(error)),
                },
            )?;
        }
        let handle = connection.get_interrupt_handle();
        let breaker = Breaker::new(move || handle.interrupt());
        Ok(SqliteSession { connection, breaker, prepared: Vec::new(), outcome: None })
    }

    /// Executes an operation and fetches every row.
    fn perform(&self, operation: &Operation) -> Result<Reply, Error> {
        let Some(number) = operation.prepared else {
            let mut statement = self.connection.prepare(&operation.text).map_err(sqlite_error)?;
            return self.run(&mut statement, operation);
        };
        let sql = self.prepared.get(number).ok_or_else(|| {
            Error::new(Kind::Refused, format!("there is no prepared statement {number} in this session"))
        })?;
        let mut statement = self.connection.prepare_cached(sql).map_err(sqlite_error)?;
        self.run(&mut statement, operation)
    }

    /// Executes a statement and fetches every row.
    fn run(&self, statement: &mut Statement<'_>, operation: &Operation) -> Result<Reply, Error> {
        let reads_only = statement.readonly();
        let values = operation.parameters.iter().map(|parameter| match parameter {
            Parameter::Integer(integer) => ToSqlOutput::Borrowed(ValueRef::Integer(*integer)),
            Parameter::Text { .. } => {
                ToSqlOutput::Borrowed(ValueRef::Text(operation.text_of(*parameter).as_bytes()))
            }
        });
        let mut rows = statement.query(rusqlite::params_from_iter(values)).map_err(sqlite_error)?;
        let mut reply = Reply::default();
        while let Some(row) = rows.next().map_err(sqlite_error)? {
            if reply.fetched == 0 {
                reply.first = row.get_ref(0).ok().and_then(|value| value.as_i64().ok());
            }
            reply.fetched += 1;
        }
        if !reads_only {
            reply.affected = self.connection.changes();
        }
        Ok(reply)
    }

    /// The version of the engine, e.g. `3.54.1`.
    pub fn version() -> &'static str {
        rusqlite::version()
    }
}

/// Waits for another session's lock: SQLite calls this with the number of earlier calls for the same lock.
///
/// SQLite's own `busy_timeout` sleeps up to 100 ms at a time; measurements would show the sleep instead of the engine.
fn busy_wait(attempts: i32) -> bool {
    let pause_us = match attempts {
        0..10 => 50,
        10..100 => 200,
        _ => 1_000,
    };
    thread::sleep(Duration::from_micros(pause_us));
    attempts < BUSY_ATTEMPTS && !basecase_stop::is_asked()
}

impl Session for SqliteSession {
    fn prepare_with_types(&mut self, sql: &str, _types: &[ParameterType]) -> Result<usize, Error> {
        basecase_stop::check()?;
        self.connection.prepare_cached(sql).map_err(sqlite_error)?;
        self.prepared.push(sql.to_owned());
        // Every statement of the session stays prepared.
        let capacity = self.prepared.len().max(LEAST_STATEMENTS);
        self.connection.set_prepared_statement_cache_capacity(capacity);
        Ok(self.prepared.len() - 1)
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
        let mut statement = self.connection.prepare(sql).map_err(sqlite_error)?;
        let columns = statement.column_count();
        let mut rows = statement.query([]).map_err(sqlite_error)?;
        let mut kept = Rows::default();
        while let Some(row) = rows.next().map_err(sqlite_error)? {
            let row: Result<Vec<Value>, Error> =
                (0..columns).map(|column| Ok(value_of(row.get_ref(column).map_err(sqlite_error)?))).collect();
            kept.take(row?.into_iter())?;
        }
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

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => Value::Integer(integer),
        ValueRef::Real(real) => Value::Text(real.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Value::Text(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

/// Extended result codes for a key that exists already: primary key, unique index, row id.
const DUPLICATES: [i32; 3] =
    [SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_ROWID];

fn sqlite_error(error: rusqlite::Error) -> Error {
    let extended_code = match &error {
        rusqlite::Error::SqliteFailure(inner, _) | rusqlite::Error::SqlInputError { error: inner, .. } => {
            Some(inner.extended_code)
        }
        _ => None,
    };
    let kind = match error.sqlite_error_code() {
        _ if extended_code.is_some_and(|code| DUPLICATES.contains(&code)) => Kind::Duplicate,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Kind::Retryable,
        Some(ErrorCode::OperationInterrupted | ErrorCode::CannotOpen | ErrorCode::NotADatabase) => {
            Kind::Disconnected
        }
        _ => Kind::Refused,
    };
    let converted = Error::new(kind, format!("SQLite: {error}"));
    match extended_code {
        Some(code) => converted.with_code(code.to_string()),
        None => converted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(folder: &tempfile::TempDir, pragmas: &[(&str, &str)]) -> Result<SqliteSession, Error> {
        SqliteSession::open(&File {
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
