//! The verdict on each step and contender.

use basecase_analysis::{Attribution, Effect, Judged, Results, percent_of_logarithm};
use basecase_stats::{JudgedMetric, Verdict};

use super::relative::decided;
use super::{Column, Highlight, MISSING, Row, Table, TableCell};
use crate::words::JudgedWords as _;

/// How to read the table.
const READING: &str = "Change is the change in throughput, and CPU that of the server's CPU time per operation, in per \
                       cent of the base case, with their intervals. Noise is the between-round standard deviation, and \
                       visible the change that this many rounds detect with a probability of 80 %. Not enough data does \
                       not mean that nothing changed.";

/// A row for each step and contender, changes first; `None` if nothing is judged.
pub(crate) fn table(results: &Results<'_>) -> Option<Table> {
    let has_several = results.experiment.candidates.len() > 2;
    let row = |judged: &Judged<'_>| {
        let name = judged.candidate_name(results);
        let candidate = has_several.then(|| TableCell::plain(name));
        Row {
            step: Some(judged.step),
            ..Row::new(judged.step_name(results), candidate.into_iter().chain(cells(judged)).collect())
        }
    };
    let candidate = has_several.then(|| Column::words("candidate"));
    let rows: Vec<Row> = results.all_judged().iter().map(row).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Verdicts".into(),
        corner: "step",
        columns: candidate.into_iter().chain(columns()).collect(),
        rows,
        ..blank()
    })
}

/// A row for each contender in one step; `None` if nothing is judged.
pub(crate) fn of_step(results: &Results<'_>, step: usize) -> Option<Table> {
    let label = &results.experiment.steps.get(step)?.label;
    let judged = results.candidates().filter_map(|(candidate, _)| results.judged(step, candidate));
    let rows: Vec<Row> =
        judged.map(|judged| Row::new(judged.candidate_name(results), cells(&judged))).collect();
    (!rows.is_empty()).then(|| Table {
        caption: format!("{label} verdicts"),
        corner: "candidate",
        columns: columns(),
        rows,
        ..blank()
    })
}

fn blank() -> Table {
    Table {
        reading: READING.into(),
        legend: vec![(Highlight::Better, "improvement".into()), (Highlight::Worse, "regression".into())],
        ..Table::default()
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::words("verdict"),
        Column::numbers("change %", "throughput relative to the base case"),
        Column::numbers("CPU %", "server CPU time per operation, relative to the base case"),
        Column::words("verdict on CPU"),
        Column::numbers("rounds", "number of rounds that count, out of all if some do not"),
        Column::numbers("noise %", "between-round standard deviation of effects"),
        Column::numbers("visible %", "the change that is detected with a probability of 80 %"),
        Column::words("flags"),
    ]
}

fn cells(judged: &Judged<'_>) -> Vec<TableCell> {
    let Judged { throughput, cpu, .. } = judged;
    let size = |effect: Option<f64>| match effect {
        Some(effect) => TableCell::plain(format!("{:.2}", percent_of_logarithm(effect))),
        None => TableCell::plain(MISSING),
    };
    vec![
        TableCell::marked(judged.verdict(), decided(throughput.verdict)),
        TableCell::percent(Effect::of_decision(JudgedMetric::Throughput, throughput)),
        TableCell::percent(cpu.and_then(|cpu| Effect::of_decision(JudgedMetric::ServerCpu, cpu))),
        verdict_on_cpu(judged),
        TableCell::plain(judged.rounds()),
        size(throughput.between_round_sd),
        size(throughput.detectable),
        TableCell::plain(judged.flags().join(", ")),
    ]
}

/// The verdict on CPU time per operation, where less is an improvement, and what it says about the cause.
fn verdict_on_cpu(judged: &Judged<'_>) -> TableCell {
    let Some(verdict) = judged.cpu.map(|cpu| cpu.verdict) else { return TableCell::plain(MISSING) };
    let word = match verdict {
        Verdict::Regression => "more",
        Verdict::Improvement => "less",
        other => other.as_str(),
    };
    let text = match judged.attribution().map(Attribution::as_str) {
        None => word.to_owned(),
        Some(cause) if cause.starts_with(word) => cause.to_owned(),
        Some(cause) => format!("{word}; {cause}"),
    };
    TableCell::marked(text, decided(verdict))
}
