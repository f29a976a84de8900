//! How much work an operation is, on the overview and on the page of a step.

use basecase_analysis::{Causes, Mover, Results};
use maud::{Markup, html};

use super::{blocks, table};
use crate::documents::{agreements, how_counted, luck, of_functions};
use crate::tables::{anchor, work as tables};
use crate::words::{agreement, function_name, instructions_changed, what_became, work_words};

/// Most functions in a drawing.
const MOST: usize = 12;
/// Room beside the bars for the smaller side, as a share of the largest change.
const MARGIN: f64 = 0.04;

/// The table, and how it agrees with times; `None` without counts.
pub(super) fn overview(results: &Results<'_>) -> Option<Markup> {
    let counts = results.counts?;
    Some(html! {
        section #work {
            h2 { "Work per operation" }
            (table::render(results, &tables::overview(results, counts)))
            @let lines = agreements(results, counts);
            @if !lines.is_empty() {
                h3 { "Work and time" }
                ul { @for line in &lines { li { (line) } } }
            }
            @for block in how_counted(results, counts) { (blocks::render(results, &block, 3)) }
            @let luck = luck(results, counts);
            @if !luck.is_empty() {
                details {
                    summary { "Luck between sessions of one candidate" }
                    @for block in luck { (blocks::render(results, &block, 3)) }
                }
            }
        }
    })
}

/// The work of a step and the functions behind each change, with a drawing; `None` if it was not counted.
pub(super) fn of_step(results: &Results<'_>, step: usize) -> Option<Markup> {
    let counts = results.counts?;
    let found = tables::of_step(results, step)?;
    Some(html! {
        section #work {
            h2 { "Work per operation" }
            (table::render(results, &found))
            @for (candidate, facts) in results.candidates().skip(1) {
                @if let Some(work) = counts.work(step, candidate) {
                    h3 id={ "work-" (anchor(candidate)) } { (facts.name) ": " (work_words(work)) }
                    @if let Some(line) = agreement(results, step, candidate) { p { (line) } }
                    @if let Some(causes) = counts.causes(step, candidate) { (drawing(&causes)) }
                    details open[work.verdict().is_change()] {
                        summary { "Functions" }
                        @for block in of_functions(results, step, candidate) { (blocks::render(results, &block, 3)) }
                    }
                }
            }
            details {
                summary { "How it was counted" }
                @for block in how_counted(results, counts) { (blocks::render(results, &block, 3)) }
            }
        }
    })
}

/// A bar for each function that moved, from 0 to the left for less and to the right for more.
pub(super) fn drawing(causes: &Causes<'_>) -> Markup {
    let movers: Vec<&Mover<'_>> = causes.movers.iter().take(MOST).collect();
    let largest = movers.iter().map(|mover| mover.change().abs()).fold(0.0, f64::max);
    let end = |of: fn(f64, f64) -> f64| movers.iter().map(|mover| mover.change()).fold(0.0, of);
    let (low, high) = (end(f64::min) - MARGIN * largest, end(f64::max) + MARGIN * largest);
    let share = |value: f64| (value - low) / (high - low);
    html! {
        @if !movers.is_empty() {
            figure.ratio-chart.valued.movers {
                figcaption { "Own instructions per operation: left of the line less, right of it more" }
                @for mover in movers {
                    @let (from, to) = (share(mover.change().min(0.0)), share(mover.change().max(0.0)));
                    @let colour = if mover.change() > 0.0 { "loss" } else { "gain" };
                    @let note = what_became(mover);
                    div.effect {
                        span.name { (function_name(&mover.function)) @if !note.is_empty() { " " small { (note) } } }
                        svg.(colour) height="16" aria-hidden="true" {
                            rect x=(percent(from)) width=(percent(to - from)) y="3" height="10" {}
                            line.zero x1=(percent(share(0.0))) x2=(percent(share(0.0))) y2="100%" {}
                        }
                        span.value { (instructions_changed(mover.change())) }
                    }
                }
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}
