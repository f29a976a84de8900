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

/// Reads what [`to_bytes`] wrote, at most `most` samples.
pub(crate) fn from_bytes(compressed: &[u8], most: u64) -> Result<Vec<Sample>, Problem> {
    let plain = bytes::plain(compressed, most * 8, "time series")?;
    let (samples, rest) = plain.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Problem::Damaged("cannot read a time series: its last sample is truncated".to_owned()));
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
    fn a_truncated_series_is_refused() {
        let bytes = to_bytes(&[Sample { items: 7, max_us: 9 }; 1800]).unwrap();
        assert!(bytes.len() < 200, "{}", bytes.len());
        assert!(from_bytes(&bytes[..bytes.len() / 2], 2_000).is_err());
        assert!(from_bytes(&bytes::compressed(b"seven b").unwrap(), 2_000).is_err());
    }

    #[test]
    fn defect_17_no_more_is_inflated_than_samples_there_can_be() {
        let bytes = to_bytes(&[Sample::default(); 2_000]).unwrap();
        assert_eq!(from_bytes(&bytes, 2_000).unwrap().len(), 2_000);
        let refused = from_bytes(&bytes, 1_999).unwrap_err().to_string();
        assert!(refused.contains("it has more than 15992 bytes\nhint: "), "{refused}");
        // A day in seconds, and the most that a file may claim.
        assert_eq!(bytes::most_intervals(86_400e6, 1_000), 86_400 * 16 + 4_096);
        assert_eq!([f64::INFINITY, 1e300].map(|time_us| bytes::most_intervals(time_us, 0)), [10_000_000; 2]);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = from_bytes(&bytes, 100);
        }
    }
}
