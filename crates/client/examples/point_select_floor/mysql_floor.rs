//! The least that a client of MySQL does.

use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use basecase_client::mysql::{Address, Host};

use crate::{Floor, Outcome};

// LONG_PASSWORD, LONG_FLAG, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_RESULTS,
// PS_MULTI_RESULTS: as the session asks for, but for what depends on the server.
const CAPABILITIES: u32 = 0x1 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x2_0000 | 0x4_0000;
const PLUGIN_AUTH: u32 = 0x8_0000;
const DEPRECATE_EOF: u32 = 0x100_0000;

pub(crate) struct MysqlFloor {
    stream: UnixStream,
    buffer: Vec<u8>,
    request: Vec<u8>,
    /// Packets of a reply that end column definitions and rows.
    ends: u8,
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [low, middle, high, ..] = payload.len().to_le_bytes();
    [&[low, middle, high, sequence], payload].concat()
}

impl MysqlFloor {
    pub(crate) fn connect(address: &Address, sql: &str) -> Outcome<MysqlFloor> {
        let Host::Socket(file) = &address.host else { return Err("give the file of a Unix socket".into()) };
        let mut floor = MysqlFloor {
            stream: UnixStream::connect(file)?,
            buffer: vec![0; 64 * 1024],
            request: Vec::new(),
            ends: 1,
        };
        let greeting = floor.packet()?;
        let version_end = greeting.iter().position(|byte| *byte == 0).ok_or("no version")?;
        let high = greeting.get(version_end + 19..version_end + 21).ok_or("no capabilities")?;
        let offered = u32::from(u16::from_le_bytes([high[0], high[1]])) << 16;
        let capabilities = CAPABILITIES | offered & (PLUGIN_AUTH | DEPRECATE_EOF);
        if capabilities & DEPRECATE_EOF == 0 {
            floor.ends = 2;
        }
        let mut login =
            [&capabilities.to_le_bytes()[..], &(1_u32 << 30).to_le_bytes(), &[45], &[0; 23]].concat();
        login.extend_from_slice(address.user.as_bytes());
        // The end of the name and an empty password.
        login.extend_from_slice(&[0, 0]);
        login.extend_from_slice(address.database.as_bytes());
        login.extend_from_slice(b"\0mysql_native_password\0");
        floor.stream.write_all(&packet(1, &login))?;
        let mut answer = floor.packet()?;
        if answer.first() == Some(&0xfe) {
            // Another login method; the password stays empty.
            floor.stream.write_all(&packet(3, &[]))?;
            answer = floor.packet()?;
        }
        if answer.first() != Some(&0) {
            return Err(String::from_utf8_lossy(&answer).into());
        }
        floor.stream.write_all(&packet(0, &[&[0x16], sql.as_bytes()].concat()))?;
        let prepared = floor.packet()?;
        let id = prepared.get(1..5).ok_or("not prepared")?;
        // One parameter and one column.
        for _ in 0..2 * floor.ends {
            floor.packet()?;
        }
        let head = [&[0x17], id, &[0, 1, 0, 0, 0, 0]].concat();
        let value = 500_i64.to_le_bytes();
        floor.request = packet(0, &[&head[..], &[1, 8, 0], &value].concat());
        floor.execute()?;
        floor.request = packet(0, &[&head[..], &[0], &value].concat());
        Ok(floor)
    }

    /// Reads one packet, byte by byte of its header; for the start-up.
    fn packet(&mut self) -> Result<Vec<u8>, Error> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }
}

impl Floor for MysqlFloor {
    #[inline]
    fn execute(&mut self) -> Result<(), Error> {
        self.stream.write_all(&self.request)?;
        let (mut start, mut end, mut ends) = (0, 0, 0);
        loop {
            end += self.stream.read(&mut self.buffer[end..])?;
            while let Some(header) = self.buffer[start..end].first_chunk::<5>() {
                let bytes = 4 + u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
                if end - start < bytes {
                    break;
                }
                match header[4] {
                    0xff => return Err(Error::new(ErrorKind::InvalidData, "MySQL sent an error")),
                    0xfe => ends += 1,
                    _ => {}
                }
                start += bytes;
            }
            if ends == self.ends && start == end {
                return Ok(());
            }
        }
    }
}
