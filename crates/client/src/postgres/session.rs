//! One session: requests out, replies scanned.

use std::io::{self, Write};

use basecase_model::{Operation, Parameter, ParameterType, Reply, Value};
use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::address::Address;
use super::login::log_in;
use super::reply::{Messages, affected_rows, columns, first_integer, server_error};
use crate::transport::Transport;
use crate::value::value_of;
use crate::{Error, Interrupter, Kind, Session};

/// Type ids of `pg_type.dat`, fixed in every version.
const INT8: u32 = 20;
const VARCHAR: u32 = 1043;
/// The results' format for all columns, as most drivers ask for.
const BINARY_RESULTS: [i16; 1] = [1];

/// A session with one Postgres server.
pub struct PostgresSession {
    transport: Transport,
    messages: Messages,
    output: BytesMut,
    /// Names of the prepared statements, by their numbers.
    prepared: Vec<String>,
    pid: u32,
}

impl PostgresSession {
    /// Connects and logs in.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses the login; the text names the address without its password.
    pub fn connect(address: &Address) -> Result<Self, Error> {
        let mut transport = address.connect().map_err(|error| {
            Error::new(Kind::Disconnected, format!("cannot connect to {}: {error}", address.redacted()))
                .with_hint("check that the server runs and that host and port are right")
        })?;
        let mut messages = Messages::new();
        let pid = log_in(address, &mut transport, &mut messages)
            .map_err(|error| error.while_trying(&format!("cannot log in to {}", address.redacted())))?;
        Ok(PostgresSession {
            transport,
            messages,
            output: BytesMut::with_capacity(16 * 1024),
            prepared: Vec::new(),
            pid,
        })
    }

    /// Sends what stands in the output buffer.
    #[inline]
    fn send(&mut self) -> Result<(), Error> {
        self.transport.write_all(&self.output).map_err(io_error)
    }

    /// Reads until the server is ready again, and shows every row to `on_row`.
    #[inline]
    fn receive(&mut self, mut on_row: impl FnMut(&[u8])) -> Result<Reply, Error> {
        let mut reply = Reply::default();
        let mut failure = None;
        loop {
            let message = self.messages.next(&mut self.transport).map_err(io_error)?;
            match message.tag {
                b'D' => {
                    reply.fetched += 1;
                    on_row(message.body);
                }
                b'C' => reply.affected += affected_rows(message.body),
                b'Z' => return failure.map_or(Ok(reply), Err),
                b'E' => {
                    let error = server_error(message.body);
                    // After such an error the server closes the connection and is never ready again.
                    if error.kind() == Kind::Disconnected {
                        return Err(error);
                    }
                    failure = Some(error);
                }
                b'G' | b'H' | b'W' => {
                    return Err(Error::new(Kind::Disconnected, "COPY is not supported in a session"));
                }
                _ => {}
            }
        }
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
            &mut self.output,
        )
        .map_err(|error| match error {
            frontend::BindError::Conversion(error) => io_error(io::Error::other(error)),
            frontend::BindError::Serialization(error) => io_error(error),
        })?;
        frontend::execute("", 0, &mut self.output).map_err(io_error)?;
        frontend::sync(&mut self.output);
        Ok(())
    }
}

impl Session for PostgresSession {
    fn prepare_with_types(&mut self, sql: &str, types: &[ParameterType]) -> Result<usize, Error> {
        let name = format!("s{}", self.prepared.len());
        self.output.clear();
        let types = types.iter().map(|declared| match declared {
            ParameterType::Integer => INT8,
            ParameterType::Text => VARCHAR,
        });
        frontend::parse(&name, sql, types, &mut self.output).map_err(io_error)?;
        frontend::sync(&mut self.output);
        self.send()?;
        self.receive(|_| {})?;
        self.prepared.push(name);
        Ok(self.prepared.len() - 1)
    }

    #[inline]
    fn execute(&mut self, operation: &Operation) -> Result<Reply, Error> {
        self.output.clear();
        match operation.prepared {
            None => frontend::query(&operation.text, &mut self.output).map_err(io_error)?,
            Some(number) => self.encode_execution(number, operation)?,
        }
        self.send()?;
        let mut first = None;
        // Results of prepared statements are binary, and their types are not asked for.
        let mut is_first = operation.prepared.is_none();
        let reply = self.receive(|row| {
            if is_first {
                first = first_integer(row);
                is_first = false;
            }
        })?;
        Ok(Reply { first, ..reply })
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Error> {
        self.output.clear();
        frontend::query(sql, &mut self.output).map_err(io_error)?;
        self.send()?;
        let mut rows = Vec::new();
        self.receive(|row| {
            rows.push(columns(row).map(|column| column.map_or(Value::Null, value_of)).collect());
        })?;
        Ok(rows)
    }

    fn server_pid(&self) -> Option<u32> {
        (self.transport.is_local() && self.pid > 0).then_some(self.pid)
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        let transport = self.transport.try_clone().map_err(io_error)?;
        Ok(Box::new(move || {
            // Already closed is what is wanted.
            let _ = transport.shutdown();
        }))
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        self.output.clear();
        frontend::terminate(&mut self.output);
        // The connection may be gone; there is nobody left to tell.
        let _ = self.send();
    }
}

pub(super) fn io_error(error: io::Error) -> Error {
    Error::broken_connection("Postgres", &error)
}
