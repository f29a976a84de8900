//! The least that a client of Postgres does.

use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use basecase_client::postgres::{Address, Host};
use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use crate::{Floor, Outcome};

pub(crate) struct PostgresFloor {
    stream: UnixStream,
    buffer: Vec<u8>,
    request: Vec<u8>,
}

impl PostgresFloor {
    pub(crate) fn connect(address: &Address, sql: &str) -> Outcome<PostgresFloor> {
        let Host::Socket(folder) = &address.host else {
            return Err("give the folder of a Unix socket".into());
        };
        let stream = UnixStream::connect(folder.join(format!(".s.PGSQL.{}", address.port)))?;
        let mut floor = PostgresFloor { stream, buffer: vec![0; 64 * 1024], request: Vec::new() };
        let mut output = BytesMut::new();
        frontend::startup_message(
            [("user", address.user.as_str()), ("database", &address.database)],
            &mut output,
        )?;
        floor.exchange(&output)?;
        output.clear();
        frontend::parse("s0", sql, [], &mut output)?;
        frontend::sync(&mut output);
        floor.exchange(&output)?;
        output.clear();
        frontend::bind(
            "",
            "s0",
            [0i16; 0],
            [b"500"],
            |parameter, output| {
                output.put_slice(parameter);
                Ok(IsNull::No)
            },
            [0i16; 0],
            &mut output,
        )
        .map_err(|_| "cannot bind")?;
        frontend::execute("", 0, &mut output)?;
        frontend::sync(&mut output);
        floor.request = output.to_vec();
        Ok(floor)
    }

    fn exchange(&mut self, request: &[u8]) -> Result<(), Error> {
        self.stream.write_all(request)?;
        read_to_ready(&mut self.stream, &mut self.buffer)
    }
}

impl Floor for PostgresFloor {
    #[inline]
    fn execute(&mut self) -> Result<(), Error> {
        self.stream.write_all(&self.request)?;
        read_to_ready(&mut self.stream, &mut self.buffer)
    }
}

/// Reads up to a message `ReadyForQuery`.
#[inline]
fn read_to_ready(stream: &mut UnixStream, buffer: &mut [u8]) -> Result<(), Error> {
    let (mut start, mut end) = (0, 0);
    loop {
        end += stream.read(&mut buffer[end..])?;
        while let Some(header) = buffer[start..end].first_chunk::<5>() {
            let bytes = 1 + u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
            if end - start < bytes {
                break;
            }
            match header[0] {
                b'Z' => return Ok(()),
                b'E' => return Err(Error::new(ErrorKind::InvalidData, "Postgres sent an error")),
                _ => start += bytes,
            }
        }
    }
}
