//! The random number generator of workload files: xoroshiro128+, as in sysbench.
//!
//! Its output for a given state equals sysbench's, so that a table loaded in compatible mode holds the same rows. `rand_xoshiro` uses the
//! authors' later constants (24, 16, 37) and cannot be used.

use std::sync::LazyLock;

use crate::random::stream;

/// A state of xoroshiro128+ with the rotations 55, 14, 36 (Blackman and Vigna 2016).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator([u64; 2]);

impl Generator {
    /// The generator of one thread in one step, distinct for each (seed, step, thread).
    pub fn of(seed: u64, step: &str, thread: u32) -> Self {
        let mut stream = stream(seed, step, thread, "generator");
        // The all-zero state is the only one that never changes.
        Generator([stream.bits() | 1, stream.bits()])
    }

    /// The generator with which `sysbench prepare` fills its tables: seeded with the first four numbers of the C library's `random()`
    /// without a seed, which in glibc means seed 1. `tests/load.rs` tells how this was found.
    pub fn of_sysbench_prepare() -> Self {
        let [first, second, third, fourth, ..] = unseeded_random();
        let join = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        Generator([join(first, second), join(third, fourth)])
    }

    /// Sixty-four random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [first, second] = self.0;
        let mixed = first ^ second;
        self.0 = [first.rotate_left(55) ^ mixed ^ (mixed << 14), mixed.rotate_left(36)];
        first.wrapping_add(second)
    }

    /// A number in [0, 1) from the top 52 bits of a draw.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        f64::from_bits(0x3ff << 52 | self.bits() >> 12) - 1.0
    }

    /// A uniform integer in `[0, bound)`; 0 when `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        (self.unit() * bound as f64) as u64
    }

    /// Appends a random text: `#` in the template becomes a digit, `@` a lower-case letter; anything else is kept.
    #[inline]
    pub fn push_text(&mut self, text: &mut String, template: &str) {
        for character in template.chars() {
            text.push(match character {
                '#' => char::from(b'0' + self.below(10) as u8),
                '@' => char::from(b'a' + self.below(26) as u8),
                kept => kept,
            });
        }
    }

    /// Skips `draws` draws, in time logarithmic in their number: the state is a vector over GF(2), and a draw is a matrix.
    pub fn skip(&mut self, draws: u64) {
        for (power, jump) in JUMPS.iter().enumerate() {
            if draws >> power & 1 == 1 {
                *self = jump.applied_to(self);
            }
        }
    }
}

/// For 1, 2, 4 … draws: a load of many tables skips once for each.
static JUMPS: LazyLock<Vec<Jump>> = LazyLock::new(|| {
    let powers = std::iter::successors(Some(Jump::of_one_draw()), |jump| Some(jump.twice()));
    powers.take(u64::BITS as usize).collect()
});

/// The linear map of a number of draws: what each bit of the state becomes.
struct Jump(Vec<[u64; 2]>);

impl Jump {
    fn of_one_draw() -> Self {
        let image = |bit: usize| {
            let mut generator = Generator(bit_of_state(bit));
            generator.bits();
            generator.0
        };
        Jump((0..128).map(image).collect())
    }

    fn applied_to(&self, generator: &Generator) -> Generator {
        let mut sum = [0, 0];
        for (bit, image) in self.0.iter().enumerate() {
            if generator.0[bit / 64] >> (bit % 64) & 1 == 1 {
                sum = [sum[0] ^ image[0], sum[1] ^ image[1]];
            }
        }
        Generator(sum)
    }

    fn twice(&self) -> Self {
        Jump(self.0.iter().map(|image| self.applied_to(&Generator(*image)).0).collect())
    }
}

fn bit_of_state(bit: usize) -> [u64; 2] {
    let mut state = [0, 0];
    state[bit / 64] = 1 << (bit % 64);
    state
}

/// The first six numbers of glibc's `random()` with its seed 1: an additive feedback generator of degree 31 over a
/// table filled by the minimal standard generator, of which the first 310 numbers are dropped
/// (<https://sourceware.org/git/?p=glibc.git;a=blob;f=stdlib/random_r.c>).
pub(crate) fn unseeded_random() -> [u32; 6] {
    const DROPPED: usize = 344;
    let mut table = [0u32; DROPPED + 6];
    table[0] = 1;
    for index in 1..31 {
        table[index] = (u64::from(table[index - 1]) * 16_807 % 2_147_483_647) as u32;
    }
    for index in 31..table.len() {
        table[index] = match index {
            31..34 => table[index - 31],
            _ => table[index - 31].wrapping_add(table[index - 3]),
        };
    }
    std::array::from_fn(|index| table[DROPPED + index] >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_librarys_numbers() {
        // The output of a C program that calls random() six times without srandom().
        let expected = [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915, 1_957_747_793, 424_238_335];
        assert_eq!(unseeded_random(), expected);
    }

    #[test]
    fn sysbenchs_first_text() {
        let mut text = String::new();
        Generator::of_sysbench_prepare().push_text(&mut text, "###########-@@");
        assert!(text.starts_with("83868641912-"), "{text}");
        assert!(text[12..].bytes().all(|byte| byte.is_ascii_lowercase()), "{text}");
    }

    proptest::proptest! {
        #[test]
        fn a_skip_is_so_many_draws(seed: u64, draws in 0u64..1_000) {
            let mut drawn = Generator::of(seed, "s", 0);
            let mut skipped = drawn.clone();
            (0..draws).for_each(|_| { drawn.bits(); });
            skipped.skip(draws);
            proptest::prop_assert_eq!(drawn, skipped);
        }
    }

    #[test]
    fn generators_are_stable_and_distinct() {
        assert_eq!(Generator::of(1, "s", 1), Generator::of(1, "s", 1));
        assert_ne!(Generator::of(1, "s", 1), Generator::of(1, "s", 2));
        assert_ne!(Generator::of(1, "s", 1), Generator::of(1, "t", 1));
        assert_ne!(Generator::of(2, "s", 1), Generator::of(1, "s", 1));
    }
}
