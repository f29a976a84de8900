//! Whether the connections of a role were served alike.

use basecase_analysis::Results;
use basecase_model::{RoleRecord, StepFacts};

use super::roles::roles;
use super::{Cell, Column, Row, Table, grouped};

/// One row per candidate and role of several connections; `None` when there is none, and of the Insert Benchmark.
pub(crate) fn table(results: &Results<'_>, (step_number, step): (usize, &StepFacts)) -> Option<Table> {
    step.threads?;
    let mut rows = Vec::new();
    let mut starved = Vec::new();
    for (candidate, facts) in results.candidates() {
        let Some(measured) = results.measured(step_number, candidate) else { continue };
        for (role, records) in roles(measured.trial) {
            let Some(spread) = Spread::of(&records) else { continue };
            if spread.starved > 0 {
                starved.push(format!(
                    "{}: {} of {} {role} connections finished less than half of the median.",
                    facts.name,
                    spread.starved,
                    records.len()
                ));
            }
            rows.push(Row::new(&facts.name.0, spread.cells(role, records.len())));
        }
    }
    let mut reading =
        vec!["Events that single connections of a role finished in the measured window.".to_owned()];
    reading.extend(starved);
    (!rows.is_empty()).then(|| Table {
        caption: format!("{} connections", step.label),
        reading: reading.join("\n"),
        corner: "dbms",
        columns: vec![
            Column::words("role"),
            Column::numbers("connections", ""),
            Column::numbers("fewest", "events of the connection with fewest"),
            Column::numbers("median", "events of the connection in the middle"),
            Column::numbers("most", "events of the connection with most"),
            Column::numbers("below half", "connections with less than half of the median"),
        ],
        rows,
        ..Table::default()
    })
}

/// How events are spread over the connections of a role.
#[derive(Debug, PartialEq, Eq)]
struct Spread {
    fewest: u64,
    median: u64,
    most: u64,
    /// Connections with less than half of the median.
    starved: usize,
}

impl Spread {
    /// `None` of fewer than two connections.
    fn of(records: &[&RoleRecord]) -> Option<Spread> {
        let mut events: Vec<u64> = records.iter().map(|record| record.events).collect();
        events.sort_unstable();
        let [fewest, .., most] = *events else { return None };
        let median = events[(events.len() - 1) / 2].midpoint(events[events.len() / 2]);
        let starved = events.iter().filter(|events| **events * 2 < median).count();
        Some(Spread { fewest, median, most, starved })
    }

    fn cells(&self, role: &str, connections: usize) -> Vec<Cell> {
        let texts = [
            role.to_owned(),
            connections.to_string(),
            grouped(self.fewest),
            grouped(self.median),
            grouped(self.most),
            self.starved.to_string(),
        ];
        texts.into_iter().map(Cell::plain).collect()
    }
}

#[cfg(test)]
mod tests {
    use basecase_model::OperationClass;

    use super::*;
    use crate::fixture;

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
