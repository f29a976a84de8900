//! The reply to one command, as far as it has arrived.

use std::io::{self, Read};

use basecase_model::Reply;

use super::error::server_error;
use super::login::Agreement;
use super::packet::{LONGEST_PAYLOAD, Packets};
use super::reply::{
    Column, Completion, EOF, ERR, Form, LOCAL_FILE_OR_NULL, OK, first_integer, length_encoded,
};
use crate::{Error, Kind};

/// The reply to one command, as far as it has arrived. A procedure's reply has
/// several of these parts in sequence.
pub(super) struct Scan {
    agreement: Agreement,
    form: Form,
    part: Part,
    /// The number of columns of the rows, and the definition of the first.
    columns: u64,
    first: Column,
    reply: Reply,
}

/// What the next packet is.
#[derive(Clone, Copy)]
enum Part {
    /// The first packet of the reply to a statement: its end, or a number of columns.
    Head,
    /// One of this many column definitions that are still to come.
    Definitions(u64),
    /// The end of the column definitions.
    DefinitionsEnd,
    /// A row, or the end of the rows.
    Rows,
}

impl Scan {
    /// Before the first packet of a reply.
    pub(super) fn new(agreement: Agreement, form: Form) -> Self {
        let (first, reply) = (Column::default(), Reply::default());
        Scan { agreement, form, part: Part::Head, columns: 0, first, reply }
    }

    /// Reads what `stream` has, passes every row to `on_row`, and returns the reply once it is complete; `None` if the
    /// stream does not block and has no more yet.
    #[inline]
    pub(super) fn go_on(
        &mut self,
        packets: &mut Packets,
        stream: &mut impl Read,
        mut on_row: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Option<Reply>, Error> {
        loop {
            let product = self.agreement.product.name();
            let broken = |error| Error::broken_connection(product, &error);
            while let Some(packet) = packets.next().map_err(broken)? {
                if self.take(packet, &mut on_row)? {
                    return Ok(Some(self.reply));
                }
            }
            match packets.fill(stream) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(Error::broken_connection(self.agreement.product.name(), &error)),
            }
        }
    }

    /// Processes one packet, and returns whether it is the last of the reply.
    #[inline]
    fn take(
        &mut self,
        packet: &[u8],
        on_row: &mut impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let completion = match (self.part, packet.first()) {
            (_, Some(&ERR)) => return Err(server_error(self.agreement.product, packet)),
            // A text row whose first column is huge begins with the same byte, but is longer than any end packet.
            (Part::Rows, Some(&EOF)) if packet.len() < LONGEST_PAYLOAD => {
                if self.agreement.is_eof_deprecated {
                    Completion::of_ok(packet)
                } else {
                    Completion::of_eof(packet)
                }
            }
            (Part::Rows, _) => {
                if self.reply.fetched == 0 {
                    self.reply.first = first_integer(self.form, packet, self.columns, self.first);
                }
                self.reply.fetched += 1;
                on_row(packet)?;
                return Ok(false);
            }
            (Part::Head, Some(&OK)) => Completion::of_ok(packet),
            (Part::Head, Some(&LOCAL_FILE_OR_NULL)) => {
                return Err(Error::new(Kind::Disconnected, "LOAD DATA LOCAL is not supported in a session"));
            }
            (Part::Head, _) => {
                let (columns, _) = length_encoded(packet).ok_or_else(cut_off)?;
                self.columns = columns.max(1);
                self.part = Part::Definitions(self.columns);
                return Ok(false);
            }
            (Part::Definitions(left), _) => {
                if left == self.columns {
                    self.first = Column::of_definition(packet).ok_or_else(cut_off)?;
                }
                self.part = match left {
                    2.. => Part::Definitions(left - 1),
                    _ if self.agreement.is_eof_deprecated => Part::Rows,
                    _ => Part::DefinitionsEnd,
                };
                return Ok(false);
            }
            (Part::DefinitionsEnd, _) => {
                self.part = Part::Rows;
                return Ok(false);
            }
        };
        let completion = completion.ok_or_else(cut_off)?;
        self.reply.affected = self.reply.affected.saturating_add(completion.affected);
        self.part = Part::Head;
        Ok(!completion.is_followed)
    }
}

pub(super) fn cut_off() -> Error {
    Error::unexpected("a truncated packet")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::buffer::tests::Pieces;
    use crate::mysql::error::Product;
    use crate::mysql::packet::{begin, end};

    const DEFINITION: &[u8] = b"\x03def\x01d\x01t\x01t\x02id\x02id\x0c\x3f\0\x14\0\0\0\x08\0\0\0\0\0";
    const DUPLICATE: &[u8] = b"\xff\x26\x04#23000Duplicate entry '7' for key 't.PRIMARY'";

    fn packets_of(payloads: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for payload in payloads {
            let mut packet = Vec::new();
            begin(&mut packet);
            packet.extend_from_slice(payload);
            end(&mut packet, 1);
            bytes.extend(packet);
        }
        bytes
    }

    /// Scans `bytes` that arrive in two pieces. Returns the rows, and the reply or its error's kind and text.
    type Outcome = (Vec<Vec<u8>>, Result<Reply, (Kind, String)>);

    fn outcome(bytes: &[u8], cut: usize, is_eof_deprecated: bool, form: Form) -> Outcome {
        let agreement = Agreement { product: Product::Mysql, is_eof_deprecated };
        let mut stream = Pieces::new(bytes, cut);
        let (mut packets, mut scan, mut rows) = (Packets::new(), Scan::new(agreement, form), Vec::new());
        loop {
            match scan.go_on(&mut packets, &mut stream, |row| {
                rows.push(row.to_vec());
                Ok(())
            }) {
                Ok(None) => {}
                Ok(Some(reply)) => return (rows, Ok(reply)),
                Err(error) => return (rows, Err((error.kind(), error.to_string()))),
            }
        }
    }

    /// The payloads of the reply to one statement, the last or followed by another.
    fn part(is_eof_deprecated: bool, is_followed: bool) -> impl Strategy<Value = Vec<Vec<u8>>> {
        let status = if is_followed { 8 } else { 0 };
        let end =
            if is_eof_deprecated { vec![EOF, 0, 0, status, 0, 0, 0] } else { vec![EOF, 0, 0, status, 0] };
        let row = prop::collection::vec(any::<u8>(), 0..30).prop_map(|tail| [&[0, 0], &tail[..]].concat());
        let rows = (1..4_u8, prop::collection::vec(row, 0..5)).prop_map(move |(columns, rows)| {
            let mut payloads = vec![vec![columns]];
            payloads.extend((0..columns).map(|_| DEFINITION.to_vec()));
            if !is_eof_deprecated {
                payloads.push(vec![EOF, 0, 0, 0, 0]);
            }
            payloads.extend(rows);
            payloads.push(end.clone());
            payloads
        });
        let done = (0..250_u8).prop_map(move |affected| vec![vec![OK, affected, 0, status, 0, 0, 0]]);
        prop_oneof![2 => rows, 1 => done]
    }

    /// A whole reply; one with an error ends early.
    fn reply(is_eof_deprecated: bool) -> impl Strategy<Value = Vec<Vec<u8>>> {
        let parts = prop::collection::vec(part(is_eof_deprecated, true), 0..3);
        (parts, part(is_eof_deprecated, false), prop::option::of(0..8_usize)).prop_map(
            |(parts, last, failure)| {
                let mut payloads: Vec<Vec<u8>> = parts.into_iter().flatten().chain(last).collect();
                if let Some(at) = failure.filter(|at| *at < payloads.len()) {
                    payloads[at] = DUPLICATE.to_vec();
                }
                payloads
            },
        )
    }

    proptest! {
        #[test]
        fn a_reply_may_be_cut_anywhere(
            (is_eof_deprecated, payloads) in any::<bool>().prop_flat_map(|is| (Just(is), reply(is))),
            is_text: bool,
        ) {
            let form = if is_text { Form::Text } else { Form::Binary };
            let bytes = packets_of(&payloads);
            let whole = outcome(&bytes, bytes.len(), is_eof_deprecated, form);
            if payloads.iter().any(|payload| payload == DUPLICATE) {
                prop_assert_eq!(whole.1.as_ref().unwrap_err().0, Kind::Duplicate);
            } else {
                prop_assert_eq!(whole.1.as_ref().unwrap().fetched, whole.0.len() as u64);
            }
            for cut in 0..bytes.len() {
                prop_assert_eq!(&outcome(&bytes, cut, is_eof_deprecated, form), &whole);
            }
        }

        #[test]
        fn a_reply_that_is_cut_off_is_a_lost_connection(payloads in reply(true)) {
            let bytes = packets_of(&payloads);
            let needed = payloads.iter().position(|payload| payload == DUPLICATE).unwrap_or(payloads.len() - 1);
            for end in 0..packets_of(&payloads[..=needed]).len() {
                let (_, reply) = outcome(&bytes[..end], end / 2, true, Form::Text);
                prop_assert_eq!(reply.unwrap_err().0, Kind::Disconnected);
            }
        }
    }
}
