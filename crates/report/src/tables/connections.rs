//! Whether the connections of a role were served alike.

use basecase_analysis::{Results, Spread, roles};
use basecase_model::StepFacts;

use super::{Column, Row, Table, TableCell, grouped};

/// One row per candidate and role with several connections; `None` if there is none, and for the Insert Benchmark.
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
            rows.push(Row::new(&facts.name.0, cells(&spread, role, records.len())));
        }
    }
    let mut reading =
        vec!["Events that single connections of each role finished in the measured window.".to_owned()];
    reading.extend(starved);
    (!rows.is_empty()).then(|| Table {
        caption: format!("{} connections", step.label),
        reading: reading.join("\n"),
        corner: "dbms",
        columns: vec![
            Column::words("role"),
            Column::numbers("connections", ""),
            Column::numbers("fewest", "events of the connection with the fewest"),
            Column::numbers("median", "median over connections"),
            Column::numbers("most", "events of the connection with the most"),
            Column::numbers("below half", "connections with less than half of the median"),
        ],
        rows,
        ..Table::default()
    })
}

fn cells(spread: &Spread, role: &str, connections: usize) -> Vec<TableCell> {
    let texts = [
        role.to_owned(),
        connections.to_string(),
        grouped(spread.fewest),
        grouped(spread.median),
        grouped(spread.most),
        spread.starved.to_string(),
    ];
    texts.into_iter().map(TableCell::plain).collect()
}
