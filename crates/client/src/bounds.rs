//! Limits on what a server may send, so that it cannot exhaust memory.

use std::io;

use basecase_model::Value;

use crate::error::Hinted;
use crate::{Error, Kind};

/// The longest message, including those of measured statements. The protocols allow a gibibyte or more for one row, but no
/// row, plan or list of settings in a benchmark comes near this.
pub(crate) const MESSAGE_BYTES: usize = 64 << 20;
/// The longest error message that is kept, because these go into reports.
const WORDS_BYTES: usize = 4 << 10;
/// The largest reply whose rows are kept, as their size in memory. These are settings, counters, names and plans, which take
/// a few megabytes at most.
const REPLY_BYTES: usize = 256 << 20;

/// What the user can do about a server that sends too much.
const HINT: &str = "check what listens there: no database of a benchmark sends as much";

/// The server announced or sent a message of more than [`MESSAGE_BYTES`].
#[cold]
pub(crate) fn long_message() -> io::Error {
    let text = format!(
        "the server sent a message of more than {} MiB, which basecase does not take",
        MESSAGE_BYTES >> 20
    );
    Hinted::of(io::ErrorKind::InvalidData, text, HINT)
}

/// The server's message, cut after the first few thousand bytes, which tell enough.
pub(crate) fn words(bytes: &[u8]) -> String {
    match bytes.get(..WORDS_BYTES) {
        Some(head) if bytes.len() > WORDS_BYTES => format!("{}…", String::from_utf8_lossy(head)),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The rows of a reply.
#[derive(Default)]
pub(crate) struct Rows {
    rows: Vec<Vec<Value>>,
    bytes: usize,
}

impl Rows {
    /// Keeps a row.
    ///
    /// # Errors
    /// If there are too many rows to keep; the rest of the reply is then still to come.
    pub(crate) fn take(&mut self, values: impl Iterator<Item = Value>) -> Result<(), Error> {
        self.count(size_of::<Vec<Value>>())?;
        let mut row = Vec::new();
        for value in values {
            let text = if let Value::Text(text) = &value { text.len() } else { 0 };
            self.count(size_of::<Value>() + text)?;
            row.push(value);
        }
        self.rows.push(row);
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes += bytes;
        if self.bytes <= REPLY_BYTES {
            return Ok(());
        }
        let text =
            format!("the reply takes more than {} MiB, which basecase does not keep", REPLY_BYTES >> 20);
        Err(Error::new(Kind::Disconnected, text).with_hint(HINT))
    }

    /// Returns all rows.
    pub(crate) fn all(self) -> Vec<Vec<Value>> {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_16_a_reply_is_kept_up_to_a_bound_whatever_its_rows_are() {
        let endless = |row: fn() -> Vec<Value>| {
            let mut rows = Rows::default();
            let error = std::iter::repeat_with(row).find_map(|row| rows.take(row.into_iter()).err()).unwrap();
            assert_eq!(error.kind(), Kind::Disconnected);
            assert!(error.to_string().contains("256 MiB") && error.to_string().contains("hint: "), "{error}");
        };
        endless(Vec::new);
        endless(|| vec![Value::Null; 100_000]);
        endless(|| vec![Value::Text("x".repeat(1 << 20))]);
    }

    #[test]
    fn defect_16_of_long_words_the_first_are_kept() {
        assert_eq!(words(b"short"), "short");
        assert!(words(&[b'x'; 1 << 20]).len() < 5_000);
    }
}
