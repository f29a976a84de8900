//! What each role of a step did, over all clients.

use basecase_analysis::{Results, quotient};
use basecase_model::{RoleRecord, StepFacts, Trial};

use super::{Cell, Column, Row, Table, grouped, number};

/// One row per candidate and role; `None` when no trial of the step is complete.
pub(crate) fn table(results: &Results<'_>, (number_of_step, step): (usize, &StepFacts)) -> Option<Table> {
    let rows: Vec<Row> = results
        .candidates()
        .filter_map(|(candidate, facts)| Some((facts, results.measured(number_of_step, candidate)?.trial)))
        .flat_map(|(facts, trial)| {
            roles(trial).into_iter().map(|(name, records)| Row::new(&facts.name.0, cells(name, &records)))
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let workers = if step.threads.is_some() { "threads" } else { "clients" };
    Some(Table {
        caption: format!("{} roles", step.name),
        reading: format!(
            "Sums over all {workers}. An item is a row of an insert or delete, or a query. Asides are statements \
             beside a role's main ones and are in no histogram."
        ),
        corner: "dbms",
        columns: vec![
            Column::words("role"),
            Column::numbers(workers, ""),
            Column::numbers("statements", ""),
            Column::numbers("items", "rows asked for, or queries"),
            Column::numbers("items/s", "over each role's own window"),
            Column::numbers("affected", "rows inserted or deleted, as the server counted them"),
            Column::numbers("fetched", "rows fetched"),
            Column::numbers("retries", "statements repeated after an error"),
            Column::numbers("mismatches", "replies that were not as expected"),
            Column::numbers("client µs/item", "CPU time of basecase's threads for this role"),
            Column::numbers("server µs/item", "CPU time of the sessions' own server processes"),
            Column::words("asides"),
        ],
        rows,
        ..Table::default()
    })
}

/// The records of each role, in the order in which roles first appear.
pub(super) fn roles(trial: &Trial) -> Vec<(&str, Vec<&RoleRecord>)> {
    let mut roles: Vec<(&str, Vec<&RoleRecord>)> = Vec::new();
    for record in &trial.roles {
        match roles.iter_mut().find(|(name, _)| *name == record.role) {
            Some((_, records)) => records.push(record),
            None => roles.push((&record.role, vec![record])),
        }
    }
    roles
}

fn cells(name: &str, records: &[&RoleRecord]) -> Vec<Cell> {
    let sum = |of: fn(&RoleRecord) -> u64| records.iter().map(|record| of(record)).sum::<u64>();
    let items = sum(|record| record.items);
    let rates = records.iter().map(|record| quotient(record.items as f64 * 1e6, record.ended_us as f64));
    let rate: Option<f64> = rates.sum();
    let client_us = records.iter().map(|record| record.client_cpu_us).sum();
    let server_us: Option<f64> = records.iter().map(|record| record.server_cpu_us).sum();
    let per_item = |amount: Option<f64>| number(amount.and_then(|amount| quotient(amount, items as f64)), 1);
    vec![
        Cell::plain(name),
        Cell::plain(records.len().to_string()),
        Cell::plain(grouped(sum(|record| record.statements))),
        Cell::plain(grouped(items)),
        Cell::plain(number(rate, 0)),
        Cell::plain(grouped(sum(|record| record.affected))),
        Cell::plain(grouped(sum(|record| record.fetched))),
        Cell::plain(grouped(sum(|record| record.retries))),
        Cell::plain(grouped(sum(|record| record.mismatches))),
        Cell::plain(per_item(Some(client_us))),
        Cell::plain(per_item(server_us)),
        Cell::plain(asides(records)),
    ]
}

/// E.g. `min_id: 3 in 120.1 ms, longest 98.0 ms`.
fn asides(records: &[&RoleRecord]) -> String {
    let mut sums: Vec<(&str, u64, u64, u64)> = Vec::new();
    for aside in records.iter().flat_map(|record| &record.asides).filter(|aside| aside.count > 0) {
        let known = sums.iter().position(|(name, ..)| *name == aside.name);
        let place = known.unwrap_or_else(|| {
            sums.push((&aside.name, 0, 0, 0));
            sums.len() - 1
        });
        let (_, count, total_us, max_us) = &mut sums[place];
        *count += aside.count;
        *total_us += aside.total_us;
        *max_us = (*max_us).max(aside.max_us);
    }
    let text = |(name, count, total_us, max_us): &(&str, u64, u64, u64)| {
        let ms = |us: u64| us as f64 / 1e3;
        format!("{name}: {count} in {:.1} ms, longest {:.1} ms", ms(*total_us), ms(*max_us))
    };
    sums.iter().map(text).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use basecase_model::{Aside, OperationClass};

    use super::*;
    use crate::fixture;

    #[test]
    fn asides_of_all_clients_are_summed() {
        let record = |max_us| RoleRecord {
            asides: vec![Aside { name: "min_id".into(), count: 2, total_us: 3_000, max_us }],
            ..fixture::idle_role("deleter", OperationClass::Delete)
        };
        let (one, two) = (record(1_500), record(2_500));
        assert_eq!(asides(&[&one, &two]), "min_id: 4 in 6.0 ms, longest 2.5 ms");
    }

    #[test]
    fn server_time_that_one_session_cannot_tell_is_not_available() {
        let known = RoleRecord {
            items: 10,
            server_cpu_us: Some(50.0),
            ..fixture::idle_role("inserter", OperationClass::Insert)
        };
        let unknown = RoleRecord { server_cpu_us: None, ..known.clone() };
        assert_eq!(cells("inserter", &[&known])[10].text, "5.0");
        assert_eq!(cells("inserter", &[&known, &unknown])[10].text, "NA");
    }
}
