//! Generates rows and the text of insert statements.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::random::Stream;

const CASH_REGISTERS: u64 = 1_000;
const PRODUCTS: u64 = 10_000;
const CUSTOMERS: u64 = 100_000;
const MAX_PRICE: u64 = 500;
const DATA_LENGTH_MIN: u64 = 10;
const DATA_LENGTH_MAX: u64 = 20;

/// The characters that vary in `data`: the standard base64 alphabet.
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LETTERS_A: &str = "aaaaaaaaaaaaaaaaaaaa";

/// How many of `length` characters are random: `floor(length × 0.75 × 50 / 100)`.
fn random_characters(length: u64) -> u64 {
    length * 3 / 8
}

/// Appends one row, `(…)`, in the column order of the insert statement.
///
/// Values are drawn in the reference's order: register, product, customer, price, length, characters. The random characters come straight
/// from the stream, six bits each; the distribution equals that of the reference's slice of a base64 buffer.
#[inline]
fn push_row(text: &mut String, timestamp: &str, stream: &mut Stream) {
    let register = stream.below(CASH_REGISTERS);
    let product = stream.below(PRODUCTS);
    let customer = stream.below(CUSTOMERS);
    let price = stream.below(MAX_PRICE);
    let length = DATA_LENGTH_MIN + stream.below(DATA_LENGTH_MAX - DATA_LENGTH_MIN + 1);
    text.push_str("('");
    text.push_str(timestamp);
    text.push('\'');
    let mut digits = itoa::Buffer::new();
    for value in [register, customer, product, price] {
        text.push(',');
        text.push_str(digits.format(value));
    }
    text.push_str(",'");
    let random = random_characters(length);
    text.push_str(&LETTERS_A[..(length - random) as usize]);
    let mut bits = stream.bits();
    for _ in 0..random {
        text.push(char::from(BASE64[(bits & 63) as usize]));
        bits >>= 6;
    }
    text.push_str("')");
}

/// Makes insert statements for one table.
pub(super) struct InsertBuilder {
    stream: Stream,
    head: String,
    rows: u64,
    clock: Clock,
}

impl InsertBuilder {
    pub(super) fn new(table: &str, rows: u64, stream: Stream) -> Self {
        let head = format!(
            "insert into {table} (dateandtime, cashregisterid, customerid, productid, price, data) values "
        );
        InsertBuilder { stream, head, rows, clock: Clock::default() }
    }

    /// Appends one statement. All of its rows carry the second in which it is generated.
    pub(super) fn push(&mut self, text: &mut String) {
        let timestamp = self.clock.now();
        text.push_str(&self.head);
        for row in 0..self.rows {
            if row > 0 {
                text.push_str(", ");
            }
            push_row(text, timestamp, &mut self.stream);
        }
    }
}

/// Local time as `YYYY-MM-DD HH:MM:SS`, formatted once per second.
#[derive(Default)]
struct Clock {
    second: u64,
    text: String,
}

impl Clock {
    fn now(&mut self) -> &str {
        // A clock before 1970 counts as 1970: the second is only compared with the previous one.
        let second = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        if self.text.is_empty() || second != self.second {
            self.second = second;
            self.text = jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn random_share_of_data() {
        let expected = [(10, 3), (11, 4), (13, 4), (14, 5), (15, 5), (16, 6), (18, 6), (19, 7), (20, 7)];
        for (length, random) in expected {
            assert_eq!(random_characters(length), random, "length {length}");
        }
    }

    #[test]
    fn values_stay_in_range_and_reach_its_ends() {
        let mut builder = InsertBuilder::new("pi1", 20_000, stream(1, "l.i0", 1, "builder"));
        let mut text = String::new();
        builder.push(&mut text);
        let values = text.split_once(" values ").unwrap().1;
        let mut length_sum = 0.0;
        let mut highest = [0u64; 4];
        let rows: Vec<&str> = values.trim_matches(['(', ')']).split("), (").collect();
        assert_eq!(rows.len(), 20_000);
        for row in &rows {
            let fields: Vec<&str> = row.split(',').collect();
            assert_eq!(fields.len(), 6, "{row}");
            for (field, high) in fields[1..5].iter().zip(&mut highest) {
                *high = (*high).max(field.parse().unwrap());
            }
            let data = fields[5].trim_matches('\'');
            assert!((10..=20).contains(&data.len()), "{row}");
            length_sum += data.len() as f64;
            let fixed = data.len() as u64 - random_characters(data.len() as u64);
            assert!(data[..fixed as usize].bytes().all(|byte| byte == b'a'), "{row}");
        }
        assert!((length_sum / 20_000.0 - 15.0).abs() < 0.2);
        assert_eq!(highest[0], 999);
        assert!((99_900..100_000).contains(&highest[1]));
        assert!((9_990..10_000).contains(&highest[2]));
        assert_eq!(highest[3], 499);
    }

    #[test]
    fn the_same_stream_makes_the_same_rows() {
        let make = || {
            let mut builder = InsertBuilder::new("pi1", 5, stream(9, "l.i1", 3, "builder"));
            let mut text = String::new();
            builder.push(&mut text);
            // Only the time of day may differ.
            text.split('\'')
                .enumerate()
                .filter(|(part, _)| part % 4 != 1)
                .map(|(_, text)| text.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(make(), make());
    }
}
