//! Tables 1 to 3, and the seconds below the target rate.

use basecase_analysis::{Results, Shown, Standing, Thresholds, quarters};
use basecase_model::{Headline, StepFacts};

use super::relative::IN_ROUNDS;
use super::{Column, Highlight, Row, Table, TableCell, absent, relative};

/// The summary tables in order. The last two are absent if no step has a target rate.
pub(crate) fn tables(results: &Results<'_>, thresholds: Thresholds) -> Vec<Table> {
    let mut tables = vec![absolute(results), relative_to_base(results, thresholds)];
    if results.steps().any(|(_, step)| step.sla_target.is_some()) {
        tables.extend([insert_rate(results), missed_seconds(results)]);
    }
    tables
}

/// Table 1: the headline value.
fn absolute(results: &Results<'_>) -> Table {
    // In rounds only decided changes are marked.
    let is_kept = |mark: Highlight| results.rounds.is_none() || mark == Highlight::Ignored;
    let kept = |mark| if is_kept(mark) { mark } else { Highlight::None };
    let columns: Vec<Vec<TableCell>> = results
        .steps()
        .map(|(step, _)| {
            let shown = |(candidate, _)| {
                let value = results.headline(step, candidate)?.round() as i64;
                Some(Shown { value, ignored: results.missed_sla(step, candidate) })
            };
            let column: Vec<Option<Shown>> = results.candidates().map(shown).collect();
            let cell = |(candidate, (shown, standing)): (usize, (&Option<Shown>, Standing))| match shown {
                Some(shown) => TableCell::marked(shown.value.to_string(), kept(standing.into()))
                    .of_trial(step, candidate),
                None => absent(results, step, candidate),
            };
            column.iter().zip(quarters(&column)).enumerate().map(cell).collect()
        })
        .collect();
    Table {
        caption: "Table 1: throughput".into(),
        reading: format!(
            "{}. The first row is the base case.",
            units(results.steps().map(|(_, step)| step)).join("; ")
        ),
        legend: [
            (Highlight::TopQuarter, "best quarter of the column's range"),
            (Highlight::BottomQuarter, "worst quarter, if the range is wide"),
            (Highlight::Ignored, "inserts missed their target rate: do not compare"),
        ]
        .into_iter()
        .filter(|(mark, _)| is_kept(*mark))
        .map(|(mark, meaning)| (mark, meaning.to_owned()))
        .collect(),
        corner: "dbms",
        columns: results.steps().map(|(number, step)| heading(number, step, &step.name)).collect(),
        rows: results
            .candidates()
            .map(|(candidate, facts)| {
                Row::new(
                    &facts.name.0,
                    columns.iter().filter_map(|column| column.get(candidate).cloned()).collect(),
                )
            })
            .collect(),
        ..Table::default()
    }
}

/// Table 2: the headline value divided by the base case's.
fn relative_to_base(results: &Results<'_>, thresholds: Thresholds) -> Table {
    let cell = |step, candidate| relative::cell(results, step, candidate, thresholds);
    let mut legend = relative::legend(results, thresholds);
    legend.push((Highlight::Ignored, "inserts missed their target rate: do not compare".into()));
    Table {
        caption: "Table 2: throughput relative to the base case".into(),
        reading: match results.rounds {
            Some(_) => IN_ROUNDS,
            None => "Throughput divided by that of the first row: 1.00 is equal, less is slower.",
        }
        .into(),
        legend,
        corner: "dbms",
        columns: results.steps().map(|(number, step)| heading(number, step, &step.name)).collect(),
        rows: rows(results, |_| true, cell),
        ..Table::default()
    }
}

/// Table 3: rows inserted per second in the steps that have a target rate.
fn insert_rate(results: &Results<'_>) -> Table {
    let cell = |step, candidate| {
        let rate = results.measured(step, candidate).and_then(|measured| measured.inserts_per_second());
        match rate {
            Some(rate) if results.missed_sla(step, candidate) => {
                TableCell::marked(format!("{rate:.0}"), Highlight::SlaFailed)
            }
            Some(rate) => TableCell::plain(format!("{rate:.0}")),
            None => absent(results, step, candidate),
        }
    };
    let mut rows = rows(results, has_target, cell);
    let targets = results.steps().filter_map(|(_, step)| step.sla_target);
    rows.push(Row {
        name: "target".into(),
        cells: targets.map(|target| TableCell::plain(format!("{target:.0}"))).collect(),
        reference: true,
        ..Row::default()
    });
    Table {
        caption: "Table 3: insert rate in the read-write steps".into(),
        reading:
            "Rows inserted per second by all background writers together. A step passes if it reaches 95 % of its target."
                .into(),
        legend: vec![(Highlight::SlaFailed, "below 95 % of the target".into())],
        corner: "dbms",
        columns: target_columns(results),
        rows,
        ..Table::default()
    }
}

/// Seconds below the target rate.
fn missed_seconds(results: &Results<'_>) -> Table {
    let cell = |step, candidate| match results.measured(step, candidate) {
        Some(measured) => match measured.shortfall() {
            Some(shortfall) => TableCell::plain(format!("{} of {}", shortfall.missed, shortfall.judged)),
            None => TableCell::plain(super::NOT_AVAILABLE),
        },
        None => absent(results, step, candidate),
    };
    Table {
        caption: "Seconds below the target insert rate".into(),
        reading:
            "A second counts if it and its two neighbours together brought less than 95 % of the target, because bursty \
             writers move a whole second's rows at once."
                .into(),
        corner: "dbms",
        columns: target_columns(results),
        rows: rows(results, has_target, cell),
        ..Table::default()
    }
}

fn has_target(step: &StepFacts) -> bool {
    step.sla_target.is_some()
}

fn target_columns(results: &Results<'_>) -> Vec<Column> {
    let steps = results.steps().filter(|(_, step)| has_target(step));
    steps.map(|(number, step)| heading(number, step, &step.label)).collect()
}

fn heading(number: usize, step: &StepFacts, name: &str) -> Column {
    Column { step: Some(number), ..Column::numbers(name, &step.title) }
}

fn rows(
    results: &Results<'_>,
    wanted: impl Fn(&StepFacts) -> bool,
    cell: impl Fn(usize, usize) -> TableCell,
) -> Vec<Row> {
    let cells = |candidate| {
        let steps = results.steps().filter(|(_, step)| wanted(step));
        steps.map(|(step, _)| cell(step, candidate)).collect()
    };
    results.candidates().map(|(candidate, facts)| Row::new(&facts.name.0, cells(candidate))).collect()
}

/// The unit of each step, e.g. `inserts/s in l.i0, l.i1`.
fn units<'a>(steps: impl Iterator<Item = &'a StepFacts>) -> Vec<String> {
    let mut units: Vec<(Headline, Vec<&str>)> = Vec::new();
    for step in steps {
        match units.iter_mut().find(|(headline, _)| *headline == step.headline) {
            Some((_, names)) => names.push(&step.name),
            None => units.push((step.headline, vec![&step.name])),
        }
    }
    units
        .into_iter()
        .map(|(headline, names)| format!("{} in {}", headline.unit(), names.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use basecase_analysis::Preset;

    use super::*;
    use crate::fixture;

    #[test]
    fn a_base_case_that_failed_leaves_its_column_without_ratios() {
        let (experiment, mut trials) = fixture::sample();
        let base = experiment.candidates[0].name.0.clone();
        trials.retain(|trial| !(trial.step == "l.i0" && trial.candidate == base));
        let results = Results::new(&experiment, &trials);
        let table = relative_to_base(&results, Preset::Report.thresholds());
        for row in &table.rows {
            assert_eq!(row.cells[0], TableCell::plain(crate::tables::MISSING), "{}", row.name);
        }
        assert_eq!(table.rows[0].cells[1].text, "1.00");
    }

    #[test]
    fn a_missed_rate_is_marked_in_all_three_tables() {
        let (experiment, trials) = fixture::sample();
        let results = Results::new(&experiment, &trials);
        let tables = tables(&results, Preset::Report.thresholds());
        let mark = |table: usize| {
            let column =
                tables[table].columns.iter().position(|column| column.name.starts_with("qp1000")).unwrap();
            tables[table].rows[2].cells[column].mark
        };
        assert_eq!(
            [mark(0), mark(1), mark(2)],
            [Highlight::Ignored, Highlight::Ignored, Highlight::SlaFailed]
        );
        assert_eq!(tables[2].rows.last().unwrap().name, "target");
    }
}
