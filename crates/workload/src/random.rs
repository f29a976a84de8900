//! Random streams: one for each (seed, step, client, role), so that nothing depends on the order of threads.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(Xoshiro256PlusPlus);

/// The stream of one role of one client in one step.
pub fn stream(seed: u64, step: &str, client: u32, role: &str) -> Stream {
    // FNV-1a joins the parts; `seed_from_u64` spreads the result over the generator's state by SplitMix64.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let client = client.to_le_bytes();
    for part in [&seed.to_le_bytes()[..], step.as_bytes(), &client, role.as_bytes()] {
        for byte in part.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Stream(Xoshiro256PlusPlus::seed_from_u64(hash))
}

impl Stream {
    /// Sixty-four random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform integer in `[0, bound)`; 0 when `bound` is 0.
    ///
    /// By multiplication (Lemire 2019) without its rejection step: the bias is below `bound / 2^64`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_stable_and_distinct() {
        let draw = |mut stream: Stream| stream.bits();
        assert_eq!(draw(stream(7, "l.i0", 1, "a")), draw(stream(7, "l.i0", 1, "a")));
        let all = [
            stream(7, "l.i0", 1, "a"),
            stream(8, "l.i0", 1, "a"),
            stream(7, "l.i1", 1, "a"),
            stream(7, "l.i0", 2, "a"),
            stream(7, "l.i0", 1, "b"),
        ];
        let mut drawn: Vec<u64> = all.into_iter().map(draw).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 5);
    }

    proptest::proptest! {
        #[test]
        fn below_stays_below(seed: u64, bound in 1u64..) {
            proptest::prop_assert!(stream(seed, "s", 1, "r").below(bound) < bound);
        }
    }

    #[test]
    fn below_is_uniform() {
        let mut counts = [0u32; 10];
        let mut stream = stream(1, "s", 1, "r");
        for _ in 0..100_000 {
            counts[stream.below(10) as usize] += 1;
        }
        // Five standard deviations of a binomial count of 100,000 draws at 1/10.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 475), "{counts:?}");
    }
}
