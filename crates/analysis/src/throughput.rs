//! Per-second rates of several roles together.

use basecase_model::RoleRecord;

/// The least number of intervals for a percentile.
const FEWEST_INTERVALS: usize = 10;

/// The items that several roles together finished in equal intervals. Only whole intervals are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throughput {
    /// Length of every interval, milliseconds.
    pub interval_ms: u32,
    /// Items finished in each.
    pub items: Vec<u64>,
    /// Largest service time among the statements that finished in each, µs; 0 when none did.
    pub max_us: Vec<u64>,
}

impl Throughput {
    /// Sums the series of `roles` up to the last statement of any; `None` without a sample or a whole interval. For several rounds, which
    /// end when all of their time has passed, it is the series of one round in whole intervals.
    pub fn of<'a>(roles: impl Iterator<Item = &'a RoleRecord>, rounds: usize) -> Option<Throughput> {
        let mut sum = Throughput { interval_ms: 0, items: Vec::new(), max_us: Vec::new() };
        let mut ended_us = 0;
        for role in roles.filter(|role| !role.series.samples.is_empty()) {
            if sum.interval_ms == 0 {
                sum.interval_ms = role.series.interval_ms;
            }
            if role.series.interval_ms != sum.interval_ms {
                return None;
            }
            let length = sum.items.len().max(role.series.samples.len());
            sum.items.resize(length, 0);
            sum.max_us.resize(length, 0);
            for (index, sample) in role.series.samples.iter().enumerate() {
                sum.items[index] += u64::from(sample.items);
                sum.max_us[index] = sum.max_us[index].max(u64::from(sample.max_us));
            }
            ended_us = ended_us.max(role.ended_us);
        }
        let ended = ended_us.checked_div(u64::from(sum.interval_ms) * 1000)? as usize;
        let whole = if rounds > 1 { sum.items.len() } else { ended };
        sum.items.resize(whole, 0);
        sum.max_us.resize(whole, 0);
        (whole > 0).then_some(sum)
    }

    /// The rate that `percent` of the intervals reached or exceeded, items per second: a measure of stalls, not a latency. `None` for fewer
    /// than ten intervals.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        if self.items.len() < FEWEST_INTERVALS {
            return None;
        }
        let mut descending = self.items.clone();
        descending.sort_unstable_by(|left, right| right.cmp(left));
        let place = (percent / 100.0 * descending.len() as f64).round().max(1.0) as usize;
        let items = *descending.get(place - 1)?;
        Some(items as f64 * 1000.0 / f64::from(self.interval_ms))
    }

    /// Items of each whole second; `None` if intervals do not add up to seconds.
    pub fn seconds(&self) -> Option<Vec<u64>> {
        if !1000_u32.is_multiple_of(self.interval_ms) {
            return None;
        }
        let per_second = (1000 / self.interval_ms) as usize;
        Some(self.items.chunks_exact(per_second).map(|second| second.iter().sum()).collect())
    }

    /// The same in intervals this many times as long: items of each, and the largest of the service times.
    pub fn coarser(&self, factor: usize) -> Throughput {
        Throughput {
            interval_ms: self.interval_ms * factor as u32,
            // A shorter last interval would look like a stall, so it is scaled to the length of the others.
            items: self
                .items
                .chunks(factor)
                .map(|chunk| chunk.iter().sum::<u64>() * factor as u64 / chunk.len() as u64)
                .collect(),
            max_us: self
                .max_us
                .chunks(factor)
                .map(|chunk| chunk.iter().copied().max().unwrap_or(0))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::{OperationClass, Sample};

    use super::*;

    fn throughput(items: &[u64]) -> Throughput {
        Throughput { interval_ms: 1000, items: items.to_vec(), max_us: items.to_vec() }
    }

    #[test]
    fn percentiles_are_rates_that_most_seconds_reached() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(throughput(&hundred).percentile(50.0), Some(51.0));
        assert_eq!(throughput(&hundred).percentile(99.0), Some(2.0));
        assert_eq!(throughput(&[9; 10]).percentile(99.0), Some(9.0));
        assert_eq!(throughput(&[9; 9]).percentile(50.0), None);
    }

    #[test]
    fn coarser_intervals_keep_rate_and_largest_latency() {
        let coarse = throughput(&[1, 2, 3, 4, 5]).coarser(2);
        assert_eq!(coarse, Throughput { interval_ms: 2000, items: vec![3, 7, 10], max_us: vec![2, 4, 5] });
        assert_eq!(throughput(&[1, 2]).coarser(1), throughput(&[1, 2]));
    }

    #[test]
    fn quarters_of_a_second_add_up() {
        let quarters = Throughput { interval_ms: 250, ..throughput(&[1, 1, 1, 1, 2, 2, 2, 2, 9]) };
        assert_eq!(quarters.seconds(), Some(vec![4, 8]));
        assert_eq!(Throughput { interval_ms: 300, ..quarters }.seconds(), None);
    }

    #[test]
    fn several_rounds_have_the_course_of_one() {
        let mut role = RoleRecord::idle(1, "client", OperationClass::Query, 1000);
        role.ended_us = 6_000_000;
        role.series.samples = vec![Sample { items: 5, ..Sample::default() }; 3];
        let items = |rounds| Throughput::of(std::iter::once(&role), rounds).unwrap().items;
        assert_eq!(items(2), [5, 5, 5], "nothing was missed in the second round's time");
        assert_eq!(items(1), [5, 5, 5, 0, 0, 0]);
    }
}
