//! What a Postgres server sends.

use arbitrary::{Result, Unstructured};

use crate::frames::Protocol;
use crate::{integer, word};

/// Messages: a tag, four bytes of length that count themselves, a body.
pub const PROTOCOL: Protocol = Protocol {
    frame_bytes: |stream| {
        let length: [u8; 4] = stream.get(1..5)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(length)).ok()?.checked_add(1)
    },
    header_bytes: 5,
    wrap: |choices, body, _| {
        let tag = *choices.choose(b"RKZETDC1ntNSGHWI2s")?;
        Ok(message(tag, body))
    },
    stream,
};

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn stream(choices: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut stream = Vec::new();
    if choices.ratio(2, 3)? {
        stream.extend(login(choices)?);
        if choices.arbitrary()? {
            stream.extend(message(b'1', &[]));
            stream.extend(message(b'Z', b"I"));
        }
    }
    for _ in 0..choices.int_in_range(0..=3)? {
        stream.extend(reply(choices)?);
    }
    Ok(stream)
}

fn login(choices: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut stream = Vec::new();
    let request = |number: u32, rest: &[u8]| message(b'R', &[&number.to_be_bytes()[..], rest].concat());
    match choices.int_in_range(0..=5)? {
        0 => stream.extend(request(3, b"")),
        1 => stream.extend(request(5, b"salt")),
        2 | 3 => {
            stream.extend(request(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"));
            let iterations =
                word(choices, &["4096", "1", "0", "2", "-1", "300", "4294967295", "4294967296", "x", ""])?;
            let salt = word(choices, &["c2FsdHNhbHQ=", "", "%%", "AA=="])?;
            let text = format!(
                "r=%NONCE%{},s={salt},i={iterations}{}",
                word(choices, &["abc", "", ",m=1"])?,
                word(choices, &["", ",x=1"])?
            );
            stream.extend(request(11, text.as_bytes()));
            stream.extend(request(
                12,
                word(choices, &["v=AAAA", "e=other-error", "v=", "x", "v=c2lnbmF0dXJl"])?.as_bytes(),
            ));
        }
        4 => stream.extend(request(choices.int_in_range(0..=13)?, b"more")),
        _ => {}
    }
    if choices.ratio(1, 6)? {
        stream.extend(failure(choices)?);
    }
    stream.extend(request(0, b""));
    stream.extend(message(b'S', b"server_version\x0018.0\0"));
    stream.extend(message(b'K', &[0, 0, 4, 210, 1, 2, 3, 4]));
    stream.extend(message(b'Z', b"I"));
    Ok(stream)
}

fn reply(choices: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut stream = Vec::new();
    if choices.arbitrary()? {
        stream.extend(message(b'2', &[]));
    }
    let columns = choices.int_in_range(0..=3_u16)?;
    if choices.ratio(3, 4)? {
        let mut body = columns.to_be_bytes().to_vec();
        for _ in 0..columns {
            body.extend_from_slice(b"id\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0");
        }
        stream.extend(message(b'T', &body));
    }
    for _ in 0..choices.int_in_range(0..=4)? {
        stream.extend(row(choices, columns)?);
    }
    match choices.int_in_range(0..=6)? {
        0 => stream.extend(failure(choices)?),
        1 => stream.extend(message(*choices.choose(b"GHWINAS")?, b"SWARNING\0Mbeware\0\0")),
        _ => {
            let word = word(
                choices,
                &["INSERT 0", "UPDATE", "DELETE", "SELECT", "CREATE TABLE", "MERGE", "COPY", ""],
            )?;
            let rows =
                if choices.ratio(1, 8)? { "99999999999999999999999".into() } else { integer(choices)? };
            stream.extend(message(b'C', format!("{word} {rows}\0").as_bytes()));
        }
    }
    stream.extend(message(b'Z', word(choices, &["I", "T", "E", ""])?.as_bytes()));
    Ok(stream)
}

fn row(choices: &mut Unstructured<'_>, columns: u16) -> Result<Vec<u8>> {
    let mut body = columns.to_be_bytes().to_vec();
    for _ in 0..columns {
        if choices.ratio(1, 5)? {
            body.extend_from_slice(&(-1_i32).to_be_bytes());
            continue;
        }
        let text = if choices.arbitrary()? {
            integer(choices)?
        } else {
            word(choices, &["", "text", "\u{1b}[31m", "1.5"])?.into()
        };
        body.extend_from_slice(&(text.len() as u32).to_be_bytes());
        body.extend_from_slice(text.as_bytes());
    }
    Ok(message(b'D', &body))
}

fn failure(choices: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let code = word(
        choices,
        &["40P01", "40001", "55P03", "57P01", "08006", "23505", "42P01", "28P01", "28000", "3D000", "", "x"],
    )?;
    let hint = word(choices, &["", "Hdo that\0", "H\0", "X\0"])?;
    Ok(message(b'E', format!("SERROR\0C{code}\0Msaid\0{hint}\0").as_bytes()))
}
