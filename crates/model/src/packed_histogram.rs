//! Histograms that take little memory until somebody asks for their counts.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::{Histogram, HistogramError};

/// A [`Histogram`] as the store has it, compressed to about a fiftieth of its size, or several of them that count as one.
///
/// It reads like the histogram itself. The first look at it decodes its parts and adds them up, and later ones find that sum.
#[derive(Debug, Clone, Default)]
pub struct PackedHistogram {
    parts: Vec<Part>,
    sum: OnceLock<Arc<Histogram>>,
}

#[derive(Debug, Clone)]
enum Part {
    Counts(Arc<Histogram>),
    /// What [`Histogram::from_bytes`] has read before.
    Stored(Arc<[u8]>),
}

impl Part {
    fn histogram(&self) -> Histogram {
        match self {
            Part::Counts(histogram) => histogram.as_ref().clone(),
            Part::Stored(bytes) => Histogram::from_bytes(bytes).unwrap_or_default(),
        }
    }
}

impl PackedHistogram {
    /// Keeps what [`PackedHistogram::to_bytes`] wrote.
    ///
    /// # Errors
    /// When the bytes are no histogram.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HistogramError> {
        Histogram::from_bytes(bytes)?;
        Ok(PackedHistogram { parts: vec![Part::Stored(bytes.into())], sum: OnceLock::new() })
    }

    /// The compressed form that the store holds: see [`Histogram::to_bytes`].
    ///
    /// # Errors
    /// When compression fails.
    pub fn to_bytes(&self) -> Result<Vec<u8>, HistogramError> {
        match self.parts.as_slice() {
            [Part::Stored(bytes)] => Ok(bytes.to_vec()),
            _ => Histogram::to_bytes(self),
        }
    }

    /// Adds all counts of `other`.
    pub fn add(&mut self, other: &PackedHistogram) {
        self.parts.extend(other.parts.iter().cloned());
        self.sum = OnceLock::new();
    }

    fn added(&self) -> Histogram {
        let Some((first, others)) = self.parts.split_first() else { return Histogram::new() };
        let mut sum = first.histogram();
        others.iter().for_each(|part| sum.add(&part.histogram()));
        sum
    }
}

impl Deref for PackedHistogram {
    type Target = Histogram;

    fn deref(&self) -> &Histogram {
        self.sum.get_or_init(|| Arc::new(self.added()))
    }
}

impl From<Histogram> for PackedHistogram {
    fn from(histogram: Histogram) -> Self {
        PackedHistogram { parts: vec![Part::Counts(Arc::new(histogram))], sum: OnceLock::new() }
    }
}

impl PartialEq for PackedHistogram {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies_ns: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        latencies_ns.iter().for_each(|latency_ns| histogram.record_ns(*latency_ns));
        histogram
    }

    #[test]
    fn parts_count_as_one() {
        let bytes = of(&[5_000, 7_000_000_000]).to_bytes().unwrap();
        let mut packed = PackedHistogram::from_bytes(&bytes).unwrap();
        assert_eq!(packed.count(), 2);
        packed.add(&of(&[9_000]).into());
        assert_eq!((packed.count(), packed.max_ns()), (3, 7_000_000_000));
        let again = PackedHistogram::from_bytes(&packed.to_bytes().unwrap()).unwrap();
        assert_eq!(again, packed);
        assert_eq!(again.quantile_ns(0.5), packed.quantile_ns(0.5));
    }

    #[test]
    fn what_is_stored_stays_as_it_is_and_nothing_is_no_latency() {
        let bytes = of(&[5_000]).to_bytes().unwrap();
        assert_eq!(PackedHistogram::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
        assert_eq!(PackedHistogram::default().to_bytes().unwrap(), Histogram::new().to_bytes().unwrap());
        assert!(PackedHistogram::from_bytes(b"no histogram").is_err());
    }
}
