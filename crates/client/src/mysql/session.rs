//! One session: commands out, replies scanned.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use basecase_model::{Operation, ParameterType, Reply, Value};

use super::address::Address;
use super::command;
use super::error::server_error;
use super::login::{Agreement, log_in};
use super::packet::Packets;
use super::reply::{ERR, Form, Preparation, text_columns};
use super::scan::{Scan, cut_off};
use crate::bounds::Rows;
use crate::breaker::Breaker;
use crate::connecting;
use crate::connection::Connection;
use crate::request::Request;
use crate::value::value_of;
use crate::{Error, Interrupter, Kind, Session, arranged};

/// A session with one MySQL or MariaDB server.
pub struct MysqlSession {
    connection: Connection,
    breaker: Breaker,
    packets: Packets,
    request: Request<Vec<u8>>,
    scan: Scan,
    /// Whether the reply to the last request is still to come.
    awaits_reply: bool,
    /// The prepared statement whose reply is awaited.
    executed: Option<usize>,
    prepared: Vec<Prepared>,
    agreement: Agreement,
}

/// A prepared statement.
struct Prepared {
    id: u32,
    parameters: usize,
    /// Whether the server knows the types of the parameters from an earlier execution.
    has_types: bool,
}

impl MysqlSession {
    /// Connects and logs in. No statement is sent.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses the login; the text names the address without its password.
    pub fn connect(address: &Address) -> Result<Self, Error> {
        Self::open(address, |until| address.connect(until))
    }

    /// A session over an existing connection, such as one end of a socket pair whose other end plays the server.
    ///
    /// # Errors
    /// As [`MysqlSession::connect`].
    #[doc(hidden)]
    pub fn over(stream: UnixStream, address: &Address) -> Result<Self, Error> {
        Self::open(address, connecting::over(stream))
    }

    fn open(
        address: &Address,
        connect: impl FnOnce(Instant) -> io::Result<Connection>,
    ) -> Result<Self, Error> {
        let mut packets = Packets::new();
        let (connection, agreement) = connecting::begin(&address.redacted(), connect, |connection| {
            log_in(address, connection, &mut packets)
        })?;
        let product = agreement.product.name();
        Ok(MysqlSession {
            breaker: Breaker::over(&connection).map_err(|error| Error::broken_connection(product, &error))?,
            connection,
            packets,
            request: Request::default(),
            scan: Scan::new(agreement, Form::Text),
            awaits_reply: false,
            executed: None,
            prepared: Vec::new(),
            agreement,
        })
    }

    /// Refuses a new request while the reply to the last one is still to come.
    #[inline]
    fn begin(&self) -> Result<(), Error> {
        if self.awaits_reply { Err(Error::unanswered()) } else { Ok(()) }
    }

    /// Sends the request.
    #[inline]
    fn send_request(&mut self, form: Form) -> Result<(), Error> {
        self.scan = Scan::new(self.agreement, form);
        self.request.send(&mut self.connection).map_err(|error| self.farewell(&error))?;
        self.awaits_reply = true;
        Ok(())
    }

    /// Reads what has arrived of the reply, and passes every row to `on_row`.
    #[inline]
    fn take_in(&mut self, on_row: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<Option<Reply>, Error> {
        let outcome = match self.request.send_rest(&mut self.connection) {
            Ok(()) => self.scan.go_on(&mut self.packets, &mut self.connection, on_row),
            Err(error) => Err(self.farewell(&error)),
        };
        self.awaits_reply &= matches!(outcome, Ok(None));
        outcome
    }

    /// Why a command could not be sent. A server that closes a connection sends the reason first.
    #[cold]
    fn farewell(&mut self, error: &std::io::Error) -> Error {
        match self.packets.read(&mut self.connection) {
            Ok(packet) if packet.first() == Some(&ERR) => server_error(self.agreement.product, &packet),
            _ => Error::broken_connection(self.agreement.product.name(), error),
        }
    }

    /// The next packet of the reply to a preparation; an error if it reports one.
    fn next(&mut self) -> Result<Vec<u8>, Error> {
        let product = self.agreement.product;
        let packet = self
            .packets
            .read(&mut self.connection)
            .map_err(|error| Error::broken_connection(product.name(), &error))?;
        if packet.first() == Some(&ERR) { Err(server_error(product, &packet)) } else { Ok(packet) }
    }

    /// Skips the definitions of a prepared statement's parameters or columns.
    fn skip_definitions(&mut self, count: u16) -> Result<(), Error> {
        for _ in 0..count {
            self.next()?;
        }
        if count > 0 && !self.agreement.is_eof_deprecated {
            self.next()?;
        }
        Ok(())
    }

    /// Writes the execution of prepared statement `number` into the output buffer.
    #[inline]
    fn encode_execution(&mut self, number: usize, operation: &Operation) -> Result<(), Error> {
        let refuse = |problem: String| Err(Error::new(Kind::Refused, problem));
        let Some(statement) = self.prepared.get(number) else {
            return refuse(format!("there is no prepared statement {number} in this session"));
        };
        // The server would read past the end of a packet that is too short.
        if statement.parameters != operation.parameters.len() {
            return refuse(format!(
                "prepared statement {number} takes {} parameters and was given {}",
                statement.parameters,
                operation.parameters.len()
            ));
        }
        command::execute(&mut self.request.bytes, statement.id, operation, !statement.has_types);
        Ok(())
    }
}

impl Session for MysqlSession {
    /// The types are sent with the first execution.
    fn prepare_with_types(&mut self, sql: &str, _types: &[ParameterType]) -> Result<usize, Error> {
        basecase_stop::check()?;
        self.begin()?;
        command::prepare(&mut self.request.bytes, sql);
        self.request.send(&mut self.connection).map_err(|error| self.farewell(&error))?;
        let preparation = Preparation::of_packet(&self.next()?).ok_or_else(cut_off)?;
        self.skip_definitions(preparation.parameters)?;
        self.skip_definitions(preparation.columns)?;
        self.prepared.push(Prepared {
            id: preparation.id,
            parameters: preparation.parameters.into(),
            has_types: false,
        });
        Ok(self.prepared.len() - 1)
    }

    fn arrange(&mut self, numbers: &[usize]) {
        self.prepared = arranged(std::mem::take(&mut self.prepared), numbers);
    }

    #[inline]
    fn send(&mut self, operation: &Operation) -> Result<(), Error> {
        self.begin()?;
        self.executed = operation.prepared;
        match operation.prepared {
            None => {
                command::query(&mut self.request.bytes, &operation.text);
                self.send_request(Form::Text)
            }
            Some(number) => {
                self.encode_execution(number, operation)?;
                self.send_request(Form::Binary)
            }
        }
    }

    #[inline]
    fn receive(&mut self) -> Result<Option<Reply>, Error> {
        let reply = self.take_in(|_| Ok(()))?;
        if reply.is_some()
            && let Some(statement) = self.executed.and_then(|number| self.prepared.get_mut(number))
        {
            statement.has_types = true;
        }
        Ok(reply)
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Error> {
        basecase_stop::check()?;
        self.begin()?;
        command::query(&mut self.request.bytes, sql);
        self.send_request(Form::Text)?;
        let mut rows = Rows::default();
        self.take_in(|row| rows.take(text_columns(row).map(|column| column.map_or(Value::Null, value_of))))?
            .ok_or_else(Error::not_blocking)?;
        Ok(rows.all())
    }

    fn has_unsent(&self) -> bool {
        self.request.has_rest()
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        Some(self.connection.as_fd())
    }

    fn set_blocking(&mut self, is_blocking: bool) -> Result<(), Error> {
        self.connection
            .set_blocking(is_blocking)
            .map_err(|error| Error::broken_connection(self.agreement.product.name(), &error))
    }

    /// None: a MySQL server is one process for all sessions.
    fn server_pid(&self) -> Option<u32> {
        None
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(self.breaker.interrupter())
    }
}

impl Drop for MysqlSession {
    fn drop(&mut self) {
        command::quit(&mut self.request.bytes);
        // The connection may be gone; the error does not matter then.
        let _ = self.request.send(&mut self.connection);
    }
}
