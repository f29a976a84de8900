//! Bijections: non-repeating numbers, and hot numbers that are not neighbours.

use crate::generator::unseeded_random;

/// A fixed permutation of `0..size`, without table or state.
///
/// Four rounds of a Feistel network on the next even power of two, repeated until the number is in range (Black and Rogaway, "Ciphers with
/// arbitrary finite domains", CT-RSA 2002).
#[derive(Debug, Clone)]
pub(super) struct Scatter {
    size: u64,
    half_bits: u32,
}

impl Scatter {
    pub(super) fn new(size: u64) -> Self {
        let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
        Scatter { size, half_bits: bits.div_ceil(2).max(1) }
    }

    #[inline]
    pub(super) fn place(&self, number: u64) -> u64 {
        let mut place = number;
        loop {
            place = self.shuffled(place);
            if place < self.size {
                return place;
            }
        }
    }

    #[inline]
    fn shuffled(&self, number: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in 1..=4u64 {
            // The finalizer of SplitMix64.
            let mut mixed = right.wrapping_add(key.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (left, right) = (right, left ^ (mixed ^ mixed >> 31) & mask);
        }
        left << self.half_bits | right
    }
}

/// Sysbench's sequence of non-repeating 32-bit numbers.
///
/// Quadratic residues of a prime, applied twice (J. Preshing, "How to Generate a Sequence of Unique Random Integers", 2012). Its start
/// comes from the C library's `random()` before it is seeded, so it is the same in every process.
#[derive(Debug, Clone)]
pub(super) struct Unique {
    start: u32,
    offset: u32,
}

impl Unique {
    pub(super) fn new() -> Self {
        let [.., offset_seed, index_seed] = unseeded_random();
        Unique {
            start: permuted(permuted(index_seed).wrapping_add(0x682f_0161)),
            offset: permuted(permuted(offset_seed).wrapping_add(0x4679_0905)),
        }
    }

    /// The number at `index`.
    #[inline]
    pub(super) fn at(&self, index: u32) -> u32 {
        permuted(permuted(self.start.wrapping_add(index)).wrapping_add(self.offset) ^ 0x5bf0_3635)
    }
}

#[inline]
fn permuted(number: u32) -> u32 {
    const PRIME: u32 = 4_294_967_291;
    if number >= PRIME {
        return number;
    }
    let residue = (u64::from(number) * u64::from(number) % u64::from(PRIME)) as u32;
    if number <= PRIME / 2 { residue } else { PRIME - residue }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysbenchs_first_ids() {
        // Ids of the first rows of `sysbench --auto-inc=off oltp_insert run`, sysbench 1.0.20.
        let ids: Vec<i64> = (0..4).map(|index| i64::from(Unique::new().at(index)) - 2_147_483_648).collect();
        assert_eq!(ids, [525_449_452, 768_762_026, 686_807_774, 1_939_437_108]);
    }

    proptest::proptest! {
        #[test]
        fn a_scattering_is_a_bijection(size in 1u64..5_000) {
            let scatter = Scatter::new(size);
            let mut places: Vec<u64> = (0..size).map(|number| scatter.place(number)).collect();
            places.sort_unstable();
            proptest::prop_assert!(places.into_iter().eq(0..size));
        }

        #[test]
        fn unique_numbers_differ(first: u32, second: u32) {
            proptest::prop_assert_eq!(first == second, Unique::new().at(first) == Unique::new().at(second));
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let scatter = Scatter::new(1_000_000);
        let mean = (0..1_000).map(|number| scatter.place(number)).sum::<u64>() / 1_000;
        // Uniform places have a mean of 500,000 with a standard deviation of 9,129.
        assert!(mean.abs_diff(500_000) < 45_000, "{mean}");
        let close = (0..1_000).filter(|n| scatter.place(*n).abs_diff(scatter.place(n + 1)) < 100).count();
        assert!(close < 10, "{close}");
    }
}
