//! What can go wrong in a session, classified by whether retrying can help.

use std::{fmt, io};

/// How an error affects the operation, and whether retrying can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The operation was rolled back and may succeed when it is retried: deadlock, serialization failure, busy.
    Retryable,
    /// A row with this key exists already.
    Duplicate,
    /// The dbms refused the operation.
    Refused,
    /// The connection could not be established, or is lost.
    Disconnected,
}

/// The codes by which Postgres (database, schema, table, column) and MySQL (database, column, table) report that something
/// does not exist.
const ABSENT: [&str; 7] = ["3D000", "3F000", "42P01", "42703", "1049", "1054", "1146"];

/// An error of a session. Its text never holds a password.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    code: Option<String>,
    message: String,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error { kind, code: None, message: message.into(), hint: None }
    }

    pub(crate) fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint if there is none yet.
    pub(crate) fn or_hint(mut self, hint: &str) -> Self {
        self.hint.get_or_insert_with(|| hint.to_owned());
        self
    }

    /// A refusal by basecase itself, without asking the dbms.
    pub fn refusal(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::new(Kind::Refused, message).with_hint(hint)
    }

    /// Turns any error of a login into a refusal.
    pub(crate) fn into_refusal(mut self) -> Self {
        self.kind = Kind::Refused;
        self
    }

    /// The connection to the server of `dbms` broke.
    pub(crate) fn broken_connection(dbms: &str, error: &io::Error) -> Self {
        let broken = Error::new(Kind::Disconnected, format!("the connection to {dbms} failed: {error}"));
        match Hinted::hint(error) {
            Some(hint) => broken.with_hint(hint),
            None => broken,
        }
    }

    /// The operating system refused to watch the session's socket.
    pub fn of_waiting(error: io::Error) -> Self {
        Error::new(Kind::Disconnected, format!("cannot wait for the server: {error}"))
    }

    /// A thread of this program that had something to execute has panicked.
    pub fn of_panic(message: &str) -> Self {
        Error::new(Kind::Refused, format!("a thread of basecase panicked: {message}"))
            .with_hint("this is a defect of basecase: report it with this text")
    }

    /// The server sent something that its protocol does not allow, or that this client never asks for.
    pub(crate) fn unexpected(what: &str) -> Self {
        Error::new(Kind::Disconnected, format!("the server sent {what}"))
    }

    /// An operation was sent while the reply to another is still to come.
    pub(crate) fn unanswered() -> Self {
        Error::new(Kind::Refused, "the session still awaits the reply to its last operation")
    }

    /// A reply was waited for in a session that does not wait.
    pub(crate) fn not_blocking() -> Self {
        Error::new(Kind::Disconnected, "a session that does not block cannot wait for a reply")
    }

    /// Puts what was tried in front.
    pub(crate) fn while_trying(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Whether retrying can help.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the dbms reports that a table, column or database in the statement does not exist.
    pub fn is_absence(&self) -> bool {
        match self.code() {
            // SQLite has no code for it.
            Some("1") => ["no such table", "no such column"].iter().any(|text| self.message.contains(text)),
            Some(code) => ABSENT.contains(&code),
            None => false,
        }
    }

    /// The dbms's own code: an SQLSTATE of Postgres, an error number of MySQL, an extended result code of SQLite.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }
}

/// A stream's error with a hint for the user.
#[derive(Debug)]
pub(crate) struct Hinted {
    text: String,
    hint: &'static str,
}

impl Hinted {
    pub(crate) fn of(kind: io::ErrorKind, text: impl Into<String>, hint: &'static str) -> io::Error {
        io::Error::new(kind, Hinted { text: text.into(), hint })
    }

    /// The hint, if `error` has one.
    pub(crate) fn hint(error: &io::Error) -> Option<&'static str> {
        error.get_ref()?.downcast_ref::<Hinted>().map(|hinted| hinted.hint)
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::error::Error for Hinted {}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if let Some(code) = &self.code {
            write!(formatter, " ({code})")?;
        }
        if let Some(hint) = &self.hint {
            write!(formatter, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
