//! Packets: both sides split what they send into pieces of at most 16 MiB.

use std::io::{self, Read};

use crate::bounds::{MESSAGE_BYTES, long_message};
use crate::buffer::ReadBuffer;

/// Length of the payload (3 bytes, little-endian) and sequence number of every packet.
const HEADER_BYTES: usize = 4;

/// The longest payload of one packet. A payload of this length continues in the next packet.
pub(super) const LONGEST_PAYLOAD: usize = 0xff_ffff;

/// Reads whole payloads from a stream, joining those that span several packets.
///
/// Sequence numbers are kept but not checked, because servers restart at 0 for the last message on a connection that they
/// close.
pub(super) struct Packets {
    buffer: ReadBuffer,
    joined: Vec<u8>,
    /// Whether the payload in `joined` continues in the next packet.
    is_joining: bool,
    sequence: u8,
}

impl Packets {
    pub(super) fn new() -> Self {
        Packets { buffer: ReadBuffer::new(), joined: Vec::new(), is_joining: false, sequence: 0 }
    }

    /// The next payload, if it has arrived completely.
    ///
    /// # Errors
    /// If it is longer than allowed.
    #[inline]
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(payload_bytes) = self.complete_payload() else { return Ok(None) };
        if payload_bytes == LONGEST_PAYLOAD || self.is_joining {
            return self.join(payload_bytes);
        }
        Ok(Some(&self.buffer.take(HEADER_BYTES + payload_bytes)[HEADER_BYTES..]))
    }

    /// The next payload, read from `stream` if it has not arrived completely. Off the hot path.
    pub(super) fn read(&mut self, stream: &mut impl Read) -> io::Result<Vec<u8>> {
        loop {
            if let Some(payload) = self.next()? {
                return Ok(payload.to_vec());
            }
            self.fill(stream)?;
        }
    }

    /// Reads once from `stream`.
    ///
    /// # Errors
    /// If the stream fails or has ended; [`io::ErrorKind::WouldBlock`] if it does not block and has nothing yet.
    #[inline]
    pub(super) fn fill(&mut self, stream: &mut impl Read) -> io::Result<()> {
        self.buffer.fill(stream)
    }

    /// The sequence number of the last packet taken.
    pub(super) fn sequence(&self) -> u8 {
        self.sequence
    }

    /// The length of the first packet's payload, if it has arrived completely.
    #[inline]
    fn complete_payload(&mut self) -> Option<usize> {
        let unread = self.buffer.unread();
        let header = unread.first_chunk::<HEADER_BYTES>()?;
        let payload_bytes = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        if unread.len() < HEADER_BYTES + payload_bytes {
            return None;
        }
        self.sequence = header[3];
        Some(payload_bytes)
    }

    /// Joins the packets of one payload, as far as they have arrived; the first has `payload_bytes`.
    #[cold]
    fn join(&mut self, mut payload_bytes: usize) -> io::Result<Option<&[u8]>> {
        if !self.is_joining {
            self.joined.clear();
        }
        loop {
            if self.joined.len() + payload_bytes > MESSAGE_BYTES {
                return Err(long_message());
            }
            let packet = self.buffer.take(HEADER_BYTES + payload_bytes);
            self.joined.extend_from_slice(&packet[HEADER_BYTES..]);
            self.is_joining = payload_bytes == LONGEST_PAYLOAD;
            if !self.is_joining {
                return Ok(Some(&self.joined));
            }
            let Some(next) = self.complete_payload() else { return Ok(None) };
            payload_bytes = next;
        }
    }
}

/// Begins a payload in `output`, which is cleared, and leaves room for the header.
#[inline]
pub(super) fn begin(output: &mut Vec<u8>) {
    output.clear();
    output.extend_from_slice(&[0; HEADER_BYTES]);
}

/// Ends the payload in `output` that [`begin`] began: writes its header, and splits it if it is too long for one packet.
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

/// Splits a long payload into packets. The last one is shorter than the others, and may be empty.
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
            assert!(packets.read(&mut rest).unwrap() == *payload);
        }
        assert_eq!(packets.sequence(), 7);
        let end = packets.read(&mut rest).err().map(|error| error.kind());
        assert_eq!(end, Some(io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn defect_16_packets_are_joined_up_to_a_bound() {
        let packet = [&header(LONGEST_PAYLOAD, 0)[..], &vec![7; LONGEST_PAYLOAD]].concat();
        let mut endless = std::iter::repeat_n(packet.as_slice(), 100)
            .fold(Box::new(io::empty()) as Box<dyn Read>, |stream, packet| Box::new(stream.chain(packet)));
        let mut packets = Packets::new();
        let error = packets.read(&mut endless).err().unwrap();
        assert!(error.to_string().contains("more than 64 MiB"), "{error}");
        assert!(packets.joined.len() <= MESSAGE_BYTES);
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
                prop_assert!(packets.read(&mut trickle).unwrap() == *payload);
            }
        }

        #[test]
        fn garbage_never_panics(bytes: Vec<u8>) {
            let mut rest = bytes.as_slice();
            let mut packets = Packets::new();
            while packets.read(&mut rest).is_ok() {}
        }
    }
}
