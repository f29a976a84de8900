//! One session: requests out, replies scanned.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use basecase_model::{Operation, Parameter, ParameterType, PlanUses, Reply, Value};
use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::address::Address;
use super::backend::Beginning;
use super::login::log_in;
use super::reply::{Messages, columns};
use super::scan::Scan;
use crate::bounds::Rows;
use crate::breaker::Breaker;
use crate::connecting;
use crate::connection::Connection;
use crate::request::Request;
use crate::value::value_of;
use crate::{Error, Interrupter, Kind, Session, arranged};

/// Type ids of `pg_type.dat`, fixed in every version.
const INT8: u32 = 20;
const VARCHAR: u32 = 1043;
/// The format of all result columns, as most drivers request it.
const BINARY_RESULTS: [i16; 1] = [1];
/// Kinds of plans by prepared statement. The columns exist from 14 on; as JSON, a missing one is null and no error in the server's log.
const PLAN_USES: &str = "select case when from_sql then name else statement end, \
                         (row_to_json(p)->>'generic_plans')::bigint, (row_to_json(p)->>'custom_plans')::bigint \
                         from pg_prepared_statements p";

/// A session with one Postgres server.
pub struct PostgresSession {
    connection: Connection,
    breaker: Breaker,
    messages: Messages,
    request: Request<BytesMut>,
    scan: Scan,
    /// Whether the reply to the last request is still to come.
    awaits_reply: bool,
    /// The names of the prepared statements, by number.
    prepared: Vec<String>,
    /// The server process of this session, if it is on this host.
    pid: Option<u32>,
}

impl PostgresSession {
    /// Connects and logs in.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses the login; the text names the address without its password.
    pub fn connect(address: &Address) -> Result<Self, Error> {
        Self::open(address, |until| address.connect(until))
    }

    /// A session over an existing connection, such as one end of a socket pair whose other end plays the server.
    ///
    /// # Errors
    /// As [`PostgresSession::connect`].
    #[doc(hidden)]
    pub fn over(stream: UnixStream, address: &Address) -> Result<Self, Error> {
        Self::open(address, connecting::over(stream))
    }

    fn open(
        address: &Address,
        connect: impl FnOnce(Instant) -> io::Result<Connection>,
    ) -> Result<Self, Error> {
        let beginning = Beginning::now();
        let mut messages = Messages::new();
        let (connection, told) = connecting::begin(&address.redacted(), connect, |connection| {
            log_in(address, connection, &mut messages)
        })?;
        let pid = connection.is_local().then(|| beginning.confirm(told)).flatten();
        Ok(PostgresSession {
            breaker: Breaker::over(&connection).map_err(io_error)?,
            connection,
            messages,
            request: Request::default(),
            scan: Scan::default(),
            awaits_reply: false,
            prepared: Vec::new(),
            pid,
        })
    }

    /// Clears the request for a new one.
    #[inline]
    fn begin(&mut self) -> Result<(), Error> {
        if self.awaits_reply {
            return Err(Error::unanswered());
        }
        self.request.bytes.clear();
        Ok(())
    }

    /// Sends the request.
    #[inline]
    fn send_request(&mut self, rows_are_text: bool) -> Result<(), Error> {
        self.scan = Scan::new(rows_are_text);
        self.request.send(&mut self.connection).map_err(io_error)?;
        self.awaits_reply = true;
        Ok(())
    }

    /// Reads what has arrived of the reply, and passes every row to `on_row`.
    #[inline]
    fn take_in(&mut self, on_row: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<Option<Reply>, Error> {
        let outcome = match self.request.send_rest(&mut self.connection) {
            Ok(()) => self.scan.go_on(&mut self.messages, &mut self.connection, on_row),
            Err(error) => Err(io_error(error)),
        };
        self.awaits_reply &= matches!(outcome, Ok(None));
        outcome
    }

    fn encode_execution(&mut self, number: usize, operation: &Operation) -> Result<(), Error> {
        let name = self.prepared.get(number).ok_or_else(|| {
            Error::new(Kind::Refused, format!("there is no prepared statement {number} in this session"))
        })?;
        frontend::bind(
            "",
            name,
            [0i16; 0],
            &operation.parameters,
            |parameter, output| {
                match parameter {
                    Parameter::Integer(integer) => {
                        output.put_slice(itoa::Buffer::new().format(*integer).as_bytes());
                    }
                    Parameter::Text { .. } => output.put_slice(operation.text_of(*parameter).as_bytes()),
                }
                Ok(IsNull::No)
            },
            BINARY_RESULTS,
            &mut self.request.bytes,
        )
        .map_err(|error| match error {
            frontend::BindError::Conversion(error) => io_error(io::Error::other(error)),
            frontend::BindError::Serialization(error) => io_error(error),
        })?;
        frontend::execute("", 0, &mut self.request.bytes).map_err(io_error)?;
        frontend::sync(&mut self.request.bytes);
        Ok(())
    }
}

impl Session for PostgresSession {
    fn prepare_with_types(&mut self, sql: &str, types: &[ParameterType]) -> Result<usize, Error> {
        basecase_stop::check()?;
        let name = format!("s{}", self.prepared.len());
        self.begin()?;
        let types = types.iter().map(|declared| match declared {
            ParameterType::Integer => INT8,
            ParameterType::Text => VARCHAR,
        });
        frontend::parse(&name, sql, types, &mut self.request.bytes).map_err(io_error)?;
        frontend::sync(&mut self.request.bytes);
        self.send_request(false)?;
        self.take_in(|_| Ok(()))?.ok_or_else(Error::not_blocking)?;
        self.prepared.push(name);
        Ok(self.prepared.len() - 1)
    }

    fn arrange(&mut self, numbers: &[usize]) {
        self.prepared = arranged(std::mem::take(&mut self.prepared), numbers);
    }

    #[inline]
    fn send(&mut self, operation: &Operation) -> Result<(), Error> {
        self.begin()?;
        match operation.prepared {
            None => frontend::query(&operation.text, &mut self.request.bytes).map_err(io_error)?,
            Some(number) => self.encode_execution(number, operation)?,
        }
        // Results of prepared statements are binary, and their types are unknown because they are not requested.
        self.send_request(operation.prepared.is_none())
    }

    #[inline]
    fn receive(&mut self) -> Result<Option<Reply>, Error> {
        self.take_in(|_| Ok(()))
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Error> {
        basecase_stop::check()?;
        self.begin()?;
        frontend::query(sql, &mut self.request.bytes).map_err(io_error)?;
        self.send_request(true)?;
        let mut rows = Rows::default();
        self.take_in(|row| rows.take(columns(row).map(|column| column.map_or(Value::Null, value_of))))?
            .ok_or_else(Error::not_blocking)?;
        Ok(rows.all())
    }

    fn plan_uses(&mut self) -> Result<Vec<(String, PlanUses)>, Error> {
        let rows = match self.query(PLAN_USES) {
            // A server that merely speaks the protocol may lack the view.
            Err(error) if error.kind() == Kind::Refused => return Ok(Vec::new()),
            rows => rows?,
        };
        let uses = |row: Vec<Value>| match <[Value; 3]>::try_from(row) {
            Ok([Value::Text(statement), Value::Integer(generic), Value::Integer(custom)]) => {
                let count = |count: i64| u64::try_from(count).unwrap_or(0);
                let uses = PlanUses { generic: count(generic), custom: count(custom) };
                (generic + custom > 0).then_some((statement, uses))
            }
            _ => None,
        };
        Ok(rows.into_iter().filter_map(uses).collect())
    }

    fn execution_text(&self, number: usize, literals: &[String]) -> Option<String> {
        let name = self.prepared.get(number)?;
        let values = if literals.is_empty() { String::new() } else { format!(" ({})", literals.join(", ")) };
        Some(format!("execute {name}{values}"))
    }

    fn has_unsent(&self) -> bool {
        self.request.has_rest()
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        Some(self.connection.as_fd())
    }

    fn set_blocking(&mut self, is_blocking: bool) -> Result<(), Error> {
        self.connection.set_blocking(is_blocking).map_err(io_error)
    }

    fn server_pid(&self) -> Option<u32> {
        self.pid
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(self.breaker.interrupter())
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        self.request.bytes.clear();
        frontend::terminate(&mut self.request.bytes);
        // The connection may be gone; the error does not matter then.
        let _ = self.request.send(&mut self.connection);
    }
}

pub(super) fn io_error(error: io::Error) -> Error {
    Error::broken_connection("Postgres", &error)
}
