//! The report as one JSON object.

pub(super) mod bisection;
mod counts;
pub(super) mod dry_run;
pub(super) mod fleet;
pub(super) mod history;
mod sessions;
mod verdicts;

use std::collections::BTreeMap;

use basecase_analysis::metrics::TrialMetric;
use basecase_analysis::{Clock, Effect, LatencyRatio, Measured, Results, metrics};
use basecase_model::{
    OperationClass, StatementClass, StatementCounts, StatementRecord, TableState, TrialStatus, names,
    printable_json,
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::TextFormat;
use crate::options::Options;
use crate::tables::response_time::timed;
use crate::words::{sentences, unsettled};

/// One JSON object.
pub(super) const FORMAT: TextFormat = TextFormat { name: "json", render };

#[derive(Serialize)]
struct ReportObject<'a> {
    base: Option<&'a str>,
    candidates: Vec<&'a str>,
    /// The sentences that a run ends with.
    answer: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<verdicts::PlanObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<counts::CountsObject<'a>>,
    steps: Vec<StepObject<'a>>,
}

#[derive(Serialize)]
struct StepObject<'a> {
    step: &'a str,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<verdicts::Gates<'a>>,
    cells: Vec<CellObject<'a>>,
}

#[derive(Serialize)]
struct CellObject<'a> {
    candidate: &'a str,
    key: Option<&'a str>,
    value: Option<f64>,
    relative: Option<f64>,
    /// Only in rounds, or if the noise of single runs is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<Option<[f64; 2]>>,
    #[serde(flatten)]
    of_rounds: Option<OfRounds<'a>>,
    sla: Option<Sla>,
    state: Option<State<'a>>,
    metrics: Option<Metrics<'a>>,
    failed: Option<&'a str>,
    #[serde(flatten)]
    of_file: Option<OfFile<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<counts::CountObject<'a>>,
}

/// Fields that only experiments in rounds have.
#[derive(Serialize)]
struct OfRounds<'a> {
    verdicts: Option<verdicts::Verdicts<'a>>,
    relative_latencies: Vec<RelativeLatency>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sessions: Vec<sessions::SessionObject<'a>>,
}

#[derive(Serialize)]
struct RelativeLatency {
    class: &'static str,
    clock: &'static str,
    percentile: &'static str,
    ratio: f64,
    interval: Option<[f64; 2]>,
}

/// Fields that only trials of a workload file have.
#[derive(Serialize)]
struct OfFile<'a> {
    events: BTreeMap<&'static str, Option<f64>>,
    costs: BTreeMap<&'static str, Option<f64>>,
    relative_costs: BTreeMap<&'static str, Option<f64>>,
    /// Only in rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    relative_cost_intervals: Option<BTreeMap<&'static str, Option<[f64; 2]>>>,
    statements: Vec<Statement<'a>>,
}

#[derive(Serialize)]
struct Statement<'a> {
    kind: &'a str,
    class: StatementClass,
    window: StatementCounts,
    warm_up: StatementCounts,
}

#[derive(Serialize)]
struct Sla {
    target: f64,
    met: bool,
}

#[derive(Serialize)]
struct State<'a> {
    rows: Option<u64>,
    min_id: Option<i64>,
    max_id: Option<i64>,
    tables: &'a [TableState],
}

struct Metrics<'a> {
    measured: Measured<'a>,
    tag: &'a str,
}

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for metric in metrics::COLUMNS {
            map.serialize_entry(metric.name, &(metric.of)(&self.measured))?;
        }
        map.serialize_entry(metrics::TAG, self.tag)?;
        for metric in metrics::extras() {
            map.serialize_entry(metric.name, &(metric.of)(&self.measured))?;
        }
        if self.measured.trial.gauges.get(names::GROUP_LIMIT_BYTES).is_some() {
            for metric in metrics::OF_GROUP {
                map.serialize_entry(metric.name, &(metric.of)(&self.measured))?;
            }
        }
        map.end()
    }
}

/// Prints the results as one JSON object with a newline at its end.
fn render(results: &Results<'_>, options: &Options) -> String {
    let candidates: Vec<&str> = results.candidates().map(|(_, facts)| facts.name.0.as_str()).collect();
    let steps = results
        .steps()
        .map(|(step, facts)| StepObject {
            step: &facts.name,
            unit: facts.headline.unit(),
            group: facts.group.as_deref(),
            threads: facts.threads,
            rounds: verdicts::gates(results, step),
            cells: candidates
                .iter()
                .enumerate()
                .map(|(number, name)| cell(results, step, number, name))
                .collect(),
        })
        .collect();
    let report = ReportObject {
        base: candidates.first().copied(),
        candidates: candidates.clone(),
        answer: sentences(results, options.thresholds).into_iter().chain(unsettled(results)).collect(),
        rounds: verdicts::plan(results),
        counts: counts::counts(results),
        steps,
    };
    written(&report)
}

/// A JSON document that is safe to print on a terminal.
fn written(document: &impl Serialize) -> String {
    // Serialising plain strings and numbers cannot fail.
    let text = serde_json::to_string_pretty(document).unwrap_or_default();
    format!("{}\n", printable_json(&text))
}

fn cell<'a>(results: &Results<'a>, step: usize, candidate: usize, name: &'a str) -> CellObject<'a> {
    let trial = results.trial(step, candidate);
    let measured = results.measured(step, candidate);
    let interval = results.relative_effect(step, candidate).map(|effect| effect.interval);
    CellObject {
        candidate: name,
        key: trial.map(|trial| trial.cell.as_str()),
        value: results.headline(step, candidate),
        relative: results.relative(step, candidate),
        interval: interval.or_else(|| results.rounds.map(|_| None)),
        of_rounds: results.rounds.map(|_| OfRounds {
            verdicts: verdicts::verdicts(results, step, candidate),
            relative_latencies: relative_latencies(results, step, candidate),
            sessions: sessions::sessions(results, step, candidate),
        }),
        sla: measured.and_then(|measured| measured.sla()).map(|sla| Sla { target: sla.target, met: sla.met }),
        state: trial.map(|trial| state(&trial.state.tables)),
        metrics: measured.map(|measured| Metrics { measured, tag: name }),
        failed: trial.and_then(|trial| match &trial.status {
            TrialStatus::Failed { reason, .. } => Some(reason.as_str()),
            TrialStatus::Complete => None,
        }),
        of_file: measured
            .filter(|measured| measured.step.threads.is_some())
            .map(|measured| of_file(results, &measured, step, candidate)),
        count: counts::count(results, step, candidate),
    }
}

fn relative_latencies(results: &Results<'_>, step: usize, candidate: usize) -> Vec<RelativeLatency> {
    let ratios = |(class, clock): (OperationClass, Clock)| {
        let known = move |LatencyRatio { percentile, effect }: LatencyRatio| {
            let Effect { ratio, interval } = effect?;
            Some(RelativeLatency {
                class: class.as_str(),
                clock: clock.as_str(),
                percentile,
                ratio,
                interval,
            })
        };
        results.latency_ratios(step, candidate, class, clock).into_iter().filter_map(known)
    };
    timed().flat_map(ratios).collect()
}

fn of_file<'a>(results: &Results<'a>, measured: &Measured<'a>, step: usize, candidate: usize) -> OfFile<'a> {
    let own = |metric: &'static TrialMetric| (metric.name, (metric.of)(measured));
    let relative =
        |metric: &'static TrialMetric| (metric.name, results.relative_cost(metric, step, candidate));
    let costs = metrics::costs(results, step);
    let relative: BTreeMap<&str, Option<Effect>> = costs.iter().copied().map(relative).collect();
    let ratios = relative.iter().map(|(name, effect)| (*name, effect.map(|effect| effect.ratio)));
    let interval =
        |(name, effect): (&&'static str, &Option<Effect>)| (*name, effect.and_then(|effect| effect.interval));
    let statement = |record: &'a StatementRecord| Statement {
        kind: &record.name,
        class: record.class,
        window: record.window,
        warm_up: record.warm_up,
    };
    OfFile {
        events: metrics::of_workload_file().map(own).collect(),
        costs: costs.into_iter().map(own).collect(),
        relative_costs: ratios.collect(),
        relative_cost_intervals: results.rounds.map(|_| relative.iter().map(interval).collect()),
        statements: measured.trial.statements.iter().map(statement).collect(),
    }
}

fn state(tables: &[TableState]) -> State<'_> {
    State {
        rows: if tables.is_empty() { None } else { tables.iter().map(|table| table.rows).sum() },
        min_id: tables.iter().filter_map(|table| table.min_id).min(),
        max_id: tables.iter().filter_map(|table| table.max_id).max(),
        tables,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_tables_are_summed() {
        let table = |rows, min_id, max_id| TableState {
            table: "pi".into(),
            rows,
            min_id: Some(min_id),
            max_id: Some(max_id),
            last_value: None,
        };
        let tables = [table(Some(10), 5, 20), table(Some(7), 3, 18)];
        let sum = state(&tables);
        assert_eq!((sum.rows, sum.min_id, sum.max_id), (Some(17), Some(3), Some(20)));
        assert_eq!(state(&[table(None, 1, 2), table(Some(7), 1, 2)]).rows, None);
        assert_eq!(state(&[]).rows, None);
    }
}
