//! Charts of a step's effects round by round.

use basecase_analysis::{Judged, Results};
use basecase_stats::{Decision, JudgedMetric};
use maud::{Markup, html};

use super::forest::{colour, tick_text, ticks};
use crate::words::percent_text;

/// Height of the drawing, pixels.
const HEIGHT: f64 = 120.0;
/// Positions of the first and the last round, per cent from the left; labels are left of them.
const SIDES: (f64, f64) = (16.0, 97.0);
/// Most rounds with a number below.
const NUMBERED: usize = 12;

/// A chart for each contender of a step, all on one scale; `None` if nothing is judged.
pub(super) fn of_step(results: &Results<'_>, step: usize) -> Option<Markup> {
    let judgement = &results.rounds?.judgement;
    let effects = |judged: &Judged<'_>| judgement.effects(JudgedMetric::Throughput, step, judged.candidate);
    let all: Vec<Judged<'_>> =
        results.candidates().filter_map(|(candidate, _)| results.judged(step, candidate)).collect();
    let largest = |judged: &Judged<'_>| {
        effects(judged).iter().fold(judged.throughput.margin, |most, one| most.max(one.abs()))
    };
    let reach = 1.1 * all.iter().map(largest).fold(0.0, f64::max);
    (!all.is_empty()).then(|| {
        html! {
            div.rounds {
                @for judged in &all {
                    figure.effects {
                        figcaption { (judged.candidate_name(results)) ", round by round" }
                        (drawing(judged.throughput, effects(judged), reach))
                    }
                }
            }
        }
    })
}

fn drawing(decision: &Decision, effects: &[f64], reach: f64) -> Markup {
    let y = |effect: f64| format!("{:.1}", HEIGHT * (0.5 - 0.5 * effect / reach));
    let x = |index: usize| {
        let share = (index as f64 + 0.5) / effects.len() as f64;
        format!("{:.2}%", SIDES.0 + share * (SIDES.1 - SIDES.0))
    };
    let band = HEIGHT * decision.margin / reach;
    let every = effects.len().div_ceil(NUMBERED).max(1);
    let left = format!("{}%", SIDES.0);
    let title =
        |index: usize, effect: f64| format!("round {}: {} %", index + 1, percent_text(effect.exp(), 2));
    html! {
        svg.(colour(decision.verdict)) height=(HEIGHT + 20.0) role="img" aria-label="differences of the rounds in per cent" {
            rect.band x=(left) width=(format!("{}%", 100.0 - SIDES.0)) y=(y(decision.margin)) height=(format!("{band:.1}")) {}
            @for effect in ticks(reach) {
                line.tick x1=(left) x2="100%" y1=(y(effect)) y2=(y(effect)) {}
                text.side x=(format!("{}%", SIDES.0 - 1.0)) y=(y(effect)) { (tick_text(effect)) }
            }
            @if let Some(estimate) = decision.estimate {
                line.estimate x1=(left) x2="100%" y1=(y(estimate)) y2=(y(estimate)) {}
            }
            @for (index, &effect) in effects.iter().enumerate() {
                circle cx=(x(index)) cy=(y(effect)) r="4" { title { (title(index, effect)) } }
                @if index % every == 0 { text x=(x(index)) y=(HEIGHT + 14.0) { (index + 1) } }
            }
        }
    }
}
