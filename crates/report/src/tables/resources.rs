//! Costs per operation in steps of workload files, in the form of published metric tables.

use basecase_analysis::metrics::{RESOURCES, TrialMetric, costs};
use basecase_analysis::{Finding, Results, StepGroup, Thresholds};
use basecase_model::StepFacts;

use super::{Column, Highlight, Row, Table, TableCell, absent, lines, number, relative, relative_to};

/// How to read these tables.
pub(crate) const READING: &str = "An operation (o) is a query, or a row during the load. cpu/o is in per cent of the whole \
                                  machine × seconds, as published; cpu_us/o is the same in µs. Both include the client; \
                                  server_us/o is the server's processes alone. Ratios above 1 cost more than the base \
                                  case, except for o/s; 0/0 is 1, and anything else divided by 0 is inf.";

/// How to read the table of [`beyond`].
pub(crate) const BEYOND: &str = "Costs per operation divided by those of the base case, for every relative rate beyond the \
                                 thresholds. Trust a change in rate when a cost per operation moves the opposite way by \
                                 about as much: cpu/o and server_us/o for code, cs/o often for contention, rKB/o and wKB/o \
                                 for storage and caching. cpu/o includes the client.";

/// The relative costs of a group's results beyond the thresholds, the slowest of each candidate first; `None` if there is none.
pub(crate) fn beyond(
    results: &Results<'_>,
    group: &StepGroup<'_>,
    findings: &[Finding],
    thresholds: Thresholds,
) -> Option<Table> {
    let costs = || RESOURCES.iter().filter(|metric| metric.name != "o/s" && metric.name != "cpu_us/o");
    let mut rows = Vec::new();
    for Finding { candidate, ratios } in findings {
        for &(step, _) in ratios {
            let rate = relative::cell(results, step, *candidate, thresholds);
            if rate.mark == Highlight::None {
                continue;
            }
            let mut cells = vec![TableCell::plain(&results.experiment.candidates[*candidate].name.0), rate];
            cells.extend(costs().map(|cost| relative::cost_cell(results, cost, step, *candidate)));
            rows.push(Row { step: Some(step), ..Row::new(&results.experiment.steps[step].label, cells) });
        }
    }
    let mut columns = vec![Column::words("dbms"), Column::numbers("rate", "relative to the base case")];
    columns.extend(costs().map(|cost| Column::numbers(cost.name, lines::meaning(cost))));
    (!rows.is_empty()).then(|| Table {
        caption: format!("{}: costs relative to the base case", group.name),
        legend: relative::legend(results, thresholds),
        corner: "step",
        columns,
        rows,
        ..Table::default()
    })
}

/// The costs of every candidate, and those of the others relative to the base case; none for the Insert Benchmark.
pub(crate) fn tables(results: &Results<'_>, step: (usize, &StepFacts)) -> Vec<Table> {
    if step.1.threads.is_none() {
        return Vec::new();
    }
    let absolute = table(results, step, 0, |candidate, metric| {
        let measured = results.measured(step.0, candidate)?;
        Some(TableCell::plain(number((metric.of)(&measured), metric.decimals)))
    });
    let to_base = table(results, step, 1, |candidate, metric| {
        results.measured(step.0, candidate).and(results.measured(step.0, 0))?;
        Some(relative::cost_cell(results, metric, step.0, candidate))
    });
    let mut tables = vec![Table { caption: format!("{} costs", step.1.label), ..absolute }];
    if !to_base.rows.is_empty() {
        let caption = format!("{} costs relative to the base case", step.1.label);
        tables.push(Table { caption, reading: relative_to(results), ..to_base });
    }
    tables
}

/// One row per candidate from `first` on; `cell` returns `None` if there is nothing to compare.
fn table(
    results: &Results<'_>,
    (step, _): (usize, &StepFacts),
    first: usize,
    cell: impl Fn(usize, &TrialMetric) -> Option<TableCell>,
) -> Table {
    let cell =
        |candidate, metric| cell(candidate, metric).unwrap_or_else(|| absent(results, step, candidate));
    let costs = costs(results, step);
    let row = |candidate| costs.iter().map(|metric| cell(candidate, metric)).collect();
    Table {
        corner: "dbms",
        columns: costs.iter().map(|metric| Column::numbers(metric.name, lines::meaning(metric))).collect(),
        rows: results
            .candidates()
            .skip(first)
            .map(|(candidate, facts)| Row::new(&facts.name.0, row(candidate)))
            .collect(),
        ..Table::default()
    }
}
