//! Bencher's metric format, BMF: one JSON object with an entry for each benchmark, and in it one for each measure.
//!
//! <https://bencher.dev/docs/reference/bencher-metric-format> defines it. A benchmark is known by a name of up to 1024 characters and a measure by
//! a slug of up to 64. A metric has a `value`; its `lower_value` and `upper_value` may be missing.

use std::collections::BTreeMap;

use basecase_analysis::{Effect, Results, Work, percent};
use basecase_model::printable_json;
use serde::Serialize;

use super::ExportFormat;
use crate::error::Error;
use crate::export::Export;
use crate::words::first;

/// Bencher's metric format.
pub(super) const FORMAT: ExportFormat = ExportFormat { name: "bmf", render };

/// Most characters of a benchmark's name.
const NAME_CHARACTERS: usize = 1024;
/// How many steps without a value are named.
const NAMED: usize = 5;

/// The metrics of a benchmark by measure.
type Metrics = BTreeMap<&'static str, Metric>;

#[derive(Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

impl Metric {
    /// `None` if JSON cannot hold the value.
    fn of(value: f64, ends: Option<[f64; 2]>) -> Option<Metric> {
        let ends = ends.filter(|ends| ends.iter().all(|end| end.is_finite()));
        let [lower_value, upper_value] = [ends.map(|[lower, _]| lower), ends.map(|[_, upper]| upper)];
        value.is_finite().then_some(Metric { value, lower_value, upper_value })
    }

    /// A change in per cent.
    fn of_change(effect: Effect) -> Option<Metric> {
        Metric::of(percent(effect.ratio), effect.interval.map(|ends| ends.map(percent)))
    }
}

fn render(results: &Results<'_>) -> Result<Export, Error> {
    let mut benchmarks: BTreeMap<String, Metrics> = BTreeMap::new();
    let mut without_value: Vec<String> = Vec::new();
    for (step, facts) in results.compared_steps() {
        for (candidate, candidate_facts) in results.candidates() {
            let metrics = metrics(results, step, candidate);
            if metrics.is_empty() {
                without_value.push(format!("{} of {}", facts.name, candidate_facts.name));
            } else {
                benchmarks.insert(name(results, &facts.name, candidate), metrics);
            }
        }
    }
    if benchmarks.is_empty() {
        return Err(Error::NothingToExport);
    }
    let mut notes = Vec::new();
    if !without_value.is_empty() {
        notes.push(format!(
            "left out, because they failed, were not run, or their background writers missed their rate: {}\nhint: `basecase report --format text` tells which",
            first(&without_value, NAMED)
        ));
    }
    if benchmarks.values().flat_map(BTreeMap::values).all(|metric| metric.lower_value.is_none()) {
        notes.push(
            "left out: lower and upper values, because single runs have no intervals\nhint: `basecase compare … --rounds 5` measures in rounds, and \
             --counts counts the work of operations"
                .to_owned(),
        );
    }
    // Serialising plain strings and numbers cannot fail.
    let text = serde_json::to_string_pretty(&benchmarks).unwrap_or_default();
    Ok(Export { text: format!("{}\n", printable_json(&text)), notes })
}

/// The name of a benchmark. It stays the same from build to build where one contender is compared with the base case, whatever that is called.
fn name(results: &Results<'_>, step: &str, candidate: usize) -> String {
    let name = match (results.candidates().count(), candidate) {
        (1, _) | (2, 1) => step.to_owned(),
        (_, 0) => format!("{step} base case"),
        (_, number) => {
            let facts = results.experiment.candidates.get(number);
            format!("{step} {}", facts.map_or("", |facts| facts.name.0.as_str()))
        }
    };
    name.chars().take(NAME_CHARACTERS).collect()
}

/// What is known of a step on a candidate.
fn metrics(results: &Results<'_>, step: usize, candidate: usize) -> Metrics {
    let counts = results.counts;
    let throughput = results.headline(step, candidate).filter(|_| !results.missed_sla(step, candidate));
    let instructions = counts.and_then(|counts| counts.cell(step, candidate));
    let metrics = [
        (
            "throughput",
            throughput.and_then(|value| Metric::of(value, results.headline_range(step, candidate))),
        ),
        ("throughput-change", change(results, step, candidate).and_then(Metric::of_change)),
        ("instructions", instructions.and_then(|cell| Metric::of(cell.instructions()?, cell.range()))),
        (
            "instructions-change",
            counts
                .and_then(|counts| counts.work(step, candidate))
                .map(Work::effect)
                .and_then(Metric::of_change),
        ),
    ];
    metrics.into_iter().filter_map(|(measure, metric)| Some((measure, metric?))).collect()
}

/// The throughput of a contender compared with the base case's; `None` where background writers of single runs missed their rate, because such
/// queries had less competition.
fn change(results: &Results<'_>, step: usize, candidate: usize) -> Option<Effect> {
    if candidate == 0 {
        return None;
    }
    let is_uneven = [0, candidate].iter().any(|candidate| results.missed_sla(step, *candidate));
    if results.rounds.is_none() && is_uneven {
        return None;
    }
    let without_interval = || Some(Effect { ratio: results.relative(step, candidate)?, interval: None });
    results.relative_effect(step, candidate).or_else(without_interval)
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{Counts, Rounds, fixture};
    use basecase_model::TrialStatus;
    use serde_json::Value;

    use super::*;

    fn read(export: &Export) -> Value {
        serde_json::from_str(&export.text).unwrap()
    }

    #[test]
    fn rounds_have_changes_with_intervals_and_the_range_of_their_rates() {
        let (experiment, trials) = fixture::in_rounds();
        let rounds = Rounds::of(&experiment, &trials);
        let results = Results::of(&experiment, &trials, rounds.as_ref());
        let step = &experiment.steps[1].name;
        let written = read(&render(&results).unwrap());
        let metric = |benchmark: &str, measure: &str| written[benchmark][measure].clone();
        let throughput = metric(&format!("{step} base case"), "throughput");
        let number = |metric: &Value, key: &str| metric[key].as_f64().unwrap();
        assert!(number(&throughput, "lower_value") < number(&throughput, "value"));
        assert!(number(&throughput, "value") < number(&throughput, "upper_value"));
        let effect = results.relative_effect(1, 1).unwrap();
        let change = metric(&format!("{step} {}", experiment.candidates[1].name), "throughput-change");
        let is_near = |key: &str, expected: f64| (number(&change, key) - expected).abs() < 1e-9;
        assert!(is_near("value", percent(effect.ratio)), "{change}");
        assert!(is_near("lower_value", percent(effect.interval.unwrap()[0])), "{change}");
        assert_eq!(metric(&format!("{step} base case"), "throughput-change"), Value::Null);
    }

    #[test]
    fn one_contender_has_the_step_for_its_name_whatever_it_is_called() {
        let (experiment, counted) = fixture::counted();
        let counts = Counts::of(&experiment, &counted);
        let results = Results::of(&experiment, &[], None).counting(counts.as_ref());
        let export = render(&results).unwrap();
        let written = read(&export);
        let contender = &written["range-covered-pk_range=100"];
        assert!(contender["instructions-change"]["lower_value"].as_f64().unwrap() > 0.0, "{contender}");
        assert_eq!(contender["throughput"], Value::Null);
        assert!(written["range-covered-pk_range=100 base case"]["instructions"]["value"].is_f64());
        assert!(!export.text.contains("pg186"), "{}", export.text);
        let [note] = export.notes.as_slice() else { panic!("{:?}", export.notes) };
        assert!(note.contains("scan_range=100 of pg186.x10a_c2r24\nhint: "), "{note}");
    }

    #[test]
    fn single_runs_have_no_intervals_and_nothing_at_all_is_refused() {
        let (experiment, mut trials) = fixture::sample();
        let export = render(&Results::of(&experiment, &trials, None)).unwrap();
        assert!(!export.text.contains("lower_value") && export.text.contains("throughput-change"));
        assert!(export.notes.iter().any(|note| note.contains("single runs have no intervals\nhint: ")));
        let fail = |status: &mut TrialStatus| {
            *status = TrialStatus::Failed { reason: "gone".into(), log_tail: String::new() };
        };
        trials.iter_mut().for_each(|trial| fail(&mut trial.status));
        let refusal = render(&Results::of(&experiment, &trials, None)).unwrap_err().to_string();
        assert!(refusal.contains("has a value to export\nhint: "), "{refusal}");
    }
}
