//! Random integers: the distributions that a workload file can name.

mod permutation;
mod zipfian;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::generator::Generator;
use permutation::{Scatter, Unique};
use zipfian::Zipfian;

/// A distribution without its bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Every integer is equally likely.
    Uniform,
    /// The mean of `terms` uniform numbers (Irwin-Hall).
    Gaussian {
        /// How many numbers are averaged.
        terms: u32,
    },
    /// The default of sysbench 1.0: usually one of few integers in the middle, otherwise as [`Distribution::Gaussian`].
    Special {
        /// How many numbers are averaged.
        terms: u32,
        /// Percentage of the integers that are special.
        special_pct: f64,
        /// Percentage of the draws that are special.
        draws_pct: f64,
    },
    /// The first share `h` of the integers gets the share `1 - h` of the draws, and so on recursively.
    Pareto {
        /// The share.
        h: f64,
    },
    /// The probability falls with a power of the rank; the ranks are the integers in their order.
    Zipfian {
        /// The power.
        exponent: f64,
    },
    /// As [`Distribution::Zipfian`], with the ranks scattered over all integers.
    ScrambledZipfian {
        /// The power.
        exponent: f64,
    },
    /// Sysbench's non-repeating 32-bit numbers; all threads share them.
    Unique,
    /// Every integer once, in scattered order; all threads share the sequence, and each table has its own. When it ends, so does the step.
    Each,
    /// Ascending from the first integer, separately for each thread.
    Sequence,
}

/// Name, meaning of the parameters, and their default values.
type Entry = (&'static str, &'static [(&'static str, f64)]);

const CATALOGUE: [Entry; 9] = [
    ("uniform", &[]),
    ("gaussian", &[("terms", 12.0)]),
    ("special", &[("terms", 12.0), ("percentage of integers", 1.0), ("percentage of draws", 75.0)]),
    ("pareto", &[("h", 0.2)]),
    ("zipfian", &[("exponent", 0.8)]),
    ("scrambled_zipfian", &[("exponent", 0.8)]),
    ("unique", &[]),
    ("each", &[]),
    ("sequence", &[]),
];

/// The numbers of a [`Distribution::Unique`] range.
const ALL_32_BIT: u64 = 1 << 32;

impl Distribution {
    /// The names of all distributions.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CATALOGUE.iter().map(|(name, _)| *name)
    }

    /// Meanings and default values of the parameters of the distribution of this name; `None` if there is none.
    pub fn parameters(name: &str) -> Option<&'static [(&'static str, f64)]> {
        CATALOGUE.iter().find(|(known, _)| *known == name).map(|(_, parameters)| *parameters)
    }

    /// The distribution of this name; parameters that are not given have their default values.
    ///
    /// # Errors
    /// A parameter outside its range, or too many of them, or an unknown name, said in words.
    pub fn named(name: &str, given: &[f64]) -> Result<Distribution, String> {
        let known = Distribution::parameters(name).ok_or_else(|| format!("unknown distribution `{name}`"))?;
        if given.len() > known.len() {
            return Err(format!("distribution `{name}` takes at most {} parameters", known.len()));
        }
        let parameter = |index: usize, least: f64, most: f64| {
            let (meaning, usual) = known[index];
            let value = given.get(index).copied().unwrap_or(usual);
            if (least..=most).contains(&value) {
                Ok(value)
            } else {
                Err(format!("{meaning} of distribution `{name}` is {value}, outside {least} to {most}"))
            }
        };
        let terms = || parameter(0, 1.0, 1_000.0).map(|terms| terms as u32);
        Ok(match name {
            "gaussian" => Distribution::Gaussian { terms: terms()? },
            "special" => Distribution::Special {
                terms: terms()?,
                special_pct: parameter(1, 0.0, 100.0)?,
                draws_pct: parameter(2, 0.0, 99.9)?,
            },
            "pareto" => Distribution::Pareto { h: parameter(0, 0.000_001, 0.999_999)? },
            "zipfian" => Distribution::Zipfian { exponent: parameter(0, 0.0, 10.0)? },
            "scrambled_zipfian" => Distribution::ScrambledZipfian { exponent: parameter(0, 0.0, 10.0)? },
            "unique" => Distribution::Unique,
            "each" => Distribution::Each,
            "sequence" => Distribution::Sequence,
            _ => Distribution::Uniform,
        })
    }

    /// The distribution on the integers `low..=high`, for the given number of tables.
    ///
    /// # Errors
    /// When there is no integer between the bounds, or more than 2^32 of them, said in words.
    pub fn between(self, low: i64, high: i64, tables: usize) -> Result<Sampler, String> {
        if low > high {
            return Err(format!("the range {low}..{high} is empty"));
        }
        let count = high.abs_diff(low).saturating_add(1);
        if count > ALL_32_BIT {
            return Err(format!("the range {low}..{high} has more than 2^32 numbers"));
        }
        let counters = |number: usize| (0..number).map(|_| AtomicU64::new(0)).collect::<Arc<[_]>>();
        let source = match self {
            Distribution::Uniform => Source::Uniform,
            Distribution::Gaussian { terms } => Source::Gaussian { terms },
            Distribution::Special { terms, special_pct, draws_pct } => {
                Source::Special { terms, share: special_pct / 100.0, stretch: 100.0 / (100.0 - draws_pct) }
            }
            Distribution::Pareto { h } => Source::Pareto { power: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { exponent } => Source::Zipfian(Zipfian::new(count, exponent), None),
            Distribution::ScrambledZipfian { exponent } => {
                Source::Zipfian(Zipfian::new(count, exponent), Some(Scatter::new(count)))
            }
            Distribution::Unique if count != ALL_32_BIT => {
                return Err(format!("`unique` needs a range of all 2^32 numbers, not {low}..{high}"));
            }
            Distribution::Unique => Source::Unique(Unique::new(), counters(1)),
            Distribution::Each => Source::Each(Scatter::new(count), counters(tables.max(1))),
            Distribution::Sequence => Source::Sequence { next: 0 },
        };
        Ok(Sampler { low, count, source })
    }
}

/// A distribution on a range, ready to draw from. Clones share the numbers that threads share.
#[derive(Debug, Clone)]
pub struct Sampler {
    low: i64,
    count: u64,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Uniform,
    Gaussian { terms: u32 },
    Special { terms: u32, share: f64, stretch: f64 },
    Pareto { power: f64 },
    Zipfian(Zipfian, Option<Scatter>),
    Unique(Unique, Arc<[AtomicU64]>),
    Each(Scatter, Arc<[AtomicU64]>),
    Sequence { next: u64 },
}

impl Sampler {
    /// How many random numbers a draw takes, if that is always the same.
    pub(crate) fn draws(&self) -> Option<u64> {
        match &self.source {
            Source::Uniform | Source::Pareto { .. } => Some(1),
            Source::Gaussian { terms } => Some(u64::from(*terms)),
            Source::Special { .. } | Source::Zipfian(..) => None,
            Source::Unique(..) | Source::Each(..) | Source::Sequence { .. } => Some(0),
        }
    }

    /// One number for the table with this index; `None` when all of them are used up.
    #[inline]
    pub fn draw(&mut self, generator: &mut Generator, table: usize) -> Option<i64> {
        let count = self.count as f64;
        let distance = match &mut self.source {
            // Added as doubles, so that the last digit is rounded as in sysbench.
            Source::Uniform if self.low >= 0 => {
                return Some((self.low as f64 + generator.unit() * count) as i64);
            }
            Source::Uniform => generator.below(self.count),
            Source::Gaussian { terms } => mean(generator, *terms, count),
            Source::Special { terms, share, stretch } => {
                let last = count - 1.0;
                let unit = generator.unit();
                if unit * *stretch * last < last {
                    mean(generator, *terms, last)
                } else {
                    let width = last * *share;
                    // The offset is added to the draw before rounding, as in sysbench.
                    (unit * (width + 1.0) + last / 2.0 - width / 2.0) as u64
                }
            }
            Source::Pareto { power } => (count * generator.unit().powf(*power)) as u64,
            Source::Zipfian(zipfian, None) => zipfian.rank(generator) - 1,
            Source::Zipfian(zipfian, Some(scatter)) => scatter.place(zipfian.rank(generator) - 1),
            Source::Unique(unique, counters) => {
                let index = counters.first()?.fetch_add(1, Ordering::Relaxed);
                unique.at(u32::try_from(index).ok()?).into()
            }
            Source::Each(scatter, counters) => {
                let index = counters.get(table)?.fetch_add(1, Ordering::Relaxed);
                if index >= self.count {
                    return None;
                }
                scatter.place(index)
            }
            Source::Sequence { next } => {
                if *next >= self.count {
                    return None;
                }
                *next += 1;
                *next - 1
            }
        };
        Some(self.low + distance as i64)
    }
}

/// The mean of `terms` uniform numbers below `bound`, rounded down.
#[inline]
fn mean(generator: &mut Generator, terms: u32, bound: f64) -> u64 {
    let mut sum = 0.0;
    for _ in 0..terms {
        sum += generator.unit() * bound;
    }
    (sum * (1.0 / f64::from(terms))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: i64 = 1_000_000;
    const DRAWS: u32 = 200_000;

    /// The share of draws from `1..=ROWS` between the bounds.
    fn share(name: &str, low: i64, high: i64) -> f64 {
        let mut sampler = Distribution::named(name, &[]).unwrap().between(1, ROWS, 1).unwrap();
        let mut generator = Generator::of(1, name, 0);
        let hits =
            (0..DRAWS).filter(|_| (low..=high).contains(&sampler.draw(&mut generator, 0).unwrap())).count();
        hits as f64 / f64::from(DRAWS)
    }

    /// One standard deviation of a share is at most 0.0012.
    fn assert_share(name: &str, low: i64, high: i64, expected: f64) {
        let share = share(name, low, high);
        assert!((share - expected).abs() < 0.006, "{name} {low}..{high}: {share}, expected {expected}");
    }

    #[test]
    fn the_stated_probabilities() {
        assert_share("uniform", 1, ROWS / 4, 0.25);
        // 80 % in the first 20 %, 53 % in the first 1 %.
        assert_share("pareto", 1, ROWS / 5, 0.8);
        assert_share("pareto", 1, ROWS / 100, 0.528);
        // 76 % in the central 1 %, 51 % in its upper half.
        assert_share("special", ROWS / 2 - 5_000, ROWS / 2 + 5_000, 0.76);
        assert_share("special", ROWS / 2, ROWS / 2 + 5_000, 0.51);
        // The mean of 12 uniform numbers has the standard deviation 1/12 of the range: 68.3 % lie within one.
        assert_share("gaussian", ROWS * 5 / 12, ROWS * 7 / 12, 0.683);
        assert_share("zipfian", 1, ROWS / 10, 0.609);
        // When scattered, the first 1 % are as hot as any other 1 %, give or take a hot number or two.
        assert!(share("zipfian", 1, ROWS / 100) > 0.35);
        assert!(share("scrambled_zipfian", 1, ROWS / 100) < 0.05);
    }

    #[test]
    fn each_number_once_for_each_table() {
        let mut sampler = Distribution::Each.between(5, 9, 2).unwrap();
        let mut other = sampler.clone();
        let mut generator = Generator::of(1, "each", 0);
        let mut drawn = Vec::new();
        while let Some(number) = sampler.draw(&mut generator, 0) {
            drawn.push(number);
            drawn.extend(other.draw(&mut generator, 0));
        }
        drawn.sort_unstable();
        assert_eq!(drawn, [5, 6, 7, 8, 9]);
        assert!(other.draw(&mut generator, 0).is_none());
        assert!(other.draw(&mut generator, 1).is_some());
    }

    #[test]
    fn sequences_and_unique_numbers() {
        let mut generator = Generator::of(1, "s", 0);
        let mut sequence = Distribution::Sequence.between(3, 4, 1).unwrap();
        let drawn: Vec<_> = (0..3).map(|_| sequence.draw(&mut generator, 0)).collect();
        assert_eq!(drawn, [Some(3), Some(4), None]);
        let mut unique = Distribution::Unique.between(-2_147_483_648, 2_147_483_647, 1).unwrap();
        assert_eq!(unique.clone().draw(&mut generator, 0), Some(525_449_452));
        assert_eq!(unique.draw(&mut generator, 0), Some(768_762_026), "threads share the numbers");
    }

    #[test]
    fn what_cannot_be() {
        assert!(Distribution::Uniform.between(2, 1, 1).is_err());
        assert!(Distribution::Uniform.between(0, 1 << 32, 1).is_err());
        assert!(Distribution::Unique.between(1, 10, 1).is_err());
        assert!(Distribution::named("zipf", &[]).is_err());
        assert!(Distribution::named("pareto", &[1.0]).is_err());
        assert!(Distribution::named("uniform", &[1.0]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn draws_stay_in_range(
            seed: u64,
            low in -3_000_000_000i64..3_000_000_000,
            width in 0i64..(1 << 32),
            which in 0usize..6,
        ) {
            let name = Distribution::names().nth(which).unwrap();
            let mut sampler = Distribution::named(name, &[]).unwrap().between(low, low + width, 1).unwrap();
            let mut generator = Generator::of(seed, name, 0);
            for _ in 0..20 {
                let number = sampler.draw(&mut generator, 0).unwrap();
                proptest::prop_assert!((low..=low + width).contains(&number), "{} {}", name, number);
            }
        }
    }
}
