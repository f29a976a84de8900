//! Time series as bytes.

use basecase_model::Sample;

use crate::{Problem, bytes};

/// Eight bytes per sample, `items` and `max_us` as little-endian 32-bit numbers, compressed as zlib (RFC 1950).
pub(crate) fn to_bytes(samples: &[Sample]) -> Result<Vec<u8>, Problem> {
    let mut plain = Vec::with_capacity(samples.len() * 8);
    for sample in samples {
        plain.extend(sample.items.to_le_bytes());
        plain.extend(sample.max_us.to_le_bytes());
    }
    bytes::compressed(&plain)
}

/// Reads what [`to_bytes`] wrote.
pub(crate) fn from_bytes(compressed: &[u8]) -> Result<Vec<Sample>, Problem> {
    let plain = bytes::plain(compressed, "time series")?;
    let (samples, rest) = plain.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Problem::Damaged("cannot read a time series: its last sample is cut".to_owned()));
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
        assert!(from_bytes(&bytes::compressed(b"seven b").unwrap()).is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = from_bytes(&bytes);
        }
    }
}
