//! The exact distribution of Wilcoxon's signed-rank statistic, and the averages that its interval is made of.

/// Probabilities of the signed-rank statistic W⁺ of `n` values that are symmetric about 0 (Wilcoxon 1945).
#[derive(Debug, Clone)]
pub(crate) struct SignedRank {
    /// P(W⁺ ≤ w) for w from 0 to n(n+1)/2.
    cumulative: Vec<f64>,
}

impl SignedRank {
    /// The distribution for `n` values: each rank is included with probability one half.
    pub(crate) fn of(values: usize) -> Self {
        let sums = values * (values + 1) / 2;
        let mut chances = vec![0.0; sums + 1];
        chances[0] = 1.0;
        for rank in 1..=values {
            for sum in (0..=rank * (rank + 1) / 2).rev() {
                let without = if sum <= rank * (rank - 1) / 2 { chances[sum] } else { 0.0 };
                let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
                chances[sum] = 0.5 * (without + with);
            }
        }
        let mut below = 0.0;
        for chance in &mut chances {
            below += *chance;
            *chance = below;
        }
        SignedRank { cumulative: chances }
    }

    /// How many averages an interval of this two-sided level leaves out at each end; `None` if even the whole range of averages is too
    /// narrow.
    pub(crate) fn left_out(&self, level: f64) -> Option<usize> {
        // The largest w with P(W⁺ ≤ w) of at most half the level leaves out w averages, and the next one is the end.
        self.cumulative.partition_point(|chance| *chance <= level / 2.0).checked_sub(1)
    }

    /// The two-sided level at which an interval just excludes 0; the averages need not be sorted.
    pub(crate) fn level_against_zero(&self, averages: &[f64]) -> f64 {
        let not_above = averages.iter().filter(|average| **average <= 0.0).count();
        let not_below = averages.iter().filter(|average| **average >= 0.0).count();
        (2.0 * self.cumulative[not_above.min(not_below)]).min(1.0)
    }
}

/// The averages of all pairs of values, including each value with itself (Walsh 1949).
pub(crate) fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, first) in values.iter().enumerate() {
        averages.extend(values[index..].iter().map(|second| 0.5 * (first + second)));
    }
    averages
}

/// The value that would stand at `rank`, from 0, if the values were sorted.
pub(crate) fn of_rank(values: &mut [f64], rank: usize) -> f64 {
    *values.select_nth_unstable_by(rank, f64::total_cmp).1
}

/// The median. There must be at least one value.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let largest_below = below.iter().copied().max_by(f64::total_cmp).filter(|_| is_even);
    0.5 * (largest_below.unwrap_or(*upper) + *upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_counting_sign_patterns() {
        for values in 1..=10usize {
            let exact = SignedRank::of(values);
            let sums = values * (values + 1) / 2;
            let mut counts = vec![0u32; sums + 1];
            for pattern in 0..1usize << values {
                counts
                    [(0..values).filter(|bit| pattern >> bit & 1 == 1).map(|bit| bit + 1).sum::<usize>()] +=
                    1;
            }
            let mut below = 0;
            for (sum, count) in counts.iter().enumerate() {
                below += count;
                let expected = f64::from(below) / f64::from(1u32 << values);
                assert!((exact.cumulative[sum] - expected).abs() < 1e-12, "{values} {sum}");
            }
        }
    }

    #[test]
    fn left_out_agrees_with_printed_tables() {
        // Critical values of the signed-rank test at 5 % two-sided: 8 for n = 10, 52 for n = 20.
        assert_eq!(SignedRank::of(10).left_out(0.05), Some(8));
        assert_eq!(SignedRank::of(20).left_out(0.05), Some(52));
        assert_eq!(SignedRank::of(5).left_out(0.05), None);
    }

    #[test]
    fn the_median_of_even_and_odd_counts() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
