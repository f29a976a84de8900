//! The least that a client of MySQL does.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use basecase_client::mysql::{Address, Host};

use super::{End, Floor, Outcome};

// LONG_PASSWORD, LONG_FLAG, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_RESULTS,
// PS_MULTI_RESULTS: as the session asks for, but for what depends on the server.
const CAPABILITIES: u32 = 0x1 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x2_0000 | 0x4_0000;
const PLUGIN_AUTH: u32 = 0x8_0000;
const DEPRECATE_EOF: u32 = 0x100_0000;

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [low, middle, high, ..] = payload.len().to_le_bytes();
    [&[low, middle, high, sequence], payload].concat()
}

pub(super) fn connect(address: &Address, sql: &str) -> Outcome<Floor> {
    let Host::Socket(file) = &address.host else { return Err("give the file of a Unix socket".into()) };
    let mut stream = UnixStream::connect(file)?;
    let greeting = read_packet(&mut stream)?;
    let version_end = greeting.iter().position(|byte| *byte == 0).ok_or("no version")?;
    let high = greeting.get(version_end + 19..version_end + 21).ok_or("no capabilities")?;
    let offered = u32::from(u16::from_le_bytes([high[0], high[1]])) << 16;
    let capabilities = CAPABILITIES | offered & (PLUGIN_AUTH | DEPRECATE_EOF);
    let ends = if capabilities & DEPRECATE_EOF == 0 { 2 } else { 1 };
    let mut login = [&capabilities.to_le_bytes()[..], &(1_u32 << 30).to_le_bytes(), &[45], &[0; 23]].concat();
    login.extend_from_slice(address.user.as_bytes());
    // The end of the name and an empty password.
    login.extend_from_slice(&[0, 0]);
    login.extend_from_slice(address.database.as_bytes());
    login.extend_from_slice(b"\0mysql_native_password\0");
    stream.write_all(&packet(1, &login))?;
    let mut answer = read_packet(&mut stream)?;
    if answer.first() == Some(&0xfe) {
        // Another login method; the password stays empty.
        stream.write_all(&packet(3, &[]))?;
        answer = read_packet(&mut stream)?;
    }
    if answer.first() != Some(&0) {
        return Err(String::from_utf8_lossy(&answer).into());
    }
    stream.write_all(&packet(0, &[&[0x16], sql.as_bytes()].concat()))?;
    let prepared = read_packet(&mut stream)?;
    let id = prepared.get(1..5).ok_or("not prepared")?;
    // One parameter and one column.
    for _ in 0..2 * ends {
        read_packet(&mut stream)?;
    }
    let head = [&[0x17], id, &[0, 1, 0, 0, 0, 0]].concat();
    let value = 500_i64.to_le_bytes();
    // The types of the parameters travel with the first execution.
    let request = packet(0, &[&head[..], &[1, 8, 0], &value].concat());
    let mut floor = Floor { stream, request, buffer: vec![0; 4096], received: 0, end: End::Mysql(ends) };
    floor.execute()?;
    floor.request = packet(0, &[&head[..], &[0], &value].concat());
    Ok(floor)
}

/// Reads one packet by two reads; for the start-up.
fn read_packet(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

/// Whether so many packets have come that end column definitions and rows, the last behind all others.
#[inline]
pub(super) fn is_whole(reply: &[u8], ends: u8) -> io::Result<bool> {
    let (mut rest, mut seen) = (reply, 0);
    while let Some(header) = rest.first_chunk::<5>() {
        let bytes = 4 + u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let Some(behind) = rest.get(bytes..) else { return Ok(false) };
        match header[4] {
            0xff => return Err(io::Error::other("MySQL sent an error")),
            0xfe => seen += 1,
            _ => {}
        }
        rest = behind;
    }
    Ok(seen == ends && rest.is_empty())
}
