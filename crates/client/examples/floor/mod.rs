//! The least that any client does for one point select: it sends bytes that were made beforehand, and scans the reply
//! for its end.

mod mysql;
mod postgres;

use std::io;
use std::os::unix::net::UnixStream;

use basecase_client::Endpoint;

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A connection with a statement that it executes again and again.
pub(crate) struct Floor {
    pub(crate) stream: UnixStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
    /// Bytes of the reply that are here.
    received: usize,
    end: End,
}

/// How a reply ends.
#[derive(Clone, Copy)]
enum End {
    Postgres,
    /// So many packets end column definitions and rows.
    Mysql(u8),
}

impl Floor {
    /// Connects, logs in without a password, and prepares `sql`, whose one parameter is 500.
    pub(crate) fn connect(endpoint: &Endpoint, sql: &str) -> Outcome<Floor> {
        match endpoint {
            Endpoint::Postgres(address) => postgres::connect(address, sql),
            Endpoint::Mysql(address) => mysql::connect(address, sql),
            Endpoint::Sqlite(_) | Endpoint::SqliteForked(_) => {
                Err("an embedded dbms has no connections".into())
            }
        }
    }

    /// Sends the execution of the statement.
    #[inline]
    pub(crate) fn send(&mut self) -> io::Result<()> {
        io::Write::write_all(&mut self.stream, &self.request)
    }

    /// Reads once, and returns whether the reply is whole.
    #[inline]
    pub(crate) fn receive(&mut self) -> io::Result<bool> {
        let bytes = io::Read::read(&mut self.stream, &mut self.buffer[self.received..])?;
        self.take(bytes)
    }

    /// Takes in `bytes` more of the reply, which are in the buffer, and returns whether it is whole.
    #[inline]
    fn take(&mut self, bytes: usize) -> io::Result<bool> {
        if bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.received += bytes;
        let reply = &self.buffer[..self.received];
        let is_whole = match self.end {
            End::Postgres => postgres::is_whole(reply)?,
            End::Mysql(ends) => mysql::is_whole(reply, ends)?,
        };
        if is_whole {
            self.received = 0;
        }
        Ok(is_whole)
    }

    /// Sends the execution of the statement and reads its reply to the end.
    #[inline]
    pub(crate) fn execute(&mut self) -> io::Result<()> {
        self.send()?;
        while !self.receive()? {}
        Ok(())
    }
}
