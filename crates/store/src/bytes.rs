//! Bytes compressed as zlib (RFC 1950).

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use rusqlite::Row;

use crate::Problem;

/// `plain`, compressed.
pub(crate) fn compressed(plain: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain)?;
    Ok(encoder.finish()?)
}

/// Undoes [`compressed`]; `what` names the thing in errors.
pub(crate) fn plain(compressed: &[u8], what: &str) -> Result<Vec<u8>, Problem> {
    let mut plain = Vec::new();
    ZlibDecoder::new(compressed)
        .read_to_end(&mut plain)
        .map_err(|error| Problem::Damaged(format!("cannot read a {what}: {error}")))?;
    Ok(plain)
}

/// A compressed column of a row, as it was before; `what` names the thing in errors.
pub(crate) fn plain_column(row: &Row<'_>, column: &str, what: &str) -> Result<Vec<u8>, Problem> {
    plain(row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?, what)
}
