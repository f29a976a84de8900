//! Verdicts, on the overview and on the page of a step.

use basecase_analysis::Results;
use maud::{Markup, html};

use super::{forest, round_chart, table};
use crate::tables::verdicts;
use crate::words::{refusal, suite_lines};

/// The verdicts on all steps; `None` for an experiment that is not in rounds.
pub(super) fn overview(results: &Results<'_>) -> Option<Markup> {
    let refusal = refusal(results.rounds?);
    let found = verdicts::table(results);
    Some(html! {
        section #verdicts {
            @if let Some(refusal) = &refusal { p.note role="note" { (refusal) } }
            ul { @for line in suite_lines(results) { li { (line) } } }
            @if let Some(found) = &found { (table::render(results, found)) }
            @if let Some(plots) = forest::overview(results) {
                h2 { "Intervals of the changes in throughput" }
                p.small { (READING) }
                (plots)
            }
        }
    })
}

/// The verdicts on one step; `None` if nothing of it is judged.
pub(super) fn of_step(results: &Results<'_>, step: usize) -> Option<Markup> {
    let found = verdicts::of_step(results, step)?;
    Some(html! {
        section #verdicts {
            h2 { "Verdicts" }
            (table::render(results, &found))
            p.small { (READING) }
            @if let Some(plot) = forest::of_step(results, step) { (plot) }
            @if let Some(rounds) = round_chart::of_step(results, step) { (rounds) }
        }
    })
}

/// How to read the plots.
const READING: &str = "Right of 0 is faster. Each line is an interval, and its point the estimate. Within the grey band a \
                       change does not matter. Decided steps have a colour and a sign: + is an improvement, - a \
                       regression; ? is not enough data.";
