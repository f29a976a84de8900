//! What is decided on each step and contender.

use basecase_stats::{Decision, Metric, Verdict};

use super::relative::decided;
use super::{Cell, Column, MISSING, Mark, Row, Table};
use crate::effect::{Effect, percent_of_logarithm};
use crate::judged::Judged;
use crate::results::Results;

/// How to read the table.
const READING: &str = "Change is that of throughput, CPU that of the server's CPU time per operation, in per cent of the base case's with their intervals. \
                       Noise is the standard deviation of rounds, and visible the change that so many rounds show with a probability of 80 %. Not enough \
                       data does not say that nothing changed.";

/// A row for each step and contender, changes first; `None` where nothing is judged.
pub(crate) fn table(results: &Results<'_>) -> Option<Table> {
    of(results, results.all_judged(), "Verdicts".into())
}

/// The same of one step.
pub(crate) fn of_step(results: &Results<'_>, step: usize) -> Option<Table> {
    let label = &results.experiment.steps.get(step)?.label;
    let judged = results.candidates().filter_map(|(candidate, _)| results.judged(step, candidate));
    of(results, judged.collect(), format!("{label} verdicts"))
}

fn of(results: &Results<'_>, judged: Vec<Judged<'_>>, caption: String) -> Option<Table> {
    let columns = vec![
        Column::words("candidate"),
        Column::words("verdict"),
        Column::numbers("change %", "throughput against the base case's"),
        Column::numbers("CPU %", "CPU time of the server per operation against the base case's"),
        Column::words("verdict on CPU"),
        Column::words("reading"),
        Column::numbers("rounds", "rounds of both"),
        Column::numbers("noise %", "standard deviation of the effects of rounds"),
        Column::numbers("visible %", "the change that is seen with a probability of 80 %"),
        Column::words("flags"),
    ];
    (!judged.is_empty()).then(|| Table {
        caption,
        reading: READING.into(),
        legend: vec![(Mark::Better, "improvement".into()), (Mark::Worse, "regression".into())],
        corner: "step",
        columns,
        rows: judged.iter().map(|judged| row(results, judged)).collect(),
        ..Table::default()
    })
}

fn row(results: &Results<'_>, judged: &Judged<'_>) -> Row {
    let Judged { step, candidate, throughput, cpu, .. } = *judged;
    let [step_name, candidate_name] = [
        results.experiment.steps.get(step).map(|step| step.label.as_str()),
        results.experiment.candidates.get(candidate).map(|candidate| candidate.name.0.as_str()),
    ]
    .map(Option::unwrap_or_default);
    let size = |effect: Option<f64>| match effect {
        Some(effect) => Cell::plain(format!("{:.2}", percent_of_logarithm(effect))),
        None => Cell::plain(MISSING),
    };
    let cells = vec![
        Cell::plain(candidate_name),
        Cell::marked(judged.verdict(), decided(throughput.verdict)),
        change(Effect::of_decision(Metric::Throughput, throughput)),
        change(cpu.and_then(|cpu| Effect::of_decision(Metric::ServerCpu, cpu))),
        cpu.map_or_else(|| Cell::plain(MISSING), verdict_on_cpu),
        Cell::plain(judged.attribution()),
        Cell::plain(throughput.rounds.to_string()),
        size(throughput.block_sd),
        size(throughput.detectable),
        Cell::plain(judged.flags().join(", ")),
    ];
    Row { step: Some(step), ..Row::new(step_name, cells) }
}

fn change(effect: Option<Effect>) -> Cell {
    match effect {
        Some(effect) => Cell { small: effect.percent_interval(), ..Cell::plain(effect.percent_text()) },
        None => Cell::plain(MISSING),
    }
}

/// Less CPU time is an improvement.
fn verdict_on_cpu(decision: &Decision) -> Cell {
    let word = match decision.verdict {
        Verdict::Regression => "more",
        Verdict::Improvement => "less",
        other => other.as_str(),
    };
    Cell::marked(word, decided(decision.verdict))
}
