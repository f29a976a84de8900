//! Streams of frames: messages of Postgres, packets of MySQL.

use arbitrary::{Result, Unstructured};

/// How a protocol cuts its stream, and what it may say.
pub struct Protocol {
    /// Length of the first frame of a stream, its header included; `None` when not all of it is there.
    pub frame_bytes: fn(&[u8]) -> Option<usize>,
    /// Bytes before a frame's content.
    pub header_bytes: usize,
    /// A content with its header, which is numbered `number`.
    pub wrap: fn(&mut Unstructured<'_>, &[u8], u8) -> Result<Vec<u8>>,
    /// A whole connection, or the reply to one statement.
    pub stream: fn(&mut Unstructured<'_>) -> Result<Vec<u8>>,
}

/// A new stream, or `input` with frames put in, taken out, moved, or changed.
pub fn mutate(input: &[u8], choices: &mut Unstructured<'_>, protocol: &Protocol) -> Result<Vec<u8>> {
    let mut frames = frames(input, protocol);
    if frames.is_empty() {
        return (protocol.stream)(choices);
    }
    for _ in 0..choices.int_in_range(1..=3)? {
        if frames.is_empty() {
            break;
        }
        let at = choices.choose_index(frames.len())?;
        match choices.int_in_range(0..=9)? {
            0 => return (protocol.stream)(choices),
            1 => drop(frames.remove(at)),
            2 => frames.insert(at, frames[at].clone()),
            3 => {
                let other = choices.choose_index(frames.len())?;
                frames.swap(at, other);
            }
            4 | 5 => {
                let new = self::frames(&(protocol.stream)(choices)?, protocol);
                if !new.is_empty() {
                    let (start, end) =
                        (choices.choose_index(new.len())?, choices.int_in_range(1..=new.len())?);
                    frames.splice(at..at, new[start.min(end - 1)..end].iter().cloned());
                }
            }
            // The length says something else than is there.
            6 => {
                let place = choices.int_in_range(0..=protocol.header_bytes - 1)?;
                if let Some(byte) = frames[at].get_mut(place) {
                    *byte = choices.arbitrary()?;
                }
            }
            7 | 8 => {
                let header = protocol.header_bytes.min(frames[at].len());
                let mut content = frames[at][header..].to_vec();
                change(&mut content, choices)?;
                frames[at] = (protocol.wrap)(choices, &content, at as u8)?;
            }
            // Cut at any point.
            _ => {
                let length = choices.int_in_range(0..=frames[at].len())?;
                frames[at].truncate(length);
                frames.truncate(at + 1);
            }
        }
    }
    Ok(frames.concat())
}

/// The frames of a stream; what is left at its end is the last.
fn frames(mut stream: &[u8], protocol: &Protocol) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while !stream.is_empty() {
        let bytes = (protocol.frame_bytes)(stream).unwrap_or(stream.len()).clamp(1, stream.len());
        let (frame, rest) = stream.split_at(bytes);
        frames.push(frame.to_vec());
        stream = rest;
    }
    frames
}

/// Changes one place of a content.
fn change(content: &mut Vec<u8>, choices: &mut Unstructured<'_>) -> Result<()> {
    const EDGES: [u8; 12] = [0, 1, 2, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, b'r'];
    let at = choices.int_in_range(0..=content.len())?;
    match choices.int_in_range(0..=4)? {
        0 => content.insert(at, *choices.choose(&EDGES)?),
        1 => content.truncate(at),
        2 => {
            let more = choices.bytes(choices.len().min(7))?.to_vec();
            content.splice(at..at, more);
        }
        _ if at < content.len() => {
            content[at] = if choices.arbitrary()? { *choices.choose(&EDGES)? } else { choices.arbitrary()? }
        }
        _ => content.push(0),
    }
    Ok(())
}
