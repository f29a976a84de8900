//! Packets: the pieces of at most 16 MiB into which both sides cut what they say.

use std::io::{self, Read};

use crate::buffer::ReadBuffer;

/// Length of the payload (3 bytes, little-endian) and sequence number of every packet.
const HEADER_BYTES: usize = 4;

/// The longest payload of one packet. A payload of this length goes on in the next packet.
pub(super) const LONGEST_PAYLOAD: usize = 0xff_ffff;

/// Reads whole payloads out of a stream, joined where they span several packets.
///
/// Sequence numbers are kept and not checked: servers begin anew at 0 for the farewell of a connection that they close.
pub(super) struct Packets {
    buffer: ReadBuffer,
    joined: Vec<u8>,
    sequence: u8,
}

impl Packets {
    pub(super) fn new() -> Self {
        Packets { buffer: ReadBuffer::new(), joined: Vec::new(), sequence: 0 }
    }

    /// The next payload, read from `stream` when the buffer does not hold all of it yet.
    #[inline]
    pub(super) fn next(&mut self, stream: &mut impl Read) -> io::Result<&[u8]> {
        let payload_bytes = self.complete_payload(stream)?;
        if payload_bytes == LONGEST_PAYLOAD {
            return self.join(stream);
        }
        Ok(&self.buffer.take(HEADER_BYTES + payload_bytes)[HEADER_BYTES..])
    }

    /// Sequence number of the packet that was read last.
    pub(super) fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Reads until the first packet is whole and returns the length of its payload.
    #[inline]
    fn complete_payload(&mut self, stream: &mut impl Read) -> io::Result<usize> {
        loop {
            let unread = self.buffer.unread();
            if let Some(header) = unread.first_chunk::<HEADER_BYTES>() {
                let payload_bytes = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
                if unread.len() >= HEADER_BYTES + payload_bytes {
                    self.sequence = header[3];
                    return Ok(payload_bytes);
                }
            }
            self.buffer.fill(stream)?;
        }
    }

    /// Copies the packets of one payload together.
    #[cold]
    fn join(&mut self, stream: &mut impl Read) -> io::Result<&[u8]> {
        self.joined.clear();
        loop {
            let payload_bytes = self.complete_payload(stream)?;
            let packet = self.buffer.take(HEADER_BYTES + payload_bytes);
            self.joined.extend_from_slice(&packet[HEADER_BYTES..]);
            if payload_bytes < LONGEST_PAYLOAD {
                return Ok(&self.joined);
            }
        }
    }
}

/// Begins a payload in `output`, which is emptied: leaves room for the header.
#[inline]
pub(super) fn begin(output: &mut Vec<u8>) {
    output.clear();
    output.extend_from_slice(&[0; HEADER_BYTES]);
}

/// Ends the payload in `output` that [`begin`] began: writes its header, and cuts it where it is too long for one packet.
#[inline]
pub(super) fn end(output: &mut Vec<u8>, sequence: u8) {
    let payload_bytes = output.len() - HEADER_BYTES;
    if payload_bytes < LONGEST_PAYLOAD {
        output[..HEADER_BYTES].copy_from_slice(&header(payload_bytes, sequence));
    } else {
        *output = cut(&output[HEADER_BYTES..], sequence);
    }
}

#[inline]
fn header(payload_bytes: usize, sequence: u8) -> [u8; HEADER_BYTES] {
    let [low, middle, high, ..] = payload_bytes.to_le_bytes();
    [low, middle, high, sequence]
}

/// Cuts a long payload into packets. The last one is shorter than the others, if need be empty.
#[cold]
fn cut(mut payload: &[u8], mut sequence: u8) -> Vec<u8> {
    let packets = payload.len() / LONGEST_PAYLOAD + 1;
    let mut output = Vec::with_capacity(payload.len() + packets * HEADER_BYTES);
    for _ in 0..packets {
        let (piece, rest) = payload.split_at(payload.len().min(LONGEST_PAYLOAD));
        output.extend_from_slice(&header(piece.len(), sequence));
        output.extend_from_slice(piece);
        payload = rest;
        sequence = sequence.wrapping_add(1);
    }
    output
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::buffer::tests::Trickle;

    fn packets_of(payloads: &[Vec<u8>]) -> Vec<u8> {
        let mut stream = Vec::new();
        for payload in payloads {
            let mut output = Vec::new();
            begin(&mut output);
            output.extend_from_slice(payload);
            end(&mut output, 7);
            stream.extend(output);
        }
        stream
    }

    #[test]
    fn long_payloads_are_cut_and_joined() {
        let payloads: Vec<Vec<u8>> = [5, LONGEST_PAYLOAD - 1, LONGEST_PAYLOAD, 2 * LONGEST_PAYLOAD + 3, 0]
            .into_iter()
            .map(|bytes| (0..bytes).map(|at| (at % 251) as u8).collect())
            .collect();
        let stream = packets_of(&payloads);
        // One header each, one more for each full packet.
        assert_eq!(stream.len(), payloads.iter().map(Vec::len).sum::<usize>() + (5 + 1 + 2) * HEADER_BYTES);
        let mut rest = stream.as_slice();
        let mut packets = Packets::new();
        for payload in &payloads {
            assert!(packets.next(&mut rest).unwrap() == payload);
        }
        assert_eq!(packets.sequence(), 7);
        let end = packets.next(&mut rest).err().map(|error| error.kind());
        assert_eq!(end, Some(io::ErrorKind::UnexpectedEof));
    }

    proptest! {
        #[test]
        fn packets_may_be_split_anywhere(sizes in prop::collection::vec(0_usize..200_000, 1..8)) {
            let payloads: Vec<Vec<u8>> =
                sizes.iter().map(|bytes| (0..*bytes).map(|at| (at % 251) as u8).collect()).collect();
            let stream = packets_of(&payloads);
            let mut trickle = Trickle::new(&stream);
            let mut packets = Packets::new();
            for payload in &payloads {
                prop_assert!(packets.next(&mut trickle).unwrap() == payload);
            }
        }

        #[test]
        fn garbage_never_panics(bytes: Vec<u8>) {
            let mut rest = bytes.as_slice();
            let mut packets = Packets::new();
            while packets.next(&mut rest).is_ok() {}
        }
    }
}
