//! Response times: the ten published buckets and true percentiles.

use std::borrow::Cow;

use basecase_model::{Histogram, OperationClass, RoleRecord, StepFacts, Trial};

use super::marks::quarters_least_is_best;
use super::{Cell, Column, FAILED, MISSING, Mark, Row, Table};
use crate::results::Results;
use crate::shape::timed_name;

/// Upper bounds of the buckets, inclusive; the last bucket has none.
const BUCKETS: [(&str, u64); 10] = [
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

/// The percentiles shown beside the buckets.
pub(crate) const PERCENTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// How to read every table of response times.
pub(crate) fn reading(results: &Results<'_>) -> String {
    let events = if results.is_workload_file() { " A statement here is an event as a whole." } else { "" };
    format!("{READING}{events}")
}

const READING: &str = "Buckets hold the % of statements up to the bound in their heading and above the one \
                                  before, not cumulated; nonzero is more than nothing and less than 0.0005 %. \
                                  Service time counts from the sending of a statement: waiting for its turn is not \
                                  inside. Response time, of paced roles only, counts from the instant at which the \
                                  schedule meant the statement to start: waiting behind a slow one is inside.";

/// The latencies of one class over all clients of a trial.
pub(crate) struct Latencies<'a> {
    /// From just before a statement was sent until its last row was fetched.
    pub(crate) service: Cow<'a, Histogram>,
    /// From the instant at which the schedule meant it to start; only of paced roles.
    pub(crate) response: Option<Cow<'a, Histogram>>,
}

/// From where a latency is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// From the sending of the statement.
    Service,
    /// From its intended start.
    Response,
}

impl Clock {
    /// Both, in the order in which they are shown.
    pub(crate) const ALL: [Clock; 2] = [Clock::Service, Clock::Response];

    /// The word in files.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Clock::Service => "service",
            Clock::Response => "response",
        }
    }

    /// The words in captions.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Clock::Service => "service time",
            Clock::Response => "response time from the intended start",
        }
    }
}

impl Latencies<'_> {
    /// The histogram by one clock.
    pub(crate) fn by(&self, clock: Clock) -> Option<&Histogram> {
        match clock {
            Clock::Service => Some(&self.service),
            Clock::Response => self.response.as_deref(),
        }
    }
}

/// The latencies of `class`; `None` when it ran no statement.
pub(crate) fn latencies(trial: &Trial, class: OperationClass) -> Option<Latencies<'_>> {
    let service = sum(trial.roles_of(class).map(|role| &role.service))?;
    let response = |role: &'_ RoleRecord| role.response.is_some();
    let paced = trial.roles_of(class).any(response);
    let response =
        if paced { sum(trial.roles_of(class).filter_map(|role| role.response.as_ref())) } else { None };
    (service.count() > 0).then_some(Latencies { service, response })
}

fn sum<'a>(mut histograms: impl Iterator<Item = &'a Histogram>) -> Option<Cow<'a, Histogram>> {
    let mut sum = Cow::Borrowed(histograms.next()?);
    for histogram in histograms {
        sum.to_mut().add(histogram);
    }
    Some(sum)
}

/// The table of one class by one clock; `None` when no candidate has such latencies.
pub(crate) fn table(
    results: &Results<'_>,
    (number, step): (usize, &StepFacts),
    class: OperationClass,
    clock: Clock,
) -> Option<Table> {
    let of = |candidate| latencies(results.measured(number, candidate)?.trial, class);
    let all: Vec<Option<Latencies<'_>>> = results.candidates().map(|(candidate, _)| of(candidate)).collect();
    let histograms: Vec<Option<&Histogram>> =
        all.iter().map(|latencies| latencies.as_ref().and_then(|latencies| latencies.by(clock))).collect();
    if histograms.iter().all(Option::is_none) {
        return None;
    }
    let longest_ms: Vec<Option<i64>> = histograms
        .iter()
        .map(|histogram| histogram.map(|histogram| (histogram.max_ns() as f64 / 1e6).round() as i64))
        .collect();
    let marks = quarters_least_is_best(&longest_ms);
    let rows =
        results.candidates().zip(histograms).zip(marks).map(|(((candidate, facts), histogram), mark)| {
            let cells = match histogram {
                Some(histogram) => {
                    let mut cells = bucket_cells(&counts(histogram));
                    cells.extend(PERCENTILES.iter().map(|(_, quantile)| {
                        Cell::plain(format!("{:.3}", histogram.quantile_ns(*quantile) as f64 / 1e6))
                    }));
                    cells.push(Cell::marked(format!("{:.3}", histogram.max_ns() as f64 / 1e9), mark));
                    cells
                }
                None => {
                    let failed = results.trial(number, candidate).is_some_and(|trial| !trial.is_complete());
                    vec![
                        Cell::plain(if failed { FAILED } else { MISSING });
                        BUCKETS.len() + PERCENTILES.len() + 1
                    ]
                }
            };
            Row::new(&facts.name.0, cells)
        });
    let bucket = |(name, _): &(&str, u64)| Column::numbers(*name, "% of statements in this bucket alone");
    let percentile =
        |(name, _): &(&str, f64)| Column::numbers(format!("{name} ms"), "latency percentile in milliseconds");
    Some(Table {
        caption: format!("{} {}, {}", step.name, timed_name(step, class), clock.title()),
        legend: vec![
            (Mark::TopQuarter, "best quarter of the longest".into()),
            (Mark::BottomQuarter, "worst quarter of the longest, where the range is wide".into()),
        ],
        corner: "dbms",
        columns: BUCKETS
            .iter()
            .map(bucket)
            .chain(PERCENTILES.iter().map(percentile))
            .chain([Column::numbers("max s", "the longest statement in seconds")])
            .collect(),
        rows: rows.collect(),
        ..Table::default()
    })
}

/// How many latencies fall into each bucket.
fn counts(histogram: &Histogram) -> [u64; 10] {
    let mut below = 0;
    BUCKETS.map(|(_, bound_ns)| {
        let up_to =
            if bound_ns == u64::MAX { histogram.count() } else { histogram.count_at_most_ns(bound_ns) };
        let count = up_to - below;
        below = up_to;
        count
    })
}

/// Percentages with three decimals; nothing for no statement, `nonzero` for what rounds to nothing.
fn bucket_cells(counts: &[u64; 10]) -> Vec<Cell> {
    let total: u64 = counts.iter().sum();
    let cell = |&count: &u64| {
        if count == 0 {
            return Cell::default();
        }
        let share = count as f64 / total as f64;
        let text = format!("{:.3}", share * 100.0);
        let text = if text == "0.000" { "nonzero".to_owned() } else { text };
        Cell { text, share: Some(share), ..Cell::default() }
    };
    counts.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(counts: [u64; 10]) -> Vec<String> {
        bucket_cells(&counts).into_iter().map(|cell| cell.text).collect()
    }

    #[test]
    fn published_histogram() {
        let counts = [0, 94_239, 5643, 110, 4, 3, 0, 0, 0, 0];
        assert_eq!(counts.iter().sum::<u64>(), 99_999);
        assert_eq!(texts(counts), ["", "94.240", "5.643", "0.110", "0.004", "0.003", "", "", "", ""]);
    }

    #[test]
    fn what_rounds_to_nothing_is_still_shown() {
        assert_eq!(texts([1_000_000, 0, 0, 0, 0, 0, 0, 0, 0, 1])[9], "nonzero");
        assert_eq!(texts([0; 10]), [""; 10]);
    }

    #[test]
    fn bounds_are_inclusive_and_nothing_is_lost() {
        let mut histogram = Histogram::new();
        for latency_ns in [1_000, 256_000, 300_000, 4_000_000, 17_000_000_000, 7_200_000_000_000] {
            histogram.record_ns(latency_ns);
        }
        assert_eq!(counts(&histogram), [2, 1, 1, 0, 0, 0, 0, 0, 0, 2]);
    }
}
