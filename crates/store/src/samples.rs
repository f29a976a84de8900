//! Time series as bytes.

use std::io::{Read, Write};

use basecase_model::Sample;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::Problem;

/// Eight bytes per sample, `items` and `max_us` as little-endian 32-bit numbers, compressed as zlib (RFC 1950).
pub(crate) fn to_bytes(samples: &[Sample]) -> Result<Vec<u8>, Problem> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    for sample in samples {
        encoder.write_all(&sample.items.to_le_bytes())?;
        encoder.write_all(&sample.max_us.to_le_bytes())?;
    }
    Ok(encoder.finish()?)
}

/// Reads what [`to_bytes`] wrote.
pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Vec<Sample>, Problem> {
    let damaged = |why: &str| Problem::Damaged(format!("cannot read a time series: {why}"));
    let mut plain = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut plain).map_err(|error| damaged(&error.to_string()))?;
    let (samples, rest) = plain.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(damaged("its last sample is cut"));
    }
    Ok(samples
        .iter()
        .map(|[a, b, c, d, e, f, g, h]| Sample {
            items: u32::from_le_bytes([*a, *b, *c, *d]),
            max_us: u32::from_le_bytes([*e, *f, *g, *h]),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cut_series_is_refused() {
        let bytes = to_bytes(&[Sample { items: 7, max_us: 9 }; 1800]).unwrap();
        assert!(bytes.len() < 200, "{}", bytes.len());
        assert!(from_bytes(&bytes[..bytes.len() / 2]).is_err());
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"seven b").unwrap();
        assert!(from_bytes(&encoder.finish().unwrap()).is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = from_bytes(&bytes);
        }
    }
}
