//! Results of steps that write, including the work that they deferred.

use basecase_analysis::{Effect, Results, Rounds};
use basecase_model::{StepFacts, names};
use basecase_stats::{Decision, JudgedMetric};

use super::{Column, MISSING, Row, Table, TableCell};

/// A row for each step and contender whose debt is known; `None` if there is none.
pub(crate) fn table(results: &Results<'_>, rounds: &Rounds<'_>) -> Option<Table> {
    let step_rows = |(step, facts)| {
        let candidates = results.candidates().skip(1);
        candidates.filter_map(move |(candidate, _)| row(results, rounds, (step, facts), candidate))
    };
    let rows: Vec<Row> = results.steps().flat_map(step_rows).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Including deferred work".into(),
        reading: "After its last slice, each server completes the work that the step deferred, while the others are \
                  suspended: vacuum, purge, compaction, a checkpoint. The columns with debt count the time for it, or its \
                  CPU time, as part of the step."
            .into(),
        corner: "step",
        columns: vec![
            Column::words("candidate"),
            Column::numbers("change %", "of throughput, without debt"),
            Column::numbers("with debt %", "of throughput"),
            Column::numbers("CPU with debt %", "server CPU time per operation"),
            Column::numbers("paid in s", "by the candidate, mean over its rounds"),
            Column::numbers("base paid in s", "by the base case"),
        ],
        rows,
        ..Table::default()
    })
}

fn row(
    results: &Results<'_>,
    rounds: &Rounds<'_>,
    (step, facts): (usize, &StepFacts),
    candidate: usize,
) -> Option<Row> {
    let judgement = &rounds.judgement;
    let with_debt = |metric| judgement.with_debt(metric, step, candidate);
    let throughput = with_debt(JudgedMetric::Throughput)?;
    let percent = |metric, decision: Option<&Decision>| {
        TableCell::percent(decision.and_then(|decision| Effect::of_decision(metric, decision)))
    };
    let seconds = |candidate| {
        let trial = results.trial(step, candidate);
        let seconds = trial.and_then(|trial| trial.gauges.get(names::DRAIN_SECONDS));
        TableCell::plain(seconds.map_or_else(|| MISSING.to_owned(), |seconds| format!("{seconds:.2}")))
    };
    let cells = vec![
        TableCell::plain(results.experiment.candidates.get(candidate)?.name.0.clone()),
        percent(JudgedMetric::Throughput, judgement.decision(JudgedMetric::Throughput, step, candidate)),
        percent(JudgedMetric::Throughput, Some(throughput)),
        percent(JudgedMetric::ServerCpu, with_debt(JudgedMetric::ServerCpu)),
        seconds(candidate),
        seconds(0),
    ];
    Some(Row { step: Some(step), ..Row::new(&facts.label, cells) })
}
