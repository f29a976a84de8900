//! Queries per second by group, relative to the base case and absolute, in the form of published results.

use basecase_analysis::{Results, StepGroup, Thresholds};

use super::relative::IN_ROUNDS;
use super::{Column, Row, Table, TableCell, absent, relative, relative_to};

/// How to read the relative tables.
pub(crate) fn relative_reading(results: &Results<'_>) -> &'static str {
    if results.rounds.is_some() { IN_ROUNDS } else { RELATIVE }
}

const RELATIVE: &str = "Queries per second divided by those of the base case: 1.00 is equal, less is slower. Ratios are \
                        computed at full precision, those in published tables from whole numbers.";
/// How to read the absolute tables.
pub(crate) const ABSOLUTE: &str = "Every statement counts as a query, including BEGIN and COMMIT.";

/// A table for each group, with the other candidates relative to the base case; empty if there is only one candidate.
pub(crate) fn relative_to_base(results: &Results<'_>, thresholds: Thresholds) -> Vec<Table> {
    let cell = |step, candidate| relative::cell(results, step, candidate, thresholds);
    let others: Vec<usize> = results.candidates().map(|(candidate, _)| candidate).skip(1).collect();
    if others.is_empty() {
        return Vec::new();
    }
    let tables = results.groups().into_iter().map(|group| {
        let mut table = table(results, &group, &others, cell);
        table.key.insert(0, relative_to(results));
        table.legend = relative::legend(results, thresholds);
        table
    });
    tables.collect()
}

/// A table for each group with the queries per second of all candidates.
pub(crate) fn absolute(results: &Results<'_>) -> Vec<Table> {
    let cell = |step, candidate| match results.headline(step, candidate) {
        Some(value) => TableCell::plain(rate(value)).of_trial(step, candidate),
        None => absent(results, step, candidate),
    };
    let all: Vec<usize> = results.candidates().map(|(candidate, _)| candidate).collect();
    results.groups().iter().map(|group| table(results, group, &all, cell)).collect()
}

/// A whole number, as published; below ten with two decimals, because one scan takes seconds.
fn rate(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { format!("{value:.0}") }
}

/// One row per step of the group and one column per candidate, named by the key.
fn table(
    results: &Results<'_>,
    group: &StepGroup<'_>,
    candidates: &[usize],
    cell: impl Fn(usize, usize) -> TableCell,
) -> Table {
    let name = |candidate: usize| results.experiment.candidates[candidate].name.0.as_str();
    let row = |&step: &usize| Row {
        step: Some(step),
        ..Row::new(
            &results.experiment.steps[step].label,
            candidates.iter().map(|&candidate| cell(step, candidate)).collect(),
        )
    };
    let columns: Vec<Column> = candidates
        .iter()
        .enumerate()
        .map(|(column, &candidate)| Column::numbers(format!("col-{}", column + 1), name(candidate)))
        .collect();
    Table {
        caption: group.name.to_owned(),
        key: columns.iter().map(|column| format!("{} : {}", column.name, column.meaning)).collect(),
        corner: "step",
        columns,
        rows: group.steps.iter().map(row).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use basecase_analysis::Preset;

    use super::*;
    use crate::fixture;

    #[test]
    fn one_candidate_has_one_block_and_no_ratios() {
        let (mut experiment, trials) = fixture::microbenchmarks(3, &fixture::LIST, 2);
        experiment.candidates.truncate(1);
        let results = Results::new(&experiment, &trials);
        assert_eq!(relative_to_base(&results, Preset::Report.thresholds()), []);
        let tables = absolute(&results);
        assert_eq!(tables.len(), 1);
        assert_eq!((tables[0].caption.as_str(), tables[0].rows.len()), ("microbenchmarks", 32));
    }

    #[test]
    fn a_failed_base_case_leaves_its_row_without_ratios() {
        let (experiment, mut trials) =
            fixture::microbenchmarks(3, &["hot-points_range=100", "scan_range=100"], 2);
        let base = experiment.candidates[0].name.to_string();
        trials.retain(|trial| !(trial.candidate == base && trial.step.starts_with("hot")));
        let results = Results::new(&experiment, &trials);
        let tables = relative_to_base(&results, Preset::Report.thresholds());
        let captions: Vec<&str> = tables.iter().map(|table| table.caption.as_str()).collect();
        assert_eq!(
            captions,
            ["point queries", "range queries without aggregation"],
            "other groups are left out"
        );
        assert!(tables[0].rows[0].cells.iter().all(|cell| cell.text == crate::tables::MISSING));
        assert!(tables[1].rows[0].cells.iter().all(|cell| cell.text != crate::tables::MISSING));
    }
}
