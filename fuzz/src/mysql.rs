//! What a MySQL or MariaDB server sends.

use arbitrary::{Result, Unstructured};

use crate::frames::Protocol;
use crate::{integer, word};

/// Packets: three bytes of length, a number, a payload.
pub const PROTOCOL: Protocol = Protocol {
    frame_bytes: |stream| {
        let header: [u8; 4] = stream.get(..4)?.try_into().ok()?;
        Some(u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize + 4)
    },
    header_bytes: 4,
    wrap: |_, payload, number| Ok(packet(number, payload)),
    stream,
};

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let [low, middle, high, ..] = payload.len().to_le_bytes();
    [&[low, middle, high, number][..], payload].concat()
}

fn stream(choices: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut payloads: Vec<Vec<u8>> = Vec::new();
    let mut deprecates_eof = choices.arbitrary()?;
    if choices.ratio(2, 3)? {
        deprecates_eof = login(choices, &mut payloads)?;
        if choices.arbitrary()? {
            preparation(choices, &mut payloads, deprecates_eof)?;
        }
    }
    for _ in 0..choices.int_in_range(0..=3)? {
        reply(choices, &mut payloads, deprecates_eof)?;
    }
    Ok(payloads.iter().zip(0..).map(|(payload, number)| packet(number, payload)).collect::<Vec<_>>().concat())
}

/// Returns whether rows end as since MySQL 5.7.
fn login(choices: &mut Unstructured<'_>, payloads: &mut Vec<Vec<u8>>) -> Result<bool> {
    let deprecates_eof = choices.arbitrary()?;
    let high = [0x0e, u8::from(deprecates_eof), 21];
    let version = word(
        choices,
        &["8.0.99", "5.5.3", "5.5.5-10.11.2-MariaDB", "x", "", "4294967296.1.1", "9.7.0-debug"],
    )?;
    let method = word(
        choices,
        &[
            "mysql_native_password",
            "caching_sha2_password",
            "sha256_password",
            "",
            "mysql_clear_password",
            "client_ed25519",
        ],
    )?;
    payloads.push(
        [
            b"\x0a".as_slice(),
            version.as_bytes(),
            b"\0\x07\0\0\0abcdefgh\0\x05\xa2\x2d\x02\0",
            &high,
            &[0; 10],
            b"ijklmnopqrst\0",
            method.as_bytes(),
            b"\0",
        ]
        .concat(),
    );
    for _ in 0..choices.int_in_range(0..=2)? {
        let method = word(choices, &["mysql_native_password", "caching_sha2_password", "dialog", ""])?;
        payloads.push(match choices.int_in_range(0..=5)? {
            0 => vec![1, 3],
            1 => vec![1, 4],
            2 => [b"\xfe".as_slice(), method.as_bytes(), b"\0abcdefghijklmnopqrst\0"].concat(),
            3 => vec![0xfe],
            4 => failure(choices)?,
            _ => [b"\x01".as_slice(), choices.bytes(5)?].concat(),
        });
    }
    payloads.push(vec![0, 0, 0, 2, 0, 0, 0]);
    Ok(deprecates_eof)
}

fn preparation(
    choices: &mut Unstructured<'_>,
    payloads: &mut Vec<Vec<u8>>,
    deprecates_eof: bool,
) -> Result<()> {
    let (columns, parameters) = (choices.int_in_range(0..=2_u8)?, choices.int_in_range(0..=2_u8)?);
    payloads.push(vec![0, 1, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0]);
    for count in [parameters, columns] {
        payloads.extend(std::iter::repeat_with(|| definition(8, 0)).take(count.into()));
        if count > 0 && !deprecates_eof {
            payloads.push(vec![0xfe, 0, 0, 2, 0]);
        }
    }
    Ok(())
}

fn definition(kind: u8, flags: u8) -> Vec<u8> {
    [b"\x03def\x01d\x01t\x01t\x02id\x02id\x0c\x3f\0\x14\0\0\0".as_slice(), &[kind, flags, 0, 0, 0, 0]]
        .concat()
}

fn reply(choices: &mut Unstructured<'_>, payloads: &mut Vec<Vec<u8>>, deprecates_eof: bool) -> Result<()> {
    const KINDS: [u8; 14] = [1, 2, 3, 8, 9, 13, 4, 5, 7, 12, 0xf6, 0xfd, 0xfe, 0xee];
    let status = if choices.ratio(1, 5)? { 8 } else { 2 };
    match choices.int_in_range(0..=7)? {
        0 => payloads.push([b"\0".as_slice(), &length(choices)?, &[0, status, 0, 0, 0]].concat()),
        1 => payloads.push(failure(choices)?),
        2 => payloads.push([b"\xfb".as_slice(), b"/etc/passwd"].concat()),
        _ => {
            let columns = choices.int_in_range(1..=10_u8)?;
            payloads.push(if choices.ratio(1, 10)? { length(choices)? } else { vec![columns] });
            let kind = *choices.choose(&KINDS)?;
            payloads.extend(std::iter::repeat_with(|| definition(kind, 32)).take(columns.into()));
            if !deprecates_eof {
                payloads.push(vec![0xfe, 0, 0, 2, 0]);
            }
            for _ in 0..choices.int_in_range(0..=3)? {
                payloads.push(row(choices, columns)?);
            }
            payloads.push(if choices.ratio(1, 8)? {
                failure(choices)?
            } else if deprecates_eof {
                vec![0xfe, 0, 0, status, 0, 0, 0]
            } else {
                vec![0xfe, 0, 0, status, 0]
            });
        }
    }
    Ok(())
}

fn row(choices: &mut Unstructured<'_>, columns: u8) -> Result<Vec<u8>> {
    if choices.arbitrary()? {
        // Binary: a zero, a bit for each null, values.
        let mut payload = vec![0; 1 + (usize::from(columns) + 9) / 8];
        if choices.ratio(1, 5)? {
            payload[1] = choices.arbitrary()?;
        }
        payload.extend_from_slice(choices.bytes(choices.len().min(12))?);
        return Ok(payload);
    }
    let mut payload = Vec::new();
    for _ in 0..columns {
        match choices.int_in_range(0..=4)? {
            0 => payload.push(0xfb),
            1 => payload.extend(length(choices)?),
            _ => {
                let text = integer(choices)?;
                payload.push(text.len() as u8);
                payload.extend_from_slice(text.as_bytes());
            }
        }
    }
    Ok(payload)
}

/// A length-encoded integer.
fn length(choices: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    Ok(match choices.int_in_range(0..=5)? {
        0 => vec![0xfc, choices.arbitrary()?, choices.arbitrary()?],
        1 => vec![0xfd, 0xff, 0xff, choices.arbitrary()?],
        2 => vec![0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, choices.arbitrary()?],
        3 => vec![*choices.choose(&[0xfb, 0xff, 0xfc, 0xfe])?],
        _ => vec![choices.int_in_range(0..=250)?],
    })
}

fn failure(choices: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let number = *choices.choose(&[
        1213_u16, 1205, 1020, 1062, 1053, 1045, 1040, 1049, 1064, 1927, 3101, 0, 65535, 1153, 2006,
    ])?;
    let text = word(choices, &["#40001said", "#HY000said", "#23000", "#2", "said", "", "#08S01\u{1b}[31m"])?;
    Ok([&[0xff], &number.to_le_bytes()[..], text.as_bytes()].concat())
}
