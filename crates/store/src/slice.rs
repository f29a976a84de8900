//! The slices of a trial as one row.

use basecase_model::Slice;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::Problem;
use crate::trial::{finite, trials_in};

/// Words of eight bytes of a slice.
const WORDS: usize = 10;

pub(crate) fn insert(connection: &Connection, trial: &str, slices: &[Slice]) -> Result<(), Problem> {
    if slices.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached("INSERT INTO slices (trial, slices) VALUES (?1, ?2)")?;
    statement.execute(params![trial, to_bytes(slices)?])?;
    Ok(())
}

pub(crate) fn select(connection: &Connection, trial: &str) -> Result<Vec<Slice>, Problem> {
    let mut statement = connection.prepare_cached("SELECT slices FROM slices WHERE trial = ?1")?;
    let slices = statement.query_row([trial], |row| Ok(read(row, 0))).optional()?;
    slices.unwrap_or_else(|| Ok(Vec::new()))
}

/// The slices in a column of a row.
pub(crate) fn read(row: &Row<'_>, column: usize) -> Result<Vec<Slice>, Problem> {
    from_bytes(row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?)
}

/// Moves slices from the table that had a row for each, until version 10.
pub(crate) fn pack(connection: &Connection) -> Result<(), Problem> {
    let mut statement = connection.prepare(
        "SELECT pass, position, opened_us, length_us, operations, rate, warm_up_operations, server_cpu_us,
             others_cpu_us, steal_us, canary_ns
         FROM slice WHERE trial = ?1 ORDER BY number",
    )?;
    for trial in trials_in(connection, "slice")? {
        let slices = statement.query_map([&trial], |row| {
            Ok(Slice {
                pass: row.get(0)?,
                position: row.get(1)?,
                opened_us: row.get(2)?,
                length_us: row.get(3)?,
                operations: row.get(4)?,
                rate: row.get(5)?,
                warm_up_operations: row.get(6)?,
                server_cpu_us: row.get(7)?,
                others_cpu_us: row.get(8)?,
                steal_us: row.get(9)?,
                canary_ns: row.get(10)?,
            })
        })?;
        insert(connection, &trial, &slices.collect::<Result<Vec<_>, _>>()?)?;
    }
    Ok(())
}

/// Numbers one after the other, little-endian: `pass` and `position` of 32 bits, all others of 64; what was not measured is not a number.
fn to_bytes(slices: &[Slice]) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::with_capacity(slices.len() * WORDS * 8);
    for slice in slices {
        bytes.extend(slice.pass.to_le_bytes());
        bytes.extend(slice.position.to_le_bytes());
        bytes.extend(slice.opened_us.to_le_bytes());
        bytes.extend(finite(slice.length_us, "length of a slice")?.to_le_bytes());
        bytes.extend(slice.operations.to_le_bytes());
        bytes.extend(finite(slice.rate, "rate of a slice")?.to_le_bytes());
        bytes.extend(slice.warm_up_operations.to_le_bytes());
        for measured in [slice.server_cpu_us, slice.others_cpu_us, slice.steal_us, slice.canary_ns] {
            bytes.extend(measured.unwrap_or(f64::NAN).to_le_bytes());
        }
    }
    Ok(bytes)
}

/// Reads what [`to_bytes`] wrote.
fn from_bytes(bytes: &[u8]) -> Result<Vec<Slice>, Problem> {
    let damaged = |what: &str| Problem::Damaged(format!("cannot read the slices of a trial: {what}"));
    let (words, some_bytes) = bytes.as_chunks::<8>();
    let (slices, some_words) = words.as_chunks::<WORDS>();
    if !some_bytes.is_empty() || !some_words.is_empty() {
        return Err(damaged("the last one is truncated"));
    }
    // As everywhere in a store, so that sums have room.
    let count = |word: &[u8; 8]| {
        u64::try_from(i64::from_le_bytes(*word)).map_err(|_| damaged("one has a count below 0"))
    };
    let number = |word: &[u8; 8]| Some(f64::from_le_bytes(*word)).filter(|number| !number.is_nan());
    let required = |word: &[u8; 8]| number(word).ok_or_else(|| damaged("one has no length or no rate"));
    let read =
        |[places, opened, length, operations, rate, warm_up, server, others, steal, canary]: &[_; WORDS]| {
            let [a, b, c, d, e, f, g, h] = *places;
            Ok(Slice {
                pass: u32::from_le_bytes([a, b, c, d]),
                position: u32::from_le_bytes([e, f, g, h]),
                opened_us: count(opened)?,
                length_us: required(length)?,
                operations: count(operations)?,
                rate: required(rate)?,
                warm_up_operations: count(warm_up)?,
                server_cpu_us: number(server),
                others_cpu_us: number(others),
                steal_us: number(steal),
                canary_ns: number(canary),
            })
        };
    slices.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn damaged_slices_are_refused() {
        let slice = Slice { pass: 1, length_us: 2.0, rate: 3.0, canary_ns: Some(4.0), ..Slice::default() };
        let bytes = to_bytes(&[slice, slice]).unwrap();
        assert_eq!(from_bytes(&bytes).unwrap(), [slice, slice]);
        assert!(from_bytes(&bytes[..bytes.len() - 1]).is_err());
        for word in [1, 2, 3, 4, 5] {
            let mut damaged = bytes.clone();
            damaged[word * 8..][..8].fill(0xff);
            assert!(from_bytes(&damaged).is_err(), "{word}");
        }
        assert!(to_bytes(&[Slice { rate: f64::INFINITY, ..slice }]).is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = from_bytes(&bytes);
        }
    }
}
