//! The reply to one request, as far as it has arrived.

use std::io::{self, Read};

use basecase_model::Reply;

use super::reply::{Message, Messages, affected_rows, first_integer, server_error};
use super::session::io_error;
use crate::{Error, Kind};

/// The reply to one request, as far as it has arrived.
#[derive(Default)]
pub(super) struct Scan {
    reply: Reply,
    /// The server's error; the end of the reply is still to come.
    failure: Option<Error>,
    /// Whether rows are text, so that the first column of the first one can be read.
    is_text: bool,
}

impl Scan {
    /// The state before the first message of a reply, whose rows are text or binary.
    pub(super) fn new(is_text: bool) -> Self {
        Scan { reply: Reply::default(), failure: None, is_text }
    }

    /// Reads what `stream` has, passes every row to `on_row`, and returns the reply once it is complete; `None` if the
    /// stream does not block and has no more yet.
    #[inline]
    pub(super) fn go_on(
        &mut self,
        messages: &mut Messages,
        stream: &mut impl Read,
        mut on_row: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Option<Reply>, Error> {
        loop {
            while let Some(message) = messages.next().map_err(io_error)? {
                if self.take(&message, &mut on_row)? {
                    return self.failure.take().map_or(Ok(Some(self.reply)), Err);
                }
            }
            match messages.fill(stream) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(io_error(error)),
            }
        }
    }

    /// Processes one message, and returns whether it is the last of the reply.
    #[inline]
    fn take(
        &mut self,
        message: &Message<'_>,
        on_row: &mut impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        match message.tag {
            b'D' => {
                if self.is_text && self.reply.fetched == 0 {
                    self.reply.first = first_integer(message.body);
                }
                self.reply.fetched += 1;
                on_row(message.body)?;
            }
            b'C' => {
                self.reply.affected = self.reply.affected.saturating_add(affected_rows(message.body));
            }
            b'Z' => return Ok(true),
            b'E' => {
                let error = server_error(message.body);
                // After such an error the server closes the connection and is never ready again.
                if error.kind() == Kind::Disconnected {
                    return Err(error);
                }
                self.failure = Some(error);
            }
            b'G' | b'H' | b'W' => {
                return Err(Error::new(Kind::Disconnected, "COPY is not supported in a session"));
            }
            _ => {}
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::buffer::tests::Pieces;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    fn row(column: &[u8]) -> Vec<u8> {
        message(b'D', &[&[0, 1][..], &(column.len() as u32).to_be_bytes(), column].concat())
    }

    fn failure(code: &str) -> Vec<u8> {
        message(b'E', format!("SERROR\0C{code}\0Msaid\0\0").as_bytes())
    }

    /// Scans `bytes` that arrive in two pieces. Returns the rows, and the reply or its error's kind and text.
    type Outcome = (Vec<Vec<u8>>, Result<Reply, (Kind, String)>);

    fn outcome(bytes: &[u8], cut: usize) -> Outcome {
        let mut stream = Pieces::new(bytes, cut);
        let (mut messages, mut scan, mut rows) = (Messages::new(), Scan::new(true), Vec::new());
        loop {
            match scan.go_on(&mut messages, &mut stream, |row| {
                rows.push(row.to_vec());
                Ok(())
            }) {
                Ok(None) => {}
                Ok(Some(reply)) => return (rows, Ok(reply)),
                Err(error) => return (rows, Err((error.kind(), error.to_string()))),
            }
        }
    }

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            4 => any::<i64>().prop_map(|value| row(value.to_string().as_bytes())),
            2 => prop::collection::vec(any::<u8>(), 0..30).prop_map(|column| row(&column)),
            1 => Just(message(b'T', &[7; 40])),
            1 => (0..1000).prop_map(|rows| message(b'C', format!("INSERT 0 {rows}\0").as_bytes())),
            1 => Just(message(b'N', b"SWARNING\0Mbeware\0\0")),
            1 => Just(failure("40P01")),
            1 => Just(failure("57P01")),
            1 => Just(message(b'H', &[0; 3])),
            1 => Just(message(b'2', &[])),
        ]
    }

    #[test]
    fn a_failure_is_kept_to_the_end_of_the_reply() {
        let bytes = [row(b"7"), failure("23505"), message(b'Z', b"I")].concat();
        let (rows, reply) = outcome(&bytes, bytes.len() - 3);
        assert_eq!(rows.len(), 1);
        assert_eq!(reply, Err((Kind::Duplicate, "Postgres: said (23505)".into())));
    }

    proptest! {
        #[test]
        fn a_reply_may_be_cut_anywhere(pieces in prop::collection::vec(piece(), 0..8)) {
            let bytes = [pieces.concat(), message(b'Z', b"I")].concat();
            let whole = outcome(&bytes, bytes.len());
            for cut in 0..bytes.len() {
                prop_assert_eq!(&outcome(&bytes, cut), &whole);
            }
        }

        #[test]
        fn a_reply_that_is_cut_off_is_a_lost_connection(pieces in prop::collection::vec(piece(), 0..4)) {
            let bytes = pieces.concat();
            for end in 0..bytes.len() {
                let (_, reply) = outcome(&bytes[..end], end / 2);
                prop_assert_eq!(reply.unwrap_err().0, Kind::Disconnected);
            }
        }
    }
}
