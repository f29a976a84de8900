//! Connections and statements of one library, by its C functions.
#![expect(unsafe_code, reason = "C functions of SQLite are called")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use rusqlite::ffi::{self, sqlite3, sqlite3_stmt};

use super::library::{Functions, Library, text};
use crate::{Error, Kind, arranged};

/// Extended result codes for a key that exists already: primary key, unique index, row id.
const DUPLICATES: [c_int; 3] =
    [ffi::SQLITE_CONSTRAINT_PRIMARYKEY, ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_CONSTRAINT_ROWID];

/// Bytes of a statement that an error shows.
const SHOWN_BYTES: usize = 160;

/// Decides whether to go on waiting for another connection's lock, by the number of earlier calls for the same lock.
pub(super) type BusyWait = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// A connection to one file, and the statements that it keeps. It may move between threads, and one at a time uses it.
pub(super) struct Connection {
    kept: Vec<Statement>,
    handle: Arc<Handle>,
}

// SAFETY: its library is made for several threads, which was checked as it was loaded, and statements are used through this
// connection alone.
unsafe impl Send for Connection {}

/// Which statement to execute.
#[derive(Clone, Copy)]
pub(super) enum Which<'s> {
    /// A kept statement, by its number.
    Kept(usize),
    /// A text, for this one time.
    Once(&'s str),
}

/// The value of a parameter.
#[derive(Clone, Copy)]
pub(super) enum Bound<'p> {
    Integer(i64),
    Text(&'p str),
}

/// A value of a row, which holds until the next row.
pub(super) enum Column<'r> {
    Null,
    Integer(i64),
    Real(f64),
    /// A text or bytes.
    Bytes(&'r [u8]),
}

impl Connection {
    /// Opens the file, and creates it if it is missing.
    pub(super) fn open(library: &Library, path: &Path, busy_wait: BusyWait) -> Result<Self, Error> {
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_NOMUTEX;
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| {
            Error::new(Kind::Disconnected, format!("cannot open {}: {error}", path.display()))
        })?;
        let mut database = ptr::null_mut();
        let functions = library.functions();
        // SAFETY: the name ends in a zero byte. A database comes back even where opening failed, and is closed with the handle.
        let code =
            unsafe { (functions.sqlite3_open_v2)(name.as_ptr(), &raw mut database, flags, ptr::null()) };
        let handle = Arc::new(Handle { library: library.clone(), database });
        if code != ffi::SQLITE_OK {
            let message = handle.message();
            return Err(Error::new(Kind::Disconnected, format!("cannot open {}: {message}", path.display()))
                .with_hint("check that the folder exists and can be written"));
        }
        // SAFETY: the database is open, and the function to wait with needs no data.
        let code = unsafe {
            (functions.sqlite3_extended_result_codes)(database, 1);
            (functions.sqlite3_busy_handler)(database, Some(busy_wait), ptr::null_mut())
        };
        let connection = Connection { kept: Vec::new(), handle };
        if code == ffi::SQLITE_OK { Ok(connection) } else { Err(connection.handle.error(code)) }
    }

    /// Prepares a statement and keeps it. Returns its number.
    pub(super) fn keep(&mut self, sql: &str) -> Result<usize, Error> {
        let statement = self.handle.prepare(sql, true)?;
        self.kept.push(statement);
        Ok(self.kept.len() - 1)
    }

    /// See [`crate::Session::arrange`].
    pub(super) fn arrange(&mut self, numbers: &[usize]) {
        self.kept = arranged(std::mem::take(&mut self.kept), numbers);
    }

    /// How many columns the rows of this statement have; 0 where it has no rows.
    pub(super) fn columns_of(&self, sql: &str) -> Result<usize, Error> {
        Ok(self.handle.prepare(sql, false)?.columns())
    }

    /// Executes a statement, and shows each row. Returns how many rows it changed; `None` for one that only reads.
    pub(super) fn execute<'p>(
        &mut self,
        which: Which<'_>,
        parameters: impl ExactSizeIterator<Item = Bound<'p>>,
        on_row: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<Option<u64>, Error> {
        let once;
        let statement = match which {
            Which::Kept(number) => self.kept.get(number).ok_or_else(|| {
                Error::new(Kind::Refused, format!("there is no prepared statement {number} in this session"))
            })?,
            Which::Once(sql) => {
                once = self.handle.prepare(sql, false)?;
                &once
            }
        };
        let reads_only = statement.reads_only();
        let executed = self.handle.run(statement, parameters, on_row);
        statement.reset();
        executed?;
        Ok(if reads_only { None } else { Some(self.handle.changes()) })
    }

    /// What breaks off a statement of this connection, from any thread, also after its end.
    pub(super) fn interrupt(&self) -> impl Fn() + Send + Sync + 'static {
        let handle = Arc::downgrade(&self.handle);
        move || {
            if let Some(handle) = handle.upgrade() {
                handle.interrupt();
            }
        }
    }
}

/// An open database, closed when this is dropped.
struct Handle {
    library: Library,
    database: *mut sqlite3,
}

// SAFETY: other threads than that of the connection only call `interrupt`, which SQLite allows on an open database, and close
// it where they were the last that held it.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    fn functions(&self) -> &Functions {
        self.library.functions()
    }

    fn interrupt(&self) {
        // SAFETY: the database is open as long as this exists.
        unsafe { (self.functions().sqlite3_interrupt)(self.database) }
    }

    /// Rows that the last statement inserted, changed or deleted.
    fn changes(&self) -> u64 {
        // SAFETY: the database is open.
        unsafe { (self.functions().sqlite3_changes)(self.database) }.max(0) as u64
    }

    /// What SQLite says of the last failure.
    fn message(&self) -> String {
        if self.database.is_null() {
            return "out of memory".into();
        }
        // SAFETY: the database is there, and the text ends in a zero byte.
        unsafe { text((self.functions().sqlite3_errmsg)(self.database)) }
    }

    /// The failure of a call that returned `code`.
    #[cold]
    fn error(&self, code: c_int) -> Error {
        self.error_with(code, &self.message())
    }

    #[cold]
    fn error_with(&self, code: c_int, message: &str) -> Error {
        let kind = match code & 0xff {
            _ if DUPLICATES.contains(&code) => Kind::Duplicate,
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Kind::Retryable,
            ffi::SQLITE_INTERRUPT | ffi::SQLITE_CANTOPEN | ffi::SQLITE_NOTADB => Kind::Disconnected,
            _ => Kind::Refused,
        };
        Error::new(kind, format!("SQLite: {message}")).with_code(code.to_string())
    }

    fn prepare(&self, sql: &str, is_kept: bool) -> Result<Statement, Error> {
        let too_long = |_| Error::new(Kind::Refused, "SQLite: a statement is longer than 2 GiB");
        let length = c_int::try_from(sql.len()).map_err(too_long)?;
        let begin = sql.as_ptr().cast::<c_char>();
        let (mut statement, mut tail) = (ptr::null_mut(), ptr::null());
        // SAFETY: the text has that length, and SQLite writes to the two places.
        let code = unsafe {
            match self.functions().sqlite3_prepare_v3 {
                Some(prepare) => {
                    let flags = if is_kept { ffi::SQLITE_PREPARE_PERSISTENT } else { 0 };
                    prepare(self.database, begin, length, flags, &raw mut statement, &raw mut tail)
                }
                None => (self.functions().sqlite3_prepare_v2)(
                    self.database,
                    begin,
                    length,
                    &raw mut statement,
                    &raw mut tail,
                ),
            }
        };
        if code != ffi::SQLITE_OK {
            return Err(self.error_in(code, sql));
        }
        if statement.is_null() {
            return Err(Error::new(Kind::Refused, format!("SQLite: there is no statement in {sql:?}")));
        }
        let statement = Statement { library: self.library.clone(), statement };
        let rest = (tail as usize).checked_sub(begin as usize).and_then(|begin| sql.get(begin..));
        match rest.filter(|rest| !rest.trim().is_empty()) {
            Some(rest) if self.prepare(rest, false).is_ok() => {
                Err(Error::new(Kind::Refused, "SQLite: Multiple statements provided"))
            }
            _ => Ok(statement),
        }
    }

    /// The failure to prepare `sql`, with the place where it is wrong, if SQLite says that.
    #[cold]
    fn error_in(&self, code: c_int, sql: &str) -> Error {
        let message = self.message();
        // SAFETY: the database is open.
        let offset = self.functions().sqlite3_error_offset.map(|offset| unsafe { offset(self.database) });
        match offset {
            Some(offset) if offset >= 0 && code & 0xff == ffi::SQLITE_ERROR => {
                let near = excerpt(sql, usize::try_from(offset).unwrap_or(0));
                self.error_with(code, &format!("{message} in {near} at offset {offset}"))
            }
            None if code & 0xff == ffi::SQLITE_ERROR => {
                self.error_with(code, &format!("{message} in {}", excerpt(sql, 0)))
            }
            _ => self.error_with(code, &message),
        }
    }

    /// Executes a statement to its end. The hot path.
    fn run<'p>(
        &self,
        statement: &Statement,
        parameters: impl ExactSizeIterator<Item = Bound<'p>>,
        mut on_row: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (given, wanted) = (parameters.len(), statement.parameters());
        if given != wanted {
            let message = format!("SQLite: the statement has {wanted} parameters and was given {given}");
            return Err(Error::new(Kind::Refused, message));
        }
        for (number, parameter) in (1..).zip(parameters) {
            let code = statement.bind(number, parameter);
            if code != ffi::SQLITE_OK {
                return Err(self.error(code));
            }
        }
        let row = Row { statement };
        loop {
            // SAFETY: the statement is one of this database's.
            match unsafe { (self.functions().sqlite3_step)(statement.statement) } {
                ffi::SQLITE_ROW => on_row(&row)?,
                ffi::SQLITE_DONE => return Ok(()),
                code => return Err(self.error(code)),
            }
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: nobody else has the database. Null is allowed.
        unsafe { (self.functions().sqlite3_close)(self.database) };
    }
}

/// A prepared statement, finalised when this is dropped, which is before its database is closed.
struct Statement {
    library: Library,
    statement: *mut sqlite3_stmt,
}

impl Statement {
    fn functions(&self) -> &Functions {
        self.library.functions()
    }

    fn reads_only(&self) -> bool {
        // SAFETY: the statement is not finalised, here and in what follows.
        unsafe { (self.functions().sqlite3_stmt_readonly)(self.statement) != 0 }
    }

    fn parameters(&self) -> usize {
        // SAFETY: as above.
        unsafe { (self.functions().sqlite3_bind_parameter_count)(self.statement) }.max(0) as usize
    }

    fn columns(&self) -> usize {
        // SAFETY: as above.
        unsafe { (self.functions().sqlite3_column_count)(self.statement) }.max(0) as usize
    }

    fn bind(&self, number: c_int, value: Bound<'_>) -> c_int {
        // SAFETY: SQLite copies the text, of which it is told the length, before it returns.
        unsafe {
            match value {
                Bound::Integer(integer) => {
                    (self.functions().sqlite3_bind_int64)(self.statement, number, integer)
                }
                Bound::Text(text) => match c_int::try_from(text.len()) {
                    Ok(length) => (self.functions().sqlite3_bind_text)(
                        self.statement,
                        number,
                        text.as_ptr().cast(),
                        length,
                        ffi::SQLITE_TRANSIENT(),
                    ),
                    Err(_) => ffi::SQLITE_TOOBIG,
                },
            }
        }
    }

    /// Makes it ready for its next execution.
    fn reset(&self) {
        // SAFETY: as above. What the execution failed with has been told.
        unsafe {
            (self.functions().sqlite3_reset)(self.statement);
            (self.functions().sqlite3_clear_bindings)(self.statement);
        }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: nobody else has the statement.
        unsafe { (self.functions().sqlite3_finalize)(self.statement) };
    }
}

/// The row at which a statement stands.
pub(super) struct Row<'s> {
    statement: &'s Statement,
}

impl Row<'_> {
    /// How many columns it has.
    pub(super) fn columns(&self) -> usize {
        self.statement.columns()
    }

    /// The integer in a column; `None` where there is another value or no such column.
    pub(super) fn integer(&self, column: usize) -> Option<i64> {
        match self.column(column) {
            Column::Integer(integer) => Some(integer),
            _ => None,
        }
    }

    /// The value in a column; null where there is no such column.
    pub(super) fn column(&self, column: usize) -> Column<'_> {
        let (functions, statement) = (self.statement.functions(), self.statement.statement);
        let Ok(column) = c_int::try_from(column) else { return Column::Null };
        // SAFETY: the statement stands at a row, for as long as this exists. The bytes hold until the next step; their number is
        // asked for after them, as SQLite wants it.
        unsafe {
            let bytes = |begin: *const u8| {
                let length = (functions.sqlite3_column_bytes)(statement, column).max(0) as usize;
                if begin.is_null() { &[] } else { std::slice::from_raw_parts(begin, length) }
            };
            match (functions.sqlite3_column_type)(statement, column) {
                ffi::SQLITE_INTEGER => Column::Integer((functions.sqlite3_column_int64)(statement, column)),
                ffi::SQLITE_FLOAT => Column::Real((functions.sqlite3_column_double)(statement, column)),
                ffi::SQLITE_TEXT => Column::Bytes(bytes((functions.sqlite3_column_text)(statement, column))),
                ffi::SQLITE_BLOB => {
                    Column::Bytes(bytes((functions.sqlite3_column_blob)(statement, column).cast()))
                }
                _ => Column::Null,
            }
        }
    }
}

/// The part of a statement that an error shows, around an offset in bytes: a list of thousands of values would hide what is wrong.
fn excerpt(sql: &str, offset: usize) -> String {
    let begin = sql.floor_char_boundary(offset.min(sql.len()).saturating_sub(SHOWN_BYTES / 2));
    let end = sql.floor_char_boundary(begin + SHOWN_BYTES);
    let mark = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}{}", mark(begin > 0), &sql[begin..end], mark(end < sql.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_the_part_of_a_statement_that_is_wrong() {
        assert_eq!(excerpt("select 1", 7), "select 1");
        let long = format!("select {}wrong{}", "ä,".repeat(500), ",?".repeat(500));
        let offset = long.find("wrong").unwrap();
        let shown = excerpt(&long, offset);
        assert!(shown.contains("ä,wrong,?") && shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(shown.len() < 2 * SHOWN_BYTES, "{shown}");
        assert!(excerpt(&long, 0).starts_with("select ä"));
        assert!(excerpt(&long, usize::MAX).ends_with(",?"), "an offset that is none");
    }
}
