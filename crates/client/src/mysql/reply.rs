//! Replies from the server: reads the few fields that matter.

use mysql_common::constants::{ColumnFlags, ColumnType, StatusFlags};

use crate::value::integer_of;

/// The first byte of a packet that reports success.
pub(super) const OK: u8 = 0x00;
/// The first byte of a packet that ends rows or column definitions, and of one that asks for another login method.
pub(super) const EOF: u8 = 0xfe;
/// The first byte of a packet that reports an error.
pub(super) const ERR: u8 = 0xff;
/// The first byte of a packet that asks for a file of the client's; in a text row, it means SQL null.
pub(super) const LOCAL_FILE_OR_NULL: u8 = 0xfb;

/// A length-encoded integer at the start of `bytes`, and what follows it
/// (<https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_dt_integers.html>).
#[inline]
pub(super) fn length_encoded(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let width = match first {
        0..=0xfa => return Some((u64::from(*first), rest)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        0xfb | 0xff => return None,
    };
    let (digits, rest) = rest.split_at_checked(width)?;
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(digits);
    Some((u64::from_le_bytes(wide), rest))
}

/// A length-encoded string at the start of `bytes`, and what follows it.
fn length_encoded_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = length_encoded(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// How a command or its rows ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Completion {
    /// Rows inserted, changed or deleted.
    pub(super) affected: u64,
    /// Whether the reply to another statement follows.
    pub(super) is_followed: bool,
}

impl Completion {
    /// Reads an OK packet, whatever its first byte.
    #[inline]
    pub(super) fn of_ok(packet: &[u8]) -> Option<Completion> {
        let (affected, rest) = length_encoded(packet.get(1..)?)?;
        let (_last_insert_id, rest) = length_encoded(rest)?;
        Some(Completion { affected, is_followed: is_followed(*rest.first_chunk()?) })
    }

    /// Reads an EOF packet of the old style: warnings and status.
    #[inline]
    pub(super) fn of_eof(packet: &[u8]) -> Option<Completion> {
        let (_, status) = packet.split_at_checked(3)?;
        Some(Completion { affected: 0, is_followed: is_followed(*status.first_chunk()?) })
    }
}

#[inline]
fn is_followed(status: [u8; 2]) -> bool {
    u16::from_le_bytes(status) & StatusFlags::SERVER_MORE_RESULTS_EXISTS.bits() != 0
}

/// The format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Each column as text: replies to text statements.
    Text,
    /// Each column in its own binary type: replies to prepared statements.
    Binary,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Column {
    kind: u8,
    is_unsigned: bool,
}

impl Column {
    /// Reads a column definition. Type, flags, decimals and two spare bytes are at its end.
    #[inline]
    pub(super) fn of_definition(packet: &[u8]) -> Option<Column> {
        let [kind, flags @ .., _decimals, _spare, _spare_too] = packet.last_chunk::<6>()?;
        let flags = u16::from_le_bytes(*flags);
        Some(Column { kind: *kind, is_unsigned: flags & ColumnFlags::UNSIGNED_FLAG.bits() != 0 })
    }
}

/// The first column of a row, if it is an integer.
///
/// `columns` is the number of columns and `first` the definition of the first.
pub(super) fn first_integer(form: Form, row: &[u8], columns: u64, first: Column) -> Option<i64> {
    match form {
        Form::Text => integer_of(length_encoded_string(row)?.0),
        Form::Binary => {
            // A zero byte, two unused bits, and then a bit for each column that marks a null.
            let null_bytes = usize::try_from(columns.checked_add(9)? / 8).ok()?;
            let (nulls, values) = row.get(1..)?.split_at_checked(null_bytes)?;
            if nulls.first()? & 0b100 != 0 { None } else { first_binary_integer(values, first) }
        }
    }
}

/// The value of `column` at the start of `values`, if it is an integer.
fn first_binary_integer(values: &[u8], column: Column) -> Option<i64> {
    let width = match ColumnType::try_from(column.kind).ok()? {
        ColumnType::MYSQL_TYPE_TINY => 1,
        ColumnType::MYSQL_TYPE_SHORT | ColumnType::MYSQL_TYPE_YEAR => 2,
        ColumnType::MYSQL_TYPE_INT24 | ColumnType::MYSQL_TYPE_LONG => 4,
        ColumnType::MYSQL_TYPE_LONGLONG => 8,
        ColumnType::MYSQL_TYPE_FLOAT
        | ColumnType::MYSQL_TYPE_DOUBLE
        | ColumnType::MYSQL_TYPE_NULL
        | ColumnType::MYSQL_TYPE_TIMESTAMP
        | ColumnType::MYSQL_TYPE_DATE
        | ColumnType::MYSQL_TYPE_TIME
        | ColumnType::MYSQL_TYPE_DATETIME => return None,
        // Decimals, strings and the like come as text in both formats.
        _ => return integer_of(length_encoded_string(values)?.0),
    };
    let digits = values.get(..width)?;
    let is_negative = !column.is_unsigned && digits.last()? & 0x80 != 0;
    let mut wide = [if is_negative { 0xff } else { 0 }; 8];
    wide[..width].copy_from_slice(digits);
    if column.is_unsigned { u64::from_le_bytes(wide).try_into().ok() } else { Some(i64::from_le_bytes(wide)) }
}

/// The columns of a text row; `None` means SQL null.
pub(super) fn text_columns(row: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = row;
    std::iter::from_fn(move || {
        if let Some((&LOCAL_FILE_OR_NULL, tail)) = rest.split_first() {
            rest = tail;
            return Some(None);
        }
        let (column, tail) = length_encoded_string(rest)?;
        rest = tail;
        Some(Some(column))
    })
}

/// What the server reports about a new prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Preparation {
    /// The server's number for it.
    pub(super) id: u32,
    /// The number of columns of its rows; 0 if it returns none.
    pub(super) columns: u16,
    /// The number of parameters that an execution must bind.
    pub(super) parameters: u16,
}

impl Preparation {
    /// Reads the first packet of the reply to a preparation.
    pub(super) fn of_packet(packet: &[u8]) -> Option<Preparation> {
        let (id, rest) = packet.get(1..)?.split_first_chunk()?;
        let (columns, rest) = rest.split_first_chunk()?;
        Some(Preparation {
            id: u32::from_le_bytes(*id),
            columns: u16::from_le_bytes(*columns),
            parameters: u16::from_le_bytes(*rest.first_chunk()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: ColumnType, is_unsigned: bool) -> Column {
        Column { kind: kind as u8, is_unsigned }
    }

    fn binary(values: &[u8], kind: ColumnType, is_unsigned: bool) -> Option<i64> {
        let row = [&[0, 0], values].concat();
        first_integer(Form::Binary, &row, 1, column(kind, is_unsigned))
    }

    #[test]
    fn lengths() {
        assert_eq!(length_encoded(&[250, 1]), Some((250, &[1][..])));
        assert_eq!(length_encoded(&[0xfc, 1, 2]), Some((0x201, &[][..])));
        assert_eq!(length_encoded(&[0xfd, 1, 2, 3]), Some((0x3_0201, &[][..])));
        assert_eq!(length_encoded(&[0xfe, 1, 0, 0, 0, 0, 0, 0, 1]), Some((0x100_0000_0000_0001, &[][..])));
        assert_eq!(length_encoded(&[0xfe, 1]), None);
        assert_eq!(length_encoded(&[0xfb]), None);
    }

    #[test]
    fn completions() {
        let ok = [0, 0xfc, 232, 3, 5, 0x0a, 0, 0, 0];
        assert_eq!(Completion::of_ok(&ok), Some(Completion { affected: 1000, is_followed: true }));
        assert_eq!(Completion::of_ok(&ok[..6]), None);
        assert_eq!(
            Completion::of_eof(&[EOF, 9, 9, 2, 0]),
            Some(Completion { affected: 0, is_followed: false })
        );
    }

    #[test]
    fn a_definition_ends_with_its_type() {
        let definition = b"\x03def\x01d\x01t\x01t\x02id\x02id\x0c\x3f\0\x14\0\0\0\x08\x23\x42\0\0\0";
        assert_eq!(Column::of_definition(definition), Some(column(ColumnType::MYSQL_TYPE_LONGLONG, true)));
        assert_eq!(Column::of_definition(b"\x03def"), None);
    }

    #[test]
    fn integers_of_all_widths() {
        use ColumnType::*;
        assert_eq!(binary(&[0xfe], MYSQL_TYPE_TINY, false), Some(-2));
        assert_eq!(binary(&[0xfe], MYSQL_TYPE_TINY, true), Some(254));
        assert_eq!(binary(&[0, 0x80], MYSQL_TYPE_SHORT, false), Some(-32_768));
        assert_eq!(binary(&[0xe8, 7], MYSQL_TYPE_YEAR, true), Some(2024));
        assert_eq!(binary(&[0xff; 4], MYSQL_TYPE_INT24, false), Some(-1));
        assert_eq!(binary(&[0xff; 4], MYSQL_TYPE_LONG, true), Some(i64::from(u32::MAX)));
        assert_eq!(binary(&[0xff; 8], MYSQL_TYPE_LONGLONG, false), Some(-1));
        assert_eq!(binary(&[0xff; 8], MYSQL_TYPE_LONGLONG, true), None);
        assert_eq!(binary(b"\x0242", MYSQL_TYPE_NEWDECIMAL, false), Some(42));
        assert_eq!(binary(b"\x034.2", MYSQL_TYPE_NEWDECIMAL, false), None);
        assert_eq!(binary(&[0; 8], MYSQL_TYPE_DOUBLE, false), None);
        assert_eq!(binary(&[1], MYSQL_TYPE_LONG, false), None);
    }

    #[test]
    fn rows_with_null() {
        let row = b"\xfb\x0242\0";
        assert_eq!(text_columns(row).collect::<Vec<_>>(), [None, Some(&b"42"[..]), Some(&b""[..])]);
        let long = column(ColumnType::MYSQL_TYPE_LONG, false);
        assert_eq!(first_integer(Form::Text, row, 3, long), None);
        assert_eq!(first_integer(Form::Text, b"\x0242", 1, long), Some(42));
        // Seven columns have two bytes of null bits: 7 + 2 > 8.
        let row = [0, 0, 0, 7, 0, 0, 0];
        assert_eq!(first_integer(Form::Binary, &row, 7, long), Some(7));
        assert_eq!(first_integer(Form::Binary, &[0, 0b100, 0, 7, 0, 0, 0], 7, long), None);
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(packet: Vec<u8>, columns: u64, kind: u8, is_unsigned: bool) {
            Completion::of_ok(&packet);
            Completion::of_eof(&packet);
            Column::of_definition(&packet);
            Preparation::of_packet(&packet);
            text_columns(&packet).count();
            for form in [Form::Text, Form::Binary] {
                first_integer(form, &packet, columns, Column { kind, is_unsigned });
            }
        }
    }
}
