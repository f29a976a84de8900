//! The bytes of a request to the server.

use std::io::{self, Write};
use std::ops::Deref;

/// An encoded request, and how much of it the socket has not taken yet.
#[derive(Default)]
pub(crate) struct Request<Bytes> {
    /// The buffer that requests are encoded into, which is reused.
    pub(crate) bytes: Bytes,
    unsent: usize,
}

impl<Bytes: Deref<Target = [u8]>> Request<Bytes> {
    /// Sends the request. What a stream that does not block leaves is kept for [`Request::send_rest`].
    ///
    /// # Errors
    /// If the stream fails.
    #[inline]
    pub(crate) fn send(&mut self, stream: &mut impl Write) -> io::Result<()> {
        self.unsent = self.bytes.len();
        self.send_rest(stream)
    }

    /// Sends the rest of the request, as far as the stream takes it.
    ///
    /// # Errors
    /// If the stream fails.
    #[inline]
    pub(crate) fn send_rest(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while self.unsent > 0 {
            match stream.write(&self.bytes[self.bytes.len() - self.unsent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.unsent -= written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether part of the request is left to send.
    #[inline]
    pub(crate) fn has_rest(&self) -> bool {
        self.unsent > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes seven bytes at a time, and nothing every other time.
    #[derive(Default)]
    struct Narrow {
        taken: Vec<u8>,
        is_full: bool,
    }

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.is_full = !self.is_full;
            if !self.is_full {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let bytes = &bytes[..bytes.len().min(7)];
            self.taken.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_full_stream_leaves_is_sent_later_and_once() {
        let mut stream = Narrow::default();
        let mut request = Request { bytes: (0..40).collect::<Vec<u8>>(), unsent: 0 };
        request.send(&mut stream).unwrap();
        let mut calls = 1;
        while request.has_rest() {
            request.send_rest(&mut stream).unwrap();
            calls += 1;
        }
        assert_eq!((stream.taken, calls), (request.bytes, 6));
    }
}
