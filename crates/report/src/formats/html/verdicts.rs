//! Verdicts, on the overview and on the page of a step.

use basecase_analysis::Results;
use maud::{Markup, html};

use super::{forest, round_chart, table};
use crate::tables::{answer, verdicts};
use crate::words::{TWO_MODES, all_mode_lines, mode_lines, refusal, suite_lines};

/// The verdicts on all steps, drawn first; `None` for an experiment that is not in rounds.
pub(super) fn overview(results: &Results<'_>) -> Option<Markup> {
    let refusal = refusal(results.rounds?);
    let matrix = answer::whole_matrix(results);
    let found = verdicts::table(results);
    Some(html! {
        section #verdicts {
            @if let Some(refusal) = &refusal { p.note role="note" { (refusal) } }
            @if let Some(plots) = forest::overview(results) {
                h2 { "Changes in throughput" }
                (plots)
                p.small { (READING) }
            }
            @if let Some(matrix) = &matrix { (table::render(results, matrix)) }
            h2 { "Verdicts" }
            ul { @for line in suite_lines(results) { li { (line) } } }
            (two_modes(&all_mode_lines(results)))
            @if let Some(found) = &found {
                details open[matrix.is_none()] { summary { "Every verdict" } (table::render(results, found)) }
            }
        }
    })
}

/// The verdicts on one step; `None` if nothing of it is judged.
pub(super) fn of_step(results: &Results<'_>, step: usize) -> Option<Markup> {
    let found = verdicts::of_step(results, step)?;
    let of_candidate = |(candidate, _)| mode_lines(results, step, candidate);
    let modes: Vec<String> = results.candidates().skip(1).flat_map(of_candidate).collect();
    Some(html! {
        section #verdicts {
            @if let Some(plot) = forest::of_step(results, step) { (plot) }
            p.small { (READING) }
            (table::render(results, &found))
            (two_modes(&modes))
            @if let Some(rounds) = round_chart::of_step(results, step) { (rounds) }
        }
    })
}

/// The sessions that fall into two groups.
fn two_modes(lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            p { (TWO_MODES) }
            ul.modes { @for line in lines { li { (line) } } }
        }
    }
}

/// How to read the plots.
const READING: &str = "Right of 0 is faster. Each line is an interval, and its point the estimate; an arrow is one \
                       beyond the edge. Within the grey band a change does not matter. Decided steps have a colour \
                       and a sign: + is an improvement, - a regression; ? is not enough data.";
