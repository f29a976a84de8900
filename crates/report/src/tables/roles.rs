//! The work of each role in a step, over all clients.

use basecase_analysis::{Results, RoleSum, roles};
use basecase_model::{Aside, StepFacts};

use super::{Column, Row, Table, TableCell, grouped, number};

/// One row per candidate and role; `None` if no trial of the step is complete.
pub(crate) fn table(results: &Results<'_>, (number_of_step, step): (usize, &StepFacts)) -> Option<Table> {
    let rows: Vec<Row> = results
        .candidates()
        .filter_map(|(candidate, facts)| Some((facts, results.measured(number_of_step, candidate)?.trial)))
        .flat_map(|(facts, trial)| {
            roles(trial).into_iter().map(|(name, records)| {
                Row::new(&facts.name.0, cells(name, records.len(), &RoleSum::of(&records)))
            })
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let workers = if step.threads.is_some() { "threads" } else { "clients" };
    Some(Table {
        caption: format!("{} roles", step.name),
        reading: format!(
            "Sums over all {workers}. An item is an inserted or deleted row, or a query. Asides are statements that a role \
             executes beside its main ones; they are in no histogram."
        ),
        corner: "dbms",
        columns: vec![
            Column::words("role"),
            Column::numbers(workers, ""),
            Column::numbers("statements", ""),
            Column::numbers("items", "rows requested, or queries"),
            Column::numbers("items/s", "over each role's own window"),
            Column::numbers("affected", "rows inserted or deleted, as the server counted them"),
            Column::numbers("fetched", "rows fetched"),
            Column::numbers("retries", "statements retried after an error"),
            Column::numbers("mismatches", "unexpected replies"),
            Column::numbers("client µs/item", "CPU time of basecase's threads for this role"),
            Column::numbers("server µs/item", "CPU time of the sessions' own server processes"),
            Column::words("asides"),
        ],
        rows,
        ..Table::default()
    })
}

fn cells(name: &str, clients: usize, sum: &RoleSum) -> Vec<TableCell> {
    let texts = [
        name.to_owned(),
        clients.to_string(),
        grouped(sum.statements),
        grouped(sum.items),
        number(sum.items_per_second, 0),
        grouped(sum.affected),
        grouped(sum.fetched),
        grouped(sum.retries),
        grouped(sum.mismatches),
        number(sum.client_us_per_item, 1),
        number(sum.server_us_per_item, 1),
        sum.asides.iter().map(aside).collect::<Vec<_>>().join("; "),
    ];
    texts.into_iter().map(TableCell::plain).collect()
}

/// E.g. `min_id: 3 in 120.1 ms, longest 98.0 ms`.
fn aside(Aside { name, count, total_us, max_us }: &Aside) -> String {
    let ms = |us: u64| us as f64 / 1e3;
    format!("{name}: {count} in {:.1} ms, longest {:.1} ms", ms(*total_us), ms(*max_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asides_are_in_milliseconds() {
        let sum = Aside { name: "min_id".into(), count: 4, total_us: 6_000, max_us: 2_500 };
        assert_eq!(aside(&sum), "min_id: 4 in 6.0 ms, longest 2.5 ms");
    }
}
