//! What each role of a step did, over all clients.

use basecase_model::{Aside, RoleRecord, Trial};

use crate::results::quotient;

/// The records of each role, in the order in which roles first appear.
pub fn roles(trial: &Trial) -> Vec<(&str, Vec<&RoleRecord>)> {
    let mut roles: Vec<(&str, Vec<&RoleRecord>)> = Vec::new();
    for record in &trial.roles {
        match roles.iter_mut().find(|(name, _)| *name == record.role) {
            Some((_, records)) => records.push(record),
            None => roles.push((&record.role, vec![record])),
        }
    }
    roles
}

/// What a role did, over all its clients.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleSum {
    /// Statements that were executed.
    pub statements: u64,
    /// Rows that were asked for, or queries.
    pub items: u64,
    /// Items per second, each client over its own window; `None` if one has no window.
    pub items_per_second: Option<f64>,
    /// Rows inserted or deleted, as the server counted them.
    pub affected: u64,
    /// Rows fetched.
    pub fetched: u64,
    /// Statements retried after an error.
    pub retries: u64,
    /// Replies that were not as expected.
    pub mismatches: u64,
    /// CPU time of basecase's threads per item, µs.
    pub client_us_per_item: Option<f64>,
    /// CPU time of the sessions' own server processes per item, µs; `None` if one does not provide it.
    pub server_us_per_item: Option<f64>,
    /// Asides, each name once.
    pub asides: Vec<Aside>,
}

impl RoleSum {
    /// From the records of one role.
    pub fn of(records: &[&RoleRecord]) -> RoleSum {
        let sum = |count: fn(&RoleRecord) -> u64| records.iter().map(|record| count(record)).sum::<u64>();
        let items = sum(|record| record.items);
        let rates = records.iter().map(|record| quotient(record.items as f64 * 1e6, record.ended_us as f64));
        let client_us: f64 = records.iter().map(|record| record.client_cpu_us).sum();
        let server_us: Option<f64> = records.iter().map(|record| record.server_cpu_us).sum();
        RoleSum {
            statements: sum(|record| record.statements),
            items,
            items_per_second: rates.sum(),
            affected: sum(|record| record.affected),
            fetched: sum(|record| record.fetched),
            retries: sum(|record| record.retries),
            mismatches: sum(|record| record.mismatches),
            client_us_per_item: quotient(client_us, items as f64),
            server_us_per_item: server_us.and_then(|amount| quotient(amount, items as f64)),
            asides: asides(records),
        }
    }
}

fn asides(records: &[&RoleRecord]) -> Vec<Aside> {
    let mut sums: Vec<Aside> = Vec::new();
    for aside in records.iter().flat_map(|record| &record.asides).filter(|aside| aside.count > 0) {
        match sums.iter_mut().find(|sum| sum.name == aside.name) {
            Some(sum) => {
                sum.count += aside.count;
                sum.total_us += aside.total_us;
                sum.max_us = sum.max_us.max(aside.max_us);
            }
            None => sums.push(aside.clone()),
        }
    }
    sums
}

/// How events are distributed over the connections of a role.
#[derive(Debug, PartialEq, Eq)]
pub struct Spread {
    /// The smallest number of events of a connection.
    pub fewest: u64,
    /// The median number of events of a connection.
    pub median: u64,
    /// The largest number of events of a connection.
    pub most: u64,
    /// Number of connections with less than half of the median.
    pub starved: usize,
}

impl Spread {
    /// `None` for fewer than two connections.
    pub fn of(records: &[&RoleRecord]) -> Option<Spread> {
        let mut events: Vec<u64> = records.iter().map(|record| record.events).collect();
        events.sort_unstable();
        let [fewest, .., most] = *events else { return None };
        let median = events[(events.len() - 1) / 2].midpoint(events[events.len() / 2]);
        let starved = events.iter().filter(|events| **events * 2 < median).count();
        Some(Spread { fewest, median, most, starved })
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::OperationClass;

    use super::*;
    use crate::fixture;

    #[test]
    fn asides_of_all_clients_are_summed() {
        let record = |max_us| RoleRecord {
            asides: vec![Aside { name: "min_id".into(), count: 2, total_us: 3_000, max_us }],
            ..fixture::idle_role("deleter", OperationClass::Delete)
        };
        let (one, two) = (record(1_500), record(2_500));
        let sum = Aside { name: "min_id".into(), count: 4, total_us: 6_000, max_us: 2_500 };
        assert_eq!(asides(&[&one, &two]), [sum]);
    }

    #[test]
    fn server_time_that_one_session_cannot_tell_is_not_available() {
        let known = RoleRecord {
            items: 10,
            server_cpu_us: Some(50.0),
            ..fixture::idle_role("inserter", OperationClass::Insert)
        };
        let unknown = RoleRecord { server_cpu_us: None, ..known.clone() };
        assert_eq!(RoleSum::of(&[&known]).server_us_per_item, Some(5.0));
        assert_eq!(RoleSum::of(&[&known, &unknown]).server_us_per_item, None);
    }

    #[test]
    fn a_connection_below_half_of_the_median_is_starved() {
        let spread = |events: &[u64]| {
            let record = |events: &u64| RoleRecord {
                events: *events,
                ..fixture::idle_role("client", OperationClass::Query)
            };
            let records: Vec<RoleRecord> = events.iter().map(record).collect();
            Spread::of(&records.iter().collect::<Vec<_>>())
        };
        assert_eq!(spread(&[7]), None);
        assert_eq!(spread(&[100, 49, 100]), Some(Spread { fewest: 49, median: 100, most: 100, starved: 1 }));
        assert_eq!(
            spread(&[90, 110, 50, 130]),
            Some(Spread { fewest: 50, median: 100, most: 130, starved: 0 })
        );
    }
}
