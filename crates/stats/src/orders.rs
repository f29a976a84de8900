//! Random orders from a seed, the same on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A random number generator whose stream depends only on seed, name and index.
#[derive(Debug, Clone)]
pub(crate) struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream for this purpose, name and index.
    pub(crate) fn new(seed: u64, purpose: &str, name: &str, index: usize) -> Self {
        // FNV-1a joins the parts; `seed_from_u64` spreads the result over the generator's state by SplitMix64.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let (seed, index) = (seed.to_le_bytes(), (index as u64).to_le_bytes());
        for part in [&seed[..], purpose.as_bytes(), name.as_bytes(), &index] {
            for byte in part.iter().chain(&[0xff]) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        Stream(Xoshiro256PlusPlus::seed_from_u64(hash))
    }

    /// Sixty-four random bits.
    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform integer in `[0, bound)`; 0 when `bound` is 0. By multiplication (Lemire 2019) without its rejection step: the
    /// bias is below `bound / 2^64`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Shuffles items (Fisher & Yates 1938).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Random orders of an experiment. Each depends only on the seed, a name and an index, so a resumed experiment continues with the same
/// orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Orders {
    seed: u64,
}

impl Orders {
    /// The orders drawn from this seed.
    pub fn new(seed: u64) -> Self {
        Orders { seed }
    }

    /// An order of this many candidates for one round or pass: a permutation of 0, 1 ….
    ///
    /// The orders `index` = 0, 1 … of one name are balanced. In each block of as many orders as there are candidates, each candidate has
    /// each place once. Over such a block (two, if their number is odd) each follows each other equally often (Williams 1949). The
    /// candidates' roles in the block and the order of its rows are random.
    pub fn balanced(&self, name: &str, index: usize, candidates: usize) -> Vec<usize> {
        if candidates == 0 {
            return Vec::new();
        }
        // An odd number needs the square and its mirror image.
        let squares = if candidates.is_multiple_of(2) { 1 } else { 2 };
        let (square, row) = (index / candidates, index % candidates);
        let mut roles: Vec<usize> = (0..candidates).collect();
        Stream::new(self.seed, "roles", name, square / squares).shuffle(&mut roles);
        let mut rows: Vec<usize> = (0..candidates).collect();
        Stream::new(self.seed, "rows", name, square).shuffle(&mut rows);
        // 0, 1, n−1, 2, n−2 …: neighbours differ by each distance once.
        let zigzag = |place: usize| {
            if place % 2 == 1 { place.div_ceil(2) } else { (candidates - place / 2) % candidates }
        };
        let mut order: Vec<usize> =
            (0..candidates).map(|place| roles[(zigzag(place) + rows[row]) % candidates]).collect();
        if square % squares == 1 {
            order.reverse();
        }
        order
    }

    /// The slices of one pass: a balanced order of the candidates, then its reverse, so that linear drift over the pass cancels.
    pub fn pass(&self, name: &str, index: usize, candidates: usize) -> Vec<usize> {
        let order = self.balanced(name, index, candidates);
        order.iter().chain(order.iter().rev()).copied().collect()
    }

    /// A seed for draws that are made elsewhere.
    pub fn seed(&self, name: &str, index: usize) -> u64 {
        Stream::new(self.seed, "seed", name, index).bits()
    }

    /// A random order of items whose number may differ between rounds, such as steps that are still undecided.
    pub fn shuffled(&self, name: &str, index: usize, items: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..items).collect();
        Stream::new(self.seed, "items", name, index).shuffle(&mut order);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_are_the_same_everywhere() {
        let orders = Orders::new(42);
        assert_eq!(orders.shuffled("steps", 0, 8), orders.shuffled("steps", 0, 8));
        assert_ne!(orders.shuffled("steps", 0, 8), orders.shuffled("steps", 1, 8));
        assert_ne!(orders.shuffled("steps", 0, 8), orders.shuffled("starts", 0, 8));
        assert_ne!(orders.shuffled("steps", 0, 8), Orders::new(43).shuffled("steps", 0, 8));
        assert_eq!(orders.shuffled("steps", 0, 8), [5, 1, 7, 4, 0, 3, 6, 2]);
    }

    #[test]
    fn two_candidates_take_turns_at_random() {
        let orders = Orders::new(1);
        let first: Vec<usize> = (0..200).map(|pass| orders.pass("p", pass, 2)[0]).collect();
        assert!(first.chunks(2).all(|pair| pair[0] != pair[1]));
        let base_first = first.chunks(2).filter(|pair| pair[0] == 0).count();
        assert!((30..=70).contains(&base_first), "{base_first}");
    }

    proptest! {
        #[test]
        fn places_and_followers_are_balanced(seed: u64, candidates in 1usize..9, block in 0usize..5) {
            let orders = Orders::new(seed);
            let squares = if candidates.is_multiple_of(2) { 1 } else { 2 };
            let orders: Vec<Vec<usize>> = (0..squares * candidates)
                .map(|row| orders.balanced("rounds", block * squares * candidates + row, candidates))
                .collect();
            for square in orders.chunks(candidates) {
                for place in 0..candidates {
                    let mut seen: Vec<usize> = square.iter().map(|order| order[place]).collect();
                    seen.sort_unstable();
                    prop_assert_eq!(seen, (0..candidates).collect::<Vec<_>>());
                }
            }
            for one in 0..candidates {
                for other in (0..candidates).filter(|other| *other != one) {
                    let follows = |order: &&Vec<usize>| order.windows(2).any(|pair| pair == [one, other]);
                    prop_assert_eq!(orders.iter().filter(follows).count(), squares);
                }
            }
        }

        #[test]
        fn a_pass_is_a_palindrome_of_a_permutation(seed: u64, index in 0usize..1000, candidates in 0usize..9) {
            let pass = Orders::new(seed).pass("p", index, candidates);
            prop_assert!(pass.iter().eq(pass.iter().rev()));
            let mut half = pass[..candidates].to_vec();
            half.sort_unstable();
            prop_assert_eq!(half, (0..candidates).collect::<Vec<_>>());
        }
    }
}
