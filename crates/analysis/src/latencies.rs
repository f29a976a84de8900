//! The latencies of a trial: by class and clock, in published buckets and as percentiles.

use std::borrow::Cow;

use basecase_model::{Histogram, OperationClass, RoleRecord, Trial};

/// Upper bounds of the buckets, inclusive; the last bucket has none.
pub const BUCKETS: [(&str, u64); 10] = [
    ("256us", 256_000),
    ("1ms", 1_000_000),
    ("4ms", 4_000_000),
    ("16ms", 16_000_000),
    ("64ms", 64_000_000),
    ("256ms", 256_000_000),
    ("1s", 1_000_000_000),
    ("4s", 4_000_000_000),
    ("16s", 16_000_000_000),
    ("gt", u64::MAX),
];

/// The percentiles that are reported, with their shares.
pub const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The latencies of one class over all clients of a trial.
pub struct Latencies<'a> {
    /// From just before a statement was sent until its last row was fetched.
    pub service: Cow<'a, Histogram>,
    /// From the instant at which the schedule meant it to start; only for paced roles.
    pub response: Option<Cow<'a, Histogram>>,
}

/// Where a latency starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// From the sending of the statement.
    Service,
    /// From its intended start.
    Response,
}

impl Clock {
    /// Both, in the order in which they are shown.
    pub const ALL: [Clock; 2] = [Clock::Service, Clock::Response];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Clock::Service => "service",
            Clock::Response => "response",
        }
    }

    /// The words in captions.
    pub fn title(self) -> &'static str {
        match self {
            Clock::Service => "service time",
            Clock::Response => "response time from the intended start",
        }
    }
}

impl Latencies<'_> {
    /// The histogram by one clock.
    pub fn by(&self, clock: Clock) -> Option<&Histogram> {
        match clock {
            Clock::Service => Some(&self.service),
            Clock::Response => self.response.as_deref(),
        }
    }
}

/// The latencies of `class`; `None` if it ran no statement.
pub fn latencies(trial: &Trial, class: OperationClass) -> Option<Latencies<'_>> {
    let service = sum(trial.roles_of(class).map(|role| &*role.service))?;
    let response = |role: &'_ RoleRecord| role.response.is_some();
    let paced = trial.roles_of(class).any(response);
    let response =
        if paced { sum(trial.roles_of(class).filter_map(|role| role.response.as_deref())) } else { None };
    (service.count() > 0).then_some(Latencies { service, response })
}

fn sum<'a>(mut histograms: impl Iterator<Item = &'a Histogram>) -> Option<Cow<'a, Histogram>> {
    let mut sum = Cow::Borrowed(histograms.next()?);
    for histogram in histograms {
        sum.to_mut().add(histogram);
    }
    Some(sum)
}

/// How many latencies fall into each of [`BUCKETS`].
pub fn counts(histogram: &Histogram) -> [u64; 10] {
    let mut below = 0;
    BUCKETS.map(|(_, bound_ns)| {
        let up_to =
            if bound_ns == u64::MAX { histogram.count() } else { histogram.count_at_most_ns(bound_ns) };
        let count = up_to - below;
        below = up_to;
        count
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_inclusive_and_nothing_is_lost() {
        let mut histogram = Histogram::new();
        for latency_ns in [1_000, 256_000, 300_000, 4_000_000, 17_000_000_000, 7_200_000_000_000] {
            histogram.record_ns(latency_ns);
        }
        assert_eq!(counts(&histogram), [2, 1, 1, 0, 0, 0, 0, 0, 0, 2]);
    }
}
