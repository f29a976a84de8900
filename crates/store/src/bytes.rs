//! Bytes compressed with zlib (RFC 1950).

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use rusqlite::Row;

use crate::Problem;

/// Compresses `plain`.
pub(crate) fn compressed(plain: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain)?;
    Ok(encoder.finish()?)
}

/// Undoes [`compressed`] for at most `most` bytes; `what` names the thing in errors.
pub(crate) fn plain(compressed: &[u8], most: u64, what: &str) -> Result<Vec<u8>, Problem> {
    let mut plain = Vec::new();
    ZlibDecoder::new(compressed)
        .take(most.saturating_add(1))
        .read_to_end(&mut plain)
        .map_err(|error| Problem::Damaged(format!("cannot read a {what}: {error}")))?;
    if plain.len() as u64 > most {
        return Err(Problem::Damaged(format!("cannot read a {what}: it has more than {most} bytes")));
    }
    Ok(plain)
}

/// A compressed column of a row, decompressed as by [`plain`].
pub(crate) fn plain_column(row: &Row<'_>, column: &str, most: u64, what: &str) -> Result<Vec<u8>, Problem> {
    plain(row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?, most, what)
}

/// The most intervals that a series can have, given a measured time in microseconds.
pub(crate) fn most_intervals(time_us: f64, interval_ms: u32) -> u64 {
    let counted = (time_us / 1e3 / f64::from(interval_ms.max(1))) as u64;
    counted.saturating_mul(INTERVALS_FOR_ONE).saturating_add(INTERVALS_BESIDE).min(MOST_INTERVALS)
}

/// Intervals that may pass for each one measured, because candidates take turns.
const INTERVALS_FOR_ONE: u64 = 16;
/// Intervals beyond those: a warm-up, waiting for an answer.
const INTERVALS_BESIDE: u64 = 4_096;
/// Limit for any step; none takes this many seconds.
const MOST_INTERVALS: u64 = 10_000_000;
