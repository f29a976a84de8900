//! A server of MySQL's protocol that answers from a list.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use basecase_client::Password;
use basecase_client::mysql::{Address, Host};

// LONG_PASSWORD, LONG_FLAG, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_RESULTS, PS_MULTI_RESULTS, PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x1 | 0x4 | 0x200 | 0x2000 | 0x8000 | 0x2_0000 | 0x4_0000 | 0x8_0000;
const DEPRECATE_EOF: u32 = 0x100_0000;

/// `MYSQL_TYPE_LONGLONG`.
pub(crate) const LONGLONG: u8 = 8;

/// An OK packet's payload: one row affected, autocommit.
pub(crate) const OK: &[u8] = &[0, 1, 0, 2, 0, 0, 0];

/// The payloads of one reply as packets.
pub(crate) fn packets(first_sequence: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut output = Vec::new();
    for (at, payload) in payloads.iter().enumerate() {
        let [low, middle, high, ..] = payload.len().to_le_bytes();
        output.extend_from_slice(&[low, middle, high, first_sequence.wrapping_add(at as u8)]);
        output.extend_from_slice(payload);
    }
    output
}

/// A column definition's payload.
pub(crate) fn definition(kind: u8) -> Vec<u8> {
    [b"\x03def\x02ib\x01t\x01t\x02id\x02id\x0c\x3f\0\x14\0\0\0".as_slice(), &[kind, 0, 0, 0, 0, 0]].concat()
}

/// What the server says first, with `method` as its usual login method.
pub(crate) fn greeting(method: &str, is_eof_deprecated: bool) -> Vec<u8> {
    let capabilities = CAPABILITIES | if is_eof_deprecated { DEPRECATE_EOF } else { 0 };
    let [a, b, c, d] = capabilities.to_le_bytes();
    let payload = [
        b"\x0a8.0.99-canned\0\x07\0\0\0abcdefgh\0".as_slice(),
        &[a, b, 45, 2, 0, c, d, 21],
        &[0; 10],
        b"ijklmnopqrst\0",
        method.as_bytes(),
        b"\0",
    ]
    .concat();
    packets(0, &[&payload])
}

/// The address of the server in `folder`.
pub(crate) fn address(folder: &Path) -> Address {
    Address {
        host: Host::Socket(folder.join("mysqld.sock")),
        port: 3306,
        user: "basecase".into(),
        password: Password::new("secret"),
        database: "ib".into(),
    }
}

/// Greets one client, gives each packet that it sends the next of `answers`, and closes the connection after the last.
pub(crate) fn serve(
    folder: &Path,
    greeting: Vec<u8>,
    answers: impl Iterator<Item = Vec<u8>> + Send + 'static,
) {
    let listener = UnixListener::bind(folder.join("mysqld.sock")).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // The client may be gone at any point, which is its right.
        let _ = answer_all(&mut stream, &greeting, answers);
    });
}

fn answer_all(
    stream: &mut UnixStream,
    greeting: &[u8],
    answers: impl Iterator<Item = Vec<u8>>,
) -> std::io::Result<()> {
    stream.write_all(greeting)?;
    let mut request = vec![0; 65_536];
    for answer in answers {
        if stream.read(&mut request)? == 0 {
            break;
        }
        stream.write_all(&answer)?;
    }
    Ok(())
}
