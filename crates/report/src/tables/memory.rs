//! What limited memory came to: reads per operation, and how much of it was used for what.

use basecase_analysis::metrics::{OF_GROUP, TAG};
use basecase_analysis::{IO_BOUND_READS, IO_BOUND_WAITING, Results};
use basecase_model::StepFacts;

use super::{Column, Highlight, Row, Table, TableCell, absent, lines, number};

/// Storage reads per operation of every candidate and step; `None` if no server's memory was limited and no step was meant to be IO-bound.
pub(crate) fn reads(results: &Results<'_>) -> Option<Table> {
    if !results.has_memory_limit() && !results.experiment.is_meant_io_bound() {
        return None;
    }
    let cell = |step, candidate| {
        let Some(measured) = results.measured(step, candidate) else {
            return absent(results, step, candidate);
        };
        let mark = match measured.is_io_bound() {
            Some(true) => Highlight::IoBound,
            Some(false) | None => Highlight::None,
        };
        TableCell::marked(number(measured.reads_per_operation(), 2), mark)
    };
    let row = |candidate| results.steps().map(|(step, _)| cell(step, candidate)).collect();
    Some(Table {
        caption: "Storage reads per operation".into(),
        reading: "Reads of each server's own control group, or of the whole device where they are not counted apart.".into(),
        legend: vec![(
            Highlight::IoBound,
            format!(
                "IO-bound: at least {IO_BOUND_READS} reads per operation, and waiting for input or output in at least {:.0} % of the time if that is known",
                IO_BOUND_WAITING * 100.0
            ),
        )],
        corner: "dbms",
        columns: results
            .steps()
            .map(|(number, step)| {
                let name = if results.is_workload_file() { &step.label } else { &step.name };
                Column { step: Some(number), ..Column::numbers(name, &step.title) }
            })
            .collect(),
        rows: results.candidates().map(|(candidate, facts)| Row::new(&facts.name.0, row(candidate))).collect(),
        ..Table::default()
    })
}

/// How a step used limited memory, one row per candidate; `None` if no server's memory was limited.
pub(crate) fn of_step(results: &Results<'_>, (step, facts): (usize, &StepFacts)) -> Option<Table> {
    if !results.has_memory_limit() {
        return None;
    }
    let cells = |candidate| -> Vec<TableCell> {
        let Some(measured) = results.measured(step, candidate) else {
            return OF_GROUP.iter().map(|_| absent(results, step, candidate)).collect();
        };
        let metrics = OF_GROUP.iter();
        metrics.map(|metric| TableCell::plain(number((metric.of)(&measured), metric.decimals))).collect()
    };
    Some(Table {
        caption: format!("{} in limited memory", facts.name),
        reading: "Counted by the kernel for each server's own control group.".into(),
        corner: TAG,
        columns: OF_GROUP.iter().map(|metric| Column::numbers(metric.name, lines::meaning(metric))).collect(),
        rows: results
            .candidates()
            .map(|(candidate, facts)| Row::new(&facts.name.0, cells(candidate)))
            .collect(),
        ..Table::default()
    })
}

#[cfg(test)]
mod tests {
    use basecase_model::{Experiment, names};

    use super::*;
    use crate::fixture;

    #[test]
    fn limited_memory_has_its_tables_and_no_other_experiment_does() {
        let (mut experiment, mut trials) = fixture::sample();
        let tables = |experiment: &Experiment, trials: &[basecase_model::Trial]| {
            let results = Results::new(experiment, trials);
            let step = results.steps().next().unwrap();
            (reads(&results), of_step(&results, step))
        };
        assert_eq!(tables(&experiment, &trials), (None, None));
        for candidate in &mut experiment.candidates {
            candidate.memory_limit_bytes = Some(300 << 20);
        }
        let base = experiment.candidates[0].name.0.clone();
        for trial in trials.iter_mut().filter(|trial| trial.candidate == base) {
            trial.gauges.set(names::GROUP_LIMIT_BYTES, f64::from(300 << 20));
            trial.gauges.set(names::GROUP_MEMORY_BYTES, f64::from(270 << 20));
            trial.gauges.set(names::GROUP_CACHED_BYTES, f64::from(120 << 20));
            trial.counters.set(names::GROUP_IO_PRESSURE_US, trial.seconds * 1e6);
            trial.counters.set(names::GROUP_READS, 1e12);
        }
        let (reads, of_step) = tables(&experiment, &trials);
        let (reads, of_step) = (reads.unwrap(), of_step.unwrap());
        assert_eq!(reads.rows[0].cells[0].mark, Highlight::IoBound);
        let text = |name: &str| {
            let column = of_step.columns.iter().position(|column| column.name == name).unwrap();
            of_step.rows[0].cells[column].text.as_str()
        };
        assert_eq!([text("memory_pct"), text("cached_mib"), text("memory_peak_pct")], ["90.0", "120", "NA"]);
        assert_eq!(text("io_waiting_pct"), "100.0");
    }

    #[test]
    fn a_size_that_was_meant_to_be_io_bound_shows_whether_it_is() {
        let (mut experiment, trials) = fixture::sample();
        experiment.parameters.push((Experiment::MEANT.into(), Experiment::IO_BOUND.into()));
        let results = Results::new(&experiment, &trials);
        assert!(reads(&results).is_some());
    }
}
