//! Latency histograms.

use std::io::Read;

use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use thiserror::Error;

/// Largest latency that a histogram distinguishes, in nanoseconds (one hour); longer ones count as this.
const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Largest latency that a new histogram has room for, in nanoseconds; longer ones make it grow.
const INITIAL_HIGHEST_NS: u64 = 1_000_000;
/// Smallest latency that a histogram distinguishes, in nanoseconds.
const LOWEST_NS: u64 = 128;
/// Significant decimal digits kept of every latency.
const DIGITS: u8 = 3;
/// The first bytes of HDR's V2 deflate form; the length of its zlib stream follows.
const DEFLATED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
/// The maximum size of a histogram before compression: nine bytes for each of its counts would be 600 KiB.
const MOST_PLAIN_BYTES: u64 = 1 << 20;

/// Why a stored histogram could not be read.
#[derive(Debug, Error)]
#[error("cannot read a stored histogram: {0}")]
pub struct HistogramError(String);

/// Counts of latencies in nanoseconds with three significant digits, from 128 ns to one hour.
///
/// Its size depends on the largest latency, not on the number of values: 16 KiB up to 1 ms, 80 KiB up to one minute. After Gil Tene's
/// HdrHistogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    counts: hdrhistogram::Histogram<u32>,
    // The bucket's upper edge would overstate the largest value, which reports print separately.
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram. Recording allocates only if a latency exceeds all earlier ones by a large factor.
    pub fn new() -> Self {
        // The bounds are constants that satisfy the library's requirements.
        let mut counts = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, INITIAL_HIGHEST_NS, DIGITS)
            .unwrap_or_else(|_| unreachable!("constant histogram bounds are valid"));
        counts.auto(true);
        Histogram { counts, max_ns: 0 }
    }

    /// Counts one latency.
    #[inline]
    pub fn record_ns(&mut self, latency_ns: u64) {
        // It grows for anything that does not fit, and an hour always fits.
        let _ = self.counts.record(latency_ns.min(HIGHEST_NS));
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Adds all counts of `other`.
    pub fn add(&mut self, other: &Histogram) {
        // It grows for anything that does not fit.
        let _ = self.counts.add(&other.counts);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Number of latencies counted.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The largest latency, exactly, in nanoseconds; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The smallest latency to three significant digits, in nanoseconds; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.counts.min().min(self.max_ns) }
    }

    /// The mean latency to three significant digits, in nanoseconds; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        self.counts.mean()
    }

    /// The latency that `quantile` (0 to 1) of all counted latencies do not exceed, in nanoseconds; 0 when empty.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        if self.count() == 0 { 0 } else { self.counts.value_at_quantile(quantile).min(self.max_ns) }
    }

    /// How many latencies are at most `latency_ns`, to three significant digits of the bound.
    pub fn count_at_most_ns(&self, latency_ns: u64) -> u64 {
        self.counts
            .iter_recorded()
            .take_while(|step| step.value_iterated_to() <= self.counts.highest_equivalent(latency_ns))
            .map(|step| step.count_since_last_iteration())
            .sum()
    }

    /// The compressed form that the store holds: eight bytes of the exact maximum, then HDR's V2 deflate form.
    ///
    /// # Errors
    /// When compression fails.
    pub fn to_bytes(&self) -> Result<Vec<u8>, HistogramError> {
        let mut bytes = self.max_ns.to_le_bytes().to_vec();
        V2DeflateSerializer::new()
            .serialize(&self.counts, &mut bytes)
            .map_err(|error| HistogramError(error.to_string()))?;
        Ok(bytes)
    }

    /// Reads what [`Histogram::to_bytes`] wrote.
    ///
    /// # Errors
    /// When the bytes are not such a form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HistogramError> {
        let too_short = || HistogramError("it is shorter than its header".into());
        let (head, rest) = bytes.split_first_chunk::<8>().ok_or_else(too_short)?;
        let (cookie, rest) = rest.split_first_chunk::<8>().ok_or_else(too_short)?;
        if cookie[..4] != DEFLATED {
            return Err(HistogramError("it has another format".into()));
        }
        let mut plain = Vec::new();
        let inflated = ZlibDecoder::new(rest).take(MOST_PLAIN_BYTES).read_to_end(&mut plain);
        inflated.map_err(|error| HistogramError(error.to_string()))?;
        check_plain(&plain)?;
        let mut counts: hdrhistogram::Histogram<u32> = Deserializer::new()
            .deserialize(&mut plain.as_slice())
            .map_err(|error| HistogramError(error.to_string()))?;
        counts.auto(true);
        Ok(Histogram { counts, max_ns: u64::from_le_bytes(*head) })
    }
}

/// Checks, before the library reads on, the sizes for which it allocates memory, and that there is no number that it cannot negate.
fn check_plain(plain: &[u8]) -> Result<(), HistogramError> {
    let word = |number: usize| {
        let bytes = plain.get(number * 4..).and_then(<[u8]>::first_chunk::<4>);
        bytes
            .map(|bytes| u32::from_be_bytes(*bytes))
            .ok_or_else(|| HistogramError("its header is truncated".into()))
    };
    // Cookie, length of the counts, offset, digits, and three numbers of 64 bits.
    let (length, digits) = (word(1)?, word(3)?);
    if plain.len().checked_sub(40) != usize::try_from(length).ok() || digits > u32::from(DIGITS) {
        return Err(HistogramError("its header does not fit what follows".into()));
    }
    // A number may take nine bytes, but a count takes at most five, and the last of them is small.
    if plain.windows(9).any(|window| *window == [0xff; 9]) {
        return Err(HistogramError("a count is not a number".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_counts_and_exact_maximum() {
        let mut histogram = Histogram::new();
        for latency_ns in [150, 8_000, 256_000, 256_001, 1_000_003] {
            histogram.record_ns(latency_ns);
        }
        let copy = Histogram::from_bytes(&histogram.to_bytes().unwrap()).unwrap();
        assert_eq!(copy.count(), 5);
        assert_eq!(copy.max_ns(), 1_000_003);
        assert_eq!(copy.quantile_ns(0.5), histogram.quantile_ns(0.5));
        assert!(Histogram::from_bytes(b"short").is_err());
        assert!(Histogram::from_bytes(b"not a histogram at all").is_err());
    }

    #[test]
    fn defect_fuzz_a_count_that_cannot_be_negated_is_refused() {
        let words: [u32; 10] = [0x1c84_9313, 9, 0, 3, 0, 1, 0, 1_000, 0, 0];
        let header: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let error = check_plain(&[&header, &[0xff; 9][..]].concat()).unwrap_err();
        assert!(error.to_string().ends_with("a count is not a number"), "{error}");
        assert!(check_plain(&[&header, &[0xfe; 9][..]].concat()).is_ok());
    }

    #[test]
    fn defect_17_a_histogram_takes_no_more_memory_than_one_can_have() {
        use flate2::{Compression, write::ZlibEncoder};
        use std::io::Write;
        let stored = |plain: &[u8]| {
            let mut encoder =
                ZlibEncoder::new([&[0; 8][..], &DEFLATED, &[0; 4]].concat(), Compression::best());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        };
        let header = |length: u32, digits: u32| {
            let words = [0x1c84_9313, length, 0, digits];
            let mut header: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            header.extend([1_u64.to_be_bytes(), 1_000_u64.to_be_bytes(), 1_f64.to_be_bytes()].concat());
            header
        };
        assert_eq!(Histogram::from_bytes(&stored(&header(0, 3))).unwrap().count(), 0);
        let endless = [header(1 << 30, 3), vec![0; 1 << 22]].concat();
        for plain in [header(u32::MAX, 3), header(0, 5), endless, vec![0; 12]] {
            let refused = Histogram::from_bytes(&stored(&plain)).unwrap_err().to_string();
            assert!(refused.contains("its header"), "{refused}");
        }
    }

    #[test]
    fn smallest_and_mean_are_told_within_three_digits() {
        assert_eq!((Histogram::new().min_ns(), Histogram::new().mean_ns()), (0, 0.0));
        let mut histogram = Histogram::new();
        histogram.record_ns(100_000);
        histogram.record_ns(300_000);
        assert!(histogram.min_ns().abs_diff(100_000) <= 100, "{}", histogram.min_ns());
        assert!((histogram.mean_ns() - 200_000.0).abs() <= 200.0, "{}", histogram.mean_ns());
    }

    #[test]
    fn counts_up_to_a_bound_within_three_digits() {
        let mut histogram = Histogram::new();
        histogram.record_ns(256_000);
        histogram.record_ns(257_000);
        assert_eq!(histogram.count_at_most_ns(256_000), 1);
        assert_eq!(histogram.count_at_most_ns(300_000), 2);
        assert_eq!(histogram.count_at_most_ns(100), 0);
    }

    #[test]
    fn a_stored_histogram_takes_longer_latencies() {
        let mut short = Histogram::new();
        short.record_ns(5_000);
        let mut copy = Histogram::from_bytes(&short.to_bytes().unwrap()).unwrap();
        let mut long = Histogram::new();
        long.record_ns(7_000_000_000);
        copy.add(&long);
        assert_eq!((copy.count(), copy.max_ns()), (2, 7_000_000_000));
        assert!(copy.quantile_ns(1.0) > 6_900_000_000);
    }

    #[test]
    fn a_latency_beyond_an_hour_is_kept_as_maximum() {
        let mut histogram = Histogram::new();
        histogram.record_ns(2 * HIGHEST_NS);
        assert_eq!(histogram.count(), 1);
        assert_eq!(histogram.max_ns(), 2 * HIGHEST_NS);
    }
}
