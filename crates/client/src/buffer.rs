//! The bytes that a server has sent and that are still unread.

use std::io::{self, Read};

/// The initial size of a buffer. It is small, so that the buffers of thousands of sessions with short replies stay in the
/// processor's caches.
const FIRST_BYTES: usize = 4 * 1024;
/// The size up to which a buffer grows if the server sends much, so that long replies take few reads.
const AHEAD_BYTES: usize = 64 * 1024;

/// Bytes read ahead from a stream. The buffer grows while reads fill it, and to the length of the longest message, and is
/// then reused.
pub(crate) struct ReadBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl ReadBuffer {
    pub(crate) fn new() -> Self {
        ReadBuffer { bytes: vec![0; FIRST_BYTES], start: 0, end: 0 }
    }

    /// What has been read but not taken.
    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes the first `count` unread bytes; there must be as many.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let taken = &self.bytes[self.start..self.end][..count];
        self.start += count;
        taken
    }

    /// Reads once from `stream`, behind what is unread.
    ///
    /// # Errors
    /// If the stream fails or has ended; [`io::ErrorKind::WouldBlock`] if it does not block and has nothing yet.
    pub(crate) fn fill(&mut self, stream: &mut impl Read) -> io::Result<()> {
        let is_full = self.end == self.bytes.len();
        if is_full || self.start == self.end {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if is_full && (self.end == self.bytes.len() || self.bytes.len() < AHEAD_BYTES) {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        loop {
            match stream.read(&mut self.bytes[self.end..]) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the server closed the connection",
                    ));
                }
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Streams for tests.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns bytes in small uneven pieces.
    pub(crate) struct Trickle<'a> {
        bytes: &'a [u8],
        piece_bytes: usize,
    }

    impl<'a> Trickle<'a> {
        pub(crate) fn new(bytes: &'a [u8]) -> Self {
            Trickle { bytes, piece_bytes: 0 }
        }
    }

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.piece_bytes = self.piece_bytes % 9_000 + 1_001;
            let bytes = self.piece_bytes.min(self.bytes.len()).min(buffer.len());
            buffer[..bytes].copy_from_slice(&self.bytes[..bytes]);
            self.bytes = &self.bytes[bytes..];
            Ok(bytes)
        }
    }

    /// Returns bytes in two pieces, like a non-blocking socket: between the pieces there is nothing to read.
    pub(crate) struct Pieces<'a> {
        pieces: [&'a [u8]; 2],
        is_between: bool,
    }

    impl<'a> Pieces<'a> {
        pub(crate) fn new(bytes: &'a [u8], cut: usize) -> Self {
            let (first, second) = bytes.split_at(cut);
            Pieces { pieces: [first, second], is_between: true }
        }
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let [first, second] = &mut self.pieces;
            if !first.is_empty() {
                return first.read(buffer);
            }
            if std::mem::take(&mut self.is_between) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            second.read(buffer)
        }
    }

    #[test]
    fn a_buffer_grows_and_keeps_order() {
        let sent: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut stream = Trickle::new(&sent);
        let mut buffer = ReadBuffer::new();
        let mut received = Vec::new();
        while buffer.fill(&mut stream).is_ok() {
            if buffer.unread().len() > 150_000 {
                received.extend_from_slice(buffer.take(149_999));
            }
        }
        received.extend_from_slice(buffer.unread());
        assert!(received == sent);
    }
}
