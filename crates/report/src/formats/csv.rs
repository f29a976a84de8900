//! The report as comma-separated lines, one per candidate and step.

use std::borrow::Cow;

use basecase_analysis::{Counts, Effect, Results, Work, metrics};
use basecase_model::{TrialStatus, printable};
use basecase_stats::{Decision, JudgedMetric};

use super::TextFormat;
use crate::words::{qualifier_word, verdict_word, work_word};

/// One line per candidate and step, comma-separated with a header (RFC 4180).
pub(super) const FORMAT: TextFormat = TextFormat { name: "csv", render: |results, _| render(results) };

/// Prints a header and one line per candidate and step. Unknown values are empty fields.
fn render(results: &Results<'_>) -> String {
    let mut text = header(results).join(",");
    text.push_str("\r\n");
    for (step, _) in results.steps() {
        for (candidate, _) in results.candidates() {
            let fields = fields(results, step, candidate);
            let quoted: Vec<Cow<'_, str>> = fields.iter().map(|field| quoted(field)).collect();
            text.push_str(&quoted.join(","));
            text.push_str("\r\n");
        }
    }
    text
}

fn header(results: &Results<'_>) -> Vec<Cow<'static, str>> {
    let mut names = vec!["step", "candidate", "unit", "value", "relative", "sla_target", "sla_met", "failed"];
    names.extend(metrics::COLUMNS.iter().map(|metric| metric.name));
    names.push(metrics::TAG);
    names.extend(metrics::extras().map(|metric| metric.name));
    let mut names: Vec<Cow<'static, str>> = names.into_iter().map(Cow::Borrowed).collect();
    let of_file = results.is_workload_file();
    if of_file {
        names.extend(["group", "threads"].map(Cow::Borrowed));
        names.extend(metrics::of_workload_file().chain(metrics::RESOURCES).map(|metric| metric.name.into()));
        names.extend(metrics::RESOURCES.iter().map(|metric| format!("relative {}", metric.name).into()));
    }
    if results.has_memory_limit() {
        names.extend(metrics::OF_GROUP.iter().map(|metric| metric.name.into()));
    }
    if results.rounds.is_some() {
        names.extend(OF_ROUNDS.map(Cow::Borrowed));
        if of_file {
            let ends = |metric: &metrics::TrialMetric| {
                ["low", "high"].map(|end| format!("relative {} {end}", metric.name))
            };
            names.extend(metrics::RESOURCES.iter().flat_map(ends).map(Cow::Owned));
        }
    }
    if results.counts.is_some() {
        names.extend(OF_COUNTS.map(Cow::Borrowed));
    }
    names
}

/// The line of a candidate on a step.
fn fields(results: &Results<'_>, step: usize, candidate: usize) -> Vec<String> {
    let experiment = results.experiment;
    let (Some(facts), Some(candidate_facts)) =
        (experiment.steps.get(step), experiment.candidates.get(candidate))
    else {
        return Vec::new();
    };
    let name = candidate_facts.name.0.as_str();
    let measured = results.measured(step, candidate);
    let sla = measured.and_then(|measured| measured.sla());
    let failed = results.trial(step, candidate).and_then(|trial| match &trial.status {
        TrialStatus::Failed { reason, .. } => Some(reason.clone()),
        TrialStatus::Complete => None,
    });
    let metric = |metric: &metrics::TrialMetric| number(measured.and_then(|m| (metric.of)(&m)));
    let mut fields = vec![
        facts.name.clone(),
        name.to_owned(),
        facts.headline.unit().to_owned(),
        number(results.headline(step, candidate)),
        number(results.relative(step, candidate)),
        number(facts.sla_target),
        sla.map_or_else(String::new, |sla| sla.met.to_string()),
        failed.unwrap_or_default(),
    ];
    fields.extend(metrics::COLUMNS.iter().map(metric));
    fields.push(name.to_owned());
    fields.extend(metrics::extras().map(metric));
    let of_file = results.is_workload_file();
    let cost = |metric| results.relative_cost(metric, step, candidate);
    let costs: Vec<Option<Effect>> = metrics::RESOURCES.iter().filter(|_| of_file).map(cost).collect();
    if of_file {
        fields.push(facts.group.clone().unwrap_or_default());
        fields.push(facts.threads.map(|threads| threads.to_string()).unwrap_or_default());
        fields.extend(metrics::of_workload_file().chain(metrics::RESOURCES).map(metric));
        fields.extend(costs.iter().map(|cost| number(cost.map(|cost| cost.ratio))));
    }
    if results.has_memory_limit() {
        fields.extend(metrics::OF_GROUP.iter().map(metric));
    }
    if results.rounds.is_some() {
        fields.extend(of_rounds(results, step, candidate));
        fields.extend(costs.iter().flat_map(|cost| ends(cost.and_then(|cost| cost.interval))));
    }
    if let Some(counts) = results.counts {
        fields.extend(of_counts(counts, step, candidate));
    }
    fields
}

/// Columns that only experiments in rounds have.
const OF_ROUNDS: [&str; 15] = [
    "relative_low",
    "relative_high",
    "verdict",
    "qualifier",
    "rounds",
    "margin",
    "block_sd",
    "detectable",
    "adjusted_p",
    "server_cpu_relative",
    "server_cpu_relative_low",
    "server_cpu_relative_high",
    "server_cpu_verdict",
    "flags",
    "rounds_dropped",
];

fn of_rounds(results: &Results<'_>, step: usize, candidate: usize) -> [String; 15] {
    let Some(judged) = results.judged(step, candidate) else { return Default::default() };
    let Decision {
        verdict,
        qualifier,
        rounds,
        rounds_dropped,
        margin,
        between_round_sd,
        detectable,
        adjusted_p,
        ..
    } = judged.throughput;
    let judged_ends =
        |metric| ends(results.judged_effect(metric, step, candidate).and_then(|effect| effect.interval));
    let [low, high] = judged_ends(JudgedMetric::Throughput);
    let [cpu_low, cpu_high] = judged_ends(JudgedMetric::ServerCpu);
    let cpu = results.judged_effect(JudgedMetric::ServerCpu, step, candidate);
    [
        low,
        high,
        verdict_word(*verdict),
        qualifier.map(|qualifier| qualifier_word(qualifier).to_owned()).unwrap_or_default(),
        rounds.to_string(),
        number(Some(*margin)),
        number(*between_round_sd),
        number(*detectable),
        number(Some(*adjusted_p)),
        number(cpu.map(|effect| effect.ratio)),
        cpu_low,
        cpu_high,
        judged.cpu.map(|cpu| verdict_word(cpu.verdict)).unwrap_or_default(),
        judged.flags().join(" "),
        rounds_dropped.to_string(),
    ]
}

/// Columns that only experiments with counts have.
const OF_COUNTS: [&str; 9] = [
    "instructions",
    "instructions_relative",
    "instructions_relative_low",
    "instructions_relative_high",
    "work_verdict",
    "count_spread",
    "count_starts",
    "count_windows",
    "count_failed",
];

fn of_counts(counts: &Counts<'_>, step: usize, candidate: usize) -> [String; 9] {
    let Some(cell) = counts.cell(step, candidate) else { return Default::default() };
    let work = counts.work(step, candidate);
    let effect = work.map(Work::effect);
    let [low, high] = ends(effect.and_then(|effect| effect.interval));
    [
        number(cell.instructions()),
        number(effect.map(|effect| effect.ratio)),
        low,
        high,
        work.map(|work| work_word(work.verdict())).unwrap_or_default(),
        number(cell.spread()),
        cell.starts.len().to_string(),
        cell.windows().len().to_string(),
        cell.failure().unwrap_or_default().to_owned(),
    ]
}

/// The ends of an interval; empty fields if it is unknown.
fn ends(interval: Option<[f64; 2]>) -> [String; 2] {
    [interval.map(|[low, _]| low), interval.map(|[_, high]| high)].map(number)
}

/// A number, or an empty field.
pub(super) fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A field, quoted if necessary. Text that begins like a formula is marked as text, because spreadsheets would compute it.
pub(super) fn quoted(field: &str) -> Cow<'_, str> {
    let field = printable(field);
    let is_formula = field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
    let lead = if is_formula { "'" } else { "" };
    if field.contains([',', '"', '\n']) {
        Cow::Owned(format!("\"{lead}{}\"", field.replace('"', "\"\"")))
    } else if is_formula {
        Cow::Owned(format!("{lead}{field}"))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_that_need_it_are_quoted() {
        assert_eq!(super::quoted("plain"), "plain");
        assert_eq!(super::quoted("a \"b\", c"), "\"a \"\"b\"\", c\"");
    }

    #[test]
    fn defect_06_fields_of_others_are_no_formulas() {
        assert_eq!(super::quoted("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(super::quoted("@sum(a1,a2)"), "\"'@sum(a1,a2)\"");
        assert_eq!(super::quoted("-0.25"), "-0.25");
        assert_eq!(super::quoted("a\rb\u{1b}"), "a[U+000D]b[U+001B]");
    }
}
