//! How far InnoDB's purge lagged at the end of each step.

use basecase_analysis::metrics::PURGE_LAG;
use basecase_analysis::{Results, Sweep};

use super::{Column, Row, Table, TableCell, absent, number};

/// One row per step and one column per candidate, without the steps of sweeps, which have a table of their own; `None` if no step tells.
pub(crate) fn table(results: &Results<'_>) -> Option<Table> {
    let sweeps = results.sweeps();
    let is_alone = |step: usize| {
        !sweeps.iter().any(|Sweep { points, .. }| points.iter().any(|(_, point)| *point == step))
    };
    let value = |step, candidate| (PURGE_LAG.of)(&results.measured(step, candidate)?);
    let is_known = |step: usize| results.candidates().any(|(candidate, _)| value(step, candidate).is_some());
    let cell = |step, candidate| match results.measured(step, candidate) {
        Some(_) => TableCell::plain(number(value(step, candidate), PURGE_LAG.decimals)),
        None => absent(results, step, candidate),
    };
    let steps = results.steps().filter(|(step, _)| is_alone(*step) && is_known(*step));
    let rows: Vec<Row> = steps
        .map(|(step, facts)| {
            let cells = results.candidates().map(|(candidate, _)| cell(step, candidate)).collect();
            Row { step: Some(step), ..Row::new(&facts.label, cells) }
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        caption: "InnoDB's history list at the end of each step".into(),
        reading:
            "Transactions whose undo log is kept, because purge has not gone through it: how far purge lags."
                .into(),
        corner: "step",
        columns: results.candidates().map(|(_, facts)| Column::numbers(&facts.name.0, "")).collect(),
        rows,
        ..Table::default()
    })
}

#[cfg(test)]
mod tests {
    use basecase_model::names;

    use super::*;
    use crate::fixture;

    #[test]
    fn plain_steps_have_the_table_and_sweeps_a_column_of_their_own() {
        let (experiment, mut trials) = fixture::sample();
        assert_eq!(table(&Results::new(&experiment, &trials)), None, "nothing tells it");
        let gauges = &mut trials[0].gauges;
        gauges.set(names::END_HISTORY_TRANSACTIONS, 8_017_707.0);
        let found = table(&Results::new(&experiment, &trials)).unwrap();
        assert_eq!((found.rows.len(), found.rows[0].name.as_str()), (1, experiment.steps[0].label.as_str()));
        let texts: Vec<&str> = found.rows[0].cells.iter().map(|cell| cell.text.as_str()).take(2).collect();
        assert_eq!(texts, ["8017707", super::super::NOT_AVAILABLE]);

        let (experiment, mut trials) = fixture::sweep(2, &[1, 8], 2);
        trials.iter_mut().for_each(|trial| trial.gauges.set(names::END_HISTORY_TRANSACTIONS, 5.0));
        let results = Results::new(&experiment, &trials);
        assert!(table(&results).is_none_or(|table| table.rows.iter().all(|row| !row.name.contains(".dop"))));
    }
}
