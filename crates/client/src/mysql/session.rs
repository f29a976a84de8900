//! One session: commands out, replies scanned.

use std::io::Write;

use basecase_model::{Operation, ParameterType, Reply, Value};

use super::address::Address;
use super::command;
use super::error::server_error;
use super::login::{Agreement, log_in};
use super::packet::{LONGEST_PAYLOAD, Packets};
use super::reply::{
    Column, Completion, EOF, ERR, Form, LOCAL_FILE_OR_NULL, OK, Preparation, first_integer, length_encoded,
    text_columns,
};
use crate::transport::Transport;
use crate::value::value_of;
use crate::{Error, Interrupter, Kind, Session};

/// A session with one MySQL or MariaDB server.
pub struct MysqlSession {
    transport: Transport,
    packets: Packets,
    output: Vec<u8>,
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
    /// When the server cannot be reached or refuses the login; the text names the address without its password.
    pub fn connect(address: &Address) -> Result<Self, Error> {
        let mut transport = address.connect().map_err(|error| {
            Error::new(Kind::Disconnected, format!("cannot connect to {}: {error}", address.redacted()))
                .with_hint("check that the server runs and that host and port are right")
        })?;
        let mut packets = Packets::new();
        let agreement = log_in(address, &mut transport, &mut packets)
            .map_err(|error| error.while_trying(&format!("cannot log in to {}", address.redacted())))?;
        let output = Vec::with_capacity(16 * 1024);
        Ok(MysqlSession { transport, packets, output, prepared: Vec::new(), agreement })
    }

    /// Sends what stands in the output buffer.
    #[inline]
    fn send(&mut self) -> Result<(), Error> {
        self.transport.write_all(&self.output).map_err(|error| self.farewell(&error))
    }

    /// Why a command could not be sent. A server that closes a connection says why before it does.
    #[cold]
    fn farewell(&mut self, error: &std::io::Error) -> Error {
        match self.packets.next(&mut self.transport) {
            Ok(packet) if packet.first() == Some(&ERR) => server_error(self.agreement.product, packet),
            _ => Error::broken_connection(self.agreement.product.name(), error),
        }
    }

    /// The next packet; an error when it is one.
    #[inline]
    fn next(&mut self) -> Result<&[u8], Error> {
        let product = self.agreement.product;
        let packet = self
            .packets
            .next(&mut self.transport)
            .map_err(|error| Error::broken_connection(product.name(), &error))?;
        if packet.first() == Some(&ERR) { Err(server_error(product, packet)) } else { Ok(packet) }
    }

    /// Reads the whole reply to a command, and shows every row with the number of its columns and the first of them.
    #[inline]
    fn receive(&mut self, mut on_row: impl FnMut(&[u8], u64, Column)) -> Result<Reply, Error> {
        let mut reply = Reply::default();
        loop {
            let packet = self.next()?;
            let completion = match packet.first() {
                Some(&OK) => Completion::of_ok(packet).ok_or_else(cut_off)?,
                Some(&LOCAL_FILE_OR_NULL) => {
                    return Err(Error::new(
                        Kind::Disconnected,
                        "LOAD DATA LOCAL is not supported in a session",
                    ));
                }
                _ => {
                    let (columns, _) = length_encoded(packet).ok_or_else(cut_off)?;
                    self.receive_rows(columns, &mut reply, &mut on_row)?
                }
            };
            reply.affected += completion.affected;
            if !completion.is_followed {
                return Ok(reply);
            }
        }
    }

    /// Reads column definitions and rows up to their end.
    #[inline]
    fn receive_rows(
        &mut self,
        columns: u64,
        reply: &mut Reply,
        on_row: &mut impl FnMut(&[u8], u64, Column),
    ) -> Result<Completion, Error> {
        let first = Column::of_definition(self.next()?).ok_or_else(cut_off)?;
        for _ in 1..columns {
            self.next()?;
        }
        let is_eof_deprecated = self.agreement.is_eof_deprecated;
        if !is_eof_deprecated {
            self.next()?;
        }
        loop {
            let packet = self.next()?;
            // A row of text whose first column is huge begins with the same byte, and is longer than any end.
            if packet.first() == Some(&EOF) && packet.len() < LONGEST_PAYLOAD {
                let end = if is_eof_deprecated { Completion::of_ok } else { Completion::of_eof };
                return end(packet).ok_or_else(cut_off);
            }
            reply.fetched += 1;
            on_row(packet, columns, first);
        }
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
        // The server would read on behind the end of too short a packet.
        if statement.parameters != operation.parameters.len() {
            return refuse(format!(
                "prepared statement {number} takes {} parameters and was given {}",
                statement.parameters,
                operation.parameters.len()
            ));
        }
        command::execute(&mut self.output, statement.id, operation, !statement.has_types);
        Ok(())
    }
}

impl Session for MysqlSession {
    /// The types are sent with the first execution.
    fn prepare_with_types(&mut self, sql: &str, _types: &[ParameterType]) -> Result<usize, Error> {
        command::prepare(&mut self.output, sql);
        self.send()?;
        let preparation = Preparation::of_packet(self.next()?).ok_or_else(cut_off)?;
        self.skip_definitions(preparation.parameters)?;
        self.skip_definitions(preparation.columns)?;
        self.prepared.push(Prepared {
            id: preparation.id,
            parameters: preparation.parameters.into(),
            has_types: false,
        });
        Ok(self.prepared.len() - 1)
    }

    #[inline]
    fn execute(&mut self, operation: &Operation) -> Result<Reply, Error> {
        let form = match operation.prepared {
            None => {
                command::query(&mut self.output, &operation.text);
                Form::Text
            }
            Some(number) => {
                self.encode_execution(number, operation)?;
                Form::Binary
            }
        };
        self.send()?;
        let mut first = None;
        let mut is_first = true;
        let reply = self.receive(|row, columns, column| {
            if is_first {
                first = first_integer(form, row, columns, column);
                is_first = false;
            }
        })?;
        if let Some(statement) = operation.prepared.and_then(|number| self.prepared.get_mut(number)) {
            statement.has_types = true;
        }
        Ok(Reply { first, ..reply })
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Error> {
        command::query(&mut self.output, sql);
        self.send()?;
        let mut rows = Vec::new();
        self.receive(|row, _, _| {
            rows.push(text_columns(row).map(|column| column.map_or(Value::Null, value_of)).collect());
        })?;
        Ok(rows)
    }

    /// None: a MySQL server is one process for all sessions.
    fn server_pid(&self) -> Option<u32> {
        None
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        let transport = self
            .transport
            .try_clone()
            .map_err(|error| Error::broken_connection(self.agreement.product.name(), &error))?;
        Ok(Box::new(move || {
            // Already closed is what is wanted.
            let _ = transport.shutdown();
        }))
    }
}

impl Drop for MysqlSession {
    fn drop(&mut self) {
        command::quit(&mut self.output);
        // The connection may be gone; there is nobody left to tell.
        let _ = self.transport.write_all(&self.output);
    }
}

fn cut_off() -> Error {
    Error::unexpected("a packet that is cut off")
}
