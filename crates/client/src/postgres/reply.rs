//! Replies from the server: splits the stream into messages, and reads the few fields that matter.

use std::io::{self, Read};

use crate::bounds::{MESSAGE_BYTES, long_message, words};
use crate::buffer::ReadBuffer;
use crate::error::Hinted;
use crate::value::integer_of;
use crate::{Error, Kind};

/// One message from the server, as a slice of the buffer.
pub(super) struct Message<'a> {
    pub(super) tag: u8,
    pub(super) body: &'a [u8],
}

/// Reads whole messages from a stream.
pub(super) struct Messages {
    buffer: ReadBuffer,
}

/// Tag and length of every message.
const HEADER_BYTES: usize = 5;

impl Messages {
    pub(super) fn new() -> Self {
        Messages { buffer: ReadBuffer::new() }
    }

    /// The next message, if it has arrived completely.
    #[inline]
    pub(super) fn next(&mut self) -> io::Result<Option<Message<'_>>> {
        Ok(self.complete_body()?.map(|body_bytes| self.take(body_bytes)))
    }

    /// The next message, read from `stream` if it has not arrived completely.
    pub(super) fn read(&mut self, stream: &mut impl Read) -> io::Result<Message<'_>> {
        let body_bytes = loop {
            match self.complete_body()? {
                Some(body_bytes) => break body_bytes,
                None => self.fill(stream)?,
            }
        };
        Ok(self.take(body_bytes))
    }

    /// Reads once from `stream`.
    ///
    /// # Errors
    /// If the stream fails or has ended; [`io::ErrorKind::WouldBlock`] if it does not block and has nothing yet.
    #[inline]
    pub(super) fn fill(&mut self, stream: &mut impl Read) -> io::Result<()> {
        self.buffer.fill(stream)
    }

    #[inline]
    fn take(&mut self, body_bytes: usize) -> Message<'_> {
        let message = self.buffer.take(HEADER_BYTES + body_bytes);
        Message { tag: message[0], body: &message[HEADER_BYTES..] }
    }

    /// The length of the first message's body, if it has arrived completely.
    #[inline]
    fn complete_body(&self) -> io::Result<Option<usize>> {
        let unread = self.buffer.unread();
        let Some(header) = unread.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let Some(body_bytes) = length.checked_sub(4).filter(|bytes| *bytes <= MESSAGE_BYTES) else {
            return Err(wrong_length(length));
        };
        Ok((unread.len() >= HEADER_BYTES + body_bytes).then_some(body_bytes))
    }
}

#[cold]
fn wrong_length(length: usize) -> io::Error {
    if length >= 4 {
        return long_message();
    }
    let hint = "check that a Postgres server listens there";
    Hinted::of(io::ErrorKind::InvalidData, "the server sent a message of impossible length", hint)
}

/// The number of rows affected, from a `CommandComplete` tag such as `INSERT 0 100`; 0 for commands that change no rows. A
/// number beyond 64 bits is capped.
pub(super) fn affected_rows(body: &[u8]) -> u64 {
    let tag = body.strip_suffix(b"\0").unwrap_or(body);
    let changes = [b"INSERT".as_slice(), b"UPDATE", b"DELETE", b"MERGE", b"COPY"];
    if !changes.iter().any(|word| tag.starts_with(word)) {
        return 0;
    }
    let digits = tag.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
    let append = |rows: u64, digit: &u8| rows.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    tag[digits..].iter().fold(0, append)
}

/// The first column of a `DataRow` in text format, if it is an integer.
pub(super) fn first_integer(body: &[u8]) -> Option<i64> {
    columns(body).next()?.and_then(integer_of)
}

/// The columns of a `DataRow`; `None` means SQL null.
pub(super) fn columns(body: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = body.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, tail) = rest.split_first_chunk::<4>()?;
        match usize::try_from(i32::from_be_bytes(*length)) {
            Err(_) => {
                rest = tail;
                Some(None)
            }
            Ok(length) => {
                let (column, tail) = tail.split_at_checked(length)?;
                rest = tail;
                Some(Some(column))
            }
        }
    })
}

/// The error in an `ErrorResponse`, classified by its SQLSTATE.
pub(super) fn server_error(body: &[u8]) -> Error {
    let (mut code, mut message, mut hint) = (String::new(), String::new(), None);
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else { continue };
        let text = words(text);
        match kind {
            b'C' => code = text,
            b'M' => message = text,
            b'H' => hint = Some(text),
            _ => {}
        }
    }
    // Appendix A of the manual: 40 is transaction rollback (deadlock, serialization), 55P03 lock not available,
    // 57P01 to 57P05 end the session, 23505 is unique violation.
    let kind = match code.as_str() {
        "23505" => Kind::Duplicate,
        code if code.starts_with("40") || code == "55P03" => Kind::Retryable,
        code if code.starts_with("57P") || code.starts_with("08") => Kind::Disconnected,
        _ => Kind::Refused,
    };
    let error = Error::new(kind, format!("Postgres: {message}")).with_code(code);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::tests::Trickle;

    #[test]
    fn tags() {
        assert_eq!(affected_rows(b"INSERT 0 100\0"), 100);
        assert_eq!(affected_rows(b"DELETE 50\0"), 50);
        assert_eq!(affected_rows(b"SELECT 10\0"), 0);
        assert_eq!(affected_rows(b"CREATE INDEX\0"), 0);
        assert_eq!(affected_rows(b""), 0);
    }

    #[test]
    fn defect_fuzz_a_count_beyond_64_bits_does_not_wrap_around() {
        assert_eq!(affected_rows(b"UPDATE 18446744073709551615\0"), u64::MAX);
        assert_eq!(affected_rows(b"UPDATE 99999999999999999999999\0"), u64::MAX);
    }

    #[test]
    fn messages_split_anywhere() {
        let mut stream = Vec::new();
        for size in [0usize, 3, 70_000, 200_000, 5] {
            stream.push(b'D');
            stream.extend((size as u32 + 4).to_be_bytes());
            stream.extend(std::iter::repeat_n(7, size));
        }
        let mut trickle = Trickle::new(&stream);
        let mut messages = Messages::new();
        for size in [0usize, 3, 70_000, 200_000, 5] {
            assert_eq!(messages.read(&mut trickle).unwrap().body.len(), size);
        }
        assert_eq!(
            messages.read(&mut trickle).err().map(|error| error.kind()),
            Some(io::ErrorKind::UnexpectedEof)
        );
    }

    #[test]
    fn defect_16_a_long_message_is_refused_when_it_is_announced() {
        let announced = |length: u32| [b"D".as_slice(), &length.to_be_bytes(), b"row"].concat();
        for length in [MESSAGE_BYTES as u32 + 5, u32::MAX] {
            let error = Messages::new().read(&mut announced(length).as_slice()).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains("more than 64 MiB"), "{error}");
        }
        // A message of the greatest allowed length is waited for.
        let longest = announced(MESSAGE_BYTES as u32 + 4);
        let error = Messages::new().read(&mut longest.as_slice()).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn columns_with_null() {
        let body = [&[0, 2][..], &(-1i32).to_be_bytes(), &2i32.to_be_bytes(), b"42"].concat();
        assert_eq!(columns(&body).collect::<Vec<_>>(), [None, Some(b"42".as_slice())]);
        assert_eq!(first_integer(&body), None);
        assert_eq!(columns(&[0, 1, 0, 0, 0, 9, 1]).count(), 0);
    }

    #[test]
    fn errors_are_sorted() {
        let body = b"SERROR\0C40P01\0Mdeadlock detected\0Hsee log\0\0";
        let error = server_error(body);
        assert_eq!(error.kind(), Kind::Retryable);
        assert_eq!(error.to_string(), "Postgres: deadlock detected (40P01)\nhint: see log");
        assert_eq!(server_error(b"C57P01\0Mgone\0\0").kind(), Kind::Disconnected);
        assert_eq!(server_error(b"C23505\0Mduplicate key\0\0").kind(), Kind::Duplicate);
        assert_eq!(server_error(b"C42P01\0Mno table\0\0").kind(), Kind::Refused);
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(body: Vec<u8>) {
            affected_rows(&body);
            first_integer(&body);
            columns(&body).count();
            server_error(&body);
        }
    }
}
