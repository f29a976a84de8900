//! The least that a client of Postgres does.

use std::io;
use std::os::unix::net::UnixStream;

use basecase_client::postgres::{Address, Host};
use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::{End, Floor, Outcome};

pub(super) fn connect(address: &Address, sql: &str) -> Outcome<Floor> {
    let Host::Socket(folder) = &address.host else {
        return Err("give the folder of a Unix socket".into());
    };
    let stream = UnixStream::connect(folder.join(format!(".s.PGSQL.{}", address.port)))?;
    let mut floor =
        Floor { stream, request: Vec::new(), buffer: vec![0; 4096], received: 0, end: End::Postgres };
    let mut output = BytesMut::new();
    frontend::startup_message(
        [("user", address.user.as_str()), ("database", &address.database)],
        &mut output,
    )?;
    floor.request = output.to_vec();
    floor.execute()?;
    output.clear();
    frontend::parse("s0", sql, [], &mut output)?;
    frontend::sync(&mut output);
    floor.request = output.to_vec();
    floor.execute()?;
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

/// Whether a message `ReadyForQuery` has come.
#[inline]
pub(super) fn is_whole(reply: &[u8]) -> io::Result<bool> {
    let mut rest = reply;
    while let Some(header) = rest.first_chunk::<5>() {
        let bytes = 1 + u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        match (header[0], rest.get(bytes..)) {
            (_, None) => return Ok(false),
            (b'Z', _) => return Ok(true),
            (b'E', _) => return Err(io::Error::other("Postgres sent an error")),
            (_, Some(behind)) => rest = behind,
        }
    }
    Ok(false)
}
