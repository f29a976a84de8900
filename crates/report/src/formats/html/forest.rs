//! Forest plots: the interval of each step and contender, with the band in which a change does not matter.

use std::f64::consts::LN_10;

use basecase_analysis::{Effect, Judged, Results};
use basecase_model::CandidateFacts;
use basecase_stats::{Decision, Interval, JudgedMetric, Verdict};
use maud::{Markup, html};

use super::page_name;
use crate::axis;
use crate::tables::relative::decided;
use crate::words::{EffectWords as _, distinctive, percent_text};

/// Differences in per cent at which the axis may have a label, on both sides.
const TICKS: [f64; 11] = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 900.0];
/// Least distance between labels of an axis, as a share of the reach.
const ROOM: f64 = 0.3;
/// Effects beyond a factor of ten do not fit, as logarithms.
const FURTHEST: f64 = LN_10;

/// One line of a plot.
struct Line<'a> {
    name: Markup,
    decision: &'a Decision,
}

/// A plot of all steps for each contender; `None` if nothing is judged.
pub(super) fn overview(results: &Results<'_>) -> Option<Markup> {
    let all = results.all_judged();
    let step_name = |judged: &Judged<'_>| {
        let step = results.experiment.steps.get(judged.step);
        html! { @if let Some(step) = step { a href=(page_name(step)) { (step.label) } } }
    };
    let own_lines = |candidate: usize| -> Vec<Line<'_>> {
        let own = all.iter().filter(|judged| judged.candidate == candidate);
        own.map(|judged| Line { name: step_name(judged), decision: judged.throughput }).collect()
    };
    let reach = reach(all.iter().map(|judged| judged.throughput));
    (!all.is_empty()).then(|| {
        html! {
            div.forests {
                @for (candidate, facts) in results.candidates() {
                    @let lines = own_lines(candidate);
                    @if !lines.is_empty() { (plot(&name(results, candidate, facts), &lines, reach)) }
                }
            }
        }
    })
}

/// A contender as people say it, with its exact name where that is another.
fn name(results: &Results<'_>, candidate: usize, facts: &CandidateFacts) -> Markup {
    let short = distinctive(results, candidate);
    html! { (short) @if short != facts.name.0 { " " small { (facts.name) } } }
}

/// A plot of all contenders on one step.
pub(super) fn of_step<'a>(results: &Results<'a>, step: usize) -> Option<Markup> {
    let judged: Vec<Judged<'a>> =
        results.candidates().filter_map(|(candidate, _)| results.judged(step, candidate)).collect();
    let line = |judged: &Judged<'a>| Line {
        name: html! { (distinctive(results, judged.candidate)) },
        decision: judged.throughput,
    };
    let lines: Vec<Line<'_>> = judged.iter().map(line).collect();
    let reach = reach(judged.iter().map(|judged| judged.throughput));
    (!lines.is_empty()).then(|| plot(&html! { "Throughput relative to the base case" }, &lines, reach))
}

/// A plot of decisions, each with its name; `None` if there are none.
pub(super) fn of_decisions(caption: &Markup, decisions: Vec<(Markup, &Decision)>) -> Option<Markup> {
    let reach = reach(decisions.iter().map(|(_, decision)| *decision));
    let lines: Vec<Line<'_>> =
        decisions.into_iter().map(|(name, decision)| Line { name, decision }).collect();
    (!lines.is_empty()).then(|| plot(caption, &lines, reach))
}

/// An effect without a verdict.
pub(super) struct NodeLine {
    /// What it is the effect of.
    pub(super) name: String,
    /// The effect, as a logarithm.
    pub(super) estimate: f64,
    /// Its interval, if it is known.
    pub(super) interval: Option<Interval>,
    /// The effect in words.
    pub(super) value: String,
    /// Its interval in words.
    pub(super) range: String,
}

/// A plot of effects without verdicts, with the band in which a change does not matter.
pub(super) fn of_nodes(caption: &Markup, lines: &[NodeLine], margin: f64) -> Markup {
    let ends = |line: &NodeLine| line.interval.map_or(0.0, Interval::reach).max(line.estimate.abs());
    let reach = axis::reach(lines.iter().map(ends)).max(1.5 * margin).min(FURTHEST) * 1.04;
    html! {
        figure.forest {
            figcaption { (caption) }
            @for line in lines {
                div.effect {
                    span.name { (line.name) }
                    (drawing("same", margin, line.interval, Some(line.estimate), reach))
                    span.value { (line.value) " " small { (line.range) } }
                }
            }
            div.effect { span {} (scale(reach)) span {} }
        }
    }
}

/// The largest effect that fits on a plot, as a logarithm.
fn reach<'a>(decisions: impl Iterator<Item = &'a Decision>) -> f64 {
    let largest = |decision: &Decision| {
        let ends = decision.interval.map_or(0.0, Interval::reach);
        ends.max(decision.estimate.map_or(0.0, f64::abs)).max(1.5 * decision.margin)
    };
    axis::reach(decisions.map(largest)).min(FURTHEST) * 1.04
}

fn plot(caption: &Markup, lines: &[Line<'_>], reach: f64) -> Markup {
    html! {
        figure.forest {
            figcaption { (caption) }
            @for line in lines { (drawn(line, reach)) }
            div.effect { span {} (scale(reach)) span {} }
        }
    }
}

fn drawn(Line { name, decision }: &Line<'_>, reach: f64) -> Markup {
    let mark = decided(decision.verdict);
    let sign = match decision.verdict {
        Verdict::NotEnoughData => "?",
        _ => mark.sign(),
    };
    let effect = Effect::of_decision(JudgedMetric::Throughput, decision);
    html! {
        div.effect {
            span.name { (name) }
            (drawing(colour(decision.verdict), decision.margin, decision.interval, decision.estimate, reach))
            span.value {
                @if let Some(effect) = effect { (effect.percent_text()) " % " small { (effect.percent_interval()) } }
                span.sign { (sign) }
            }
        }
    }
}

/// The interval and the estimate of a line, over the band in which a change does not matter. An arrow stands for an estimate that does not
/// fit.
fn drawing(
    colour: &str,
    margin: f64,
    interval: Option<Interval>,
    estimate: Option<f64>,
    reach: f64,
) -> Markup {
    let place = |effect: f64| place(effect, reach);
    html! {
        svg.(colour) aria-hidden="true" {
            rect.band x=(place(-margin)) width=(format!("{:.2}%", width(-margin, margin, reach))) height="100%" {}
            line.zero x1=(place(0.0)) x2=(place(0.0)) y2="100%" {}
            @if let Some(interval) = interval {
                line.interval x1=(place(interval.lower)) x2=(place(interval.upper)) y1="50%" y2="50%" {}
            }
            @match estimate {
                Some(estimate) if estimate > reach => text.beyond x="100%" y="50%" { "▶" },
                Some(estimate) if estimate < -reach => text.beyond x="0%" y="50%" { "◀" },
                Some(estimate) => circle cx=(place(estimate)) cy="50%" r="4" {},
                None => {},
            }
        }
    }
}

/// The CSS class of a plot's line, which gives its colour.
pub(super) fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "loss",
        Verdict::Improvement => "gain",
        Verdict::NoChange => "same",
        Verdict::NotEnoughData => "open",
    }
}

fn scale(reach: f64) -> Markup {
    html! {
        svg.axis aria-hidden="true" {
            @for effect in ticks(reach) {
                line x1=(place(effect, reach)) x2=(place(effect, reach)) y2="4" {}
                text x=(place(effect, reach)) y="17" { (tick_text(effect)) }
            }
        }
    }
}

/// The effects at which an axis has a label: 0, on each side the largest that fits, and one between if there is room.
pub(super) fn ticks(reach: f64) -> Vec<f64> {
    let sides: [fn(f64) -> f64; 2] =
        [|percent| (1.0 - percent / 100.0).ln(), |percent| (1.0 + percent / 100.0).ln()];
    let mut ticks = vec![0.0];
    for side in sides {
        let within = |room: f64| {
            let fits = move |effect: &f64| effect.abs() <= room;
            TICKS.into_iter().map(side).filter(fits).max_by(|one, other| one.abs().total_cmp(&other.abs()))
        };
        let Some(outer) = within(0.95 * reach) else { continue };
        ticks.push(outer);
        ticks.extend(within(outer.abs() - ROOM * reach).filter(|inner| inner.abs() >= ROOM * reach));
    }
    ticks.sort_by(f64::total_cmp);
    ticks
}

/// The label of a tick, e.g. `-20 %`.
pub(super) fn tick_text(effect: f64) -> String {
    let text = percent_text(effect.exp(), 1);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// The position of an effect on a plot, from its left edge.
fn place(effect: f64, reach: f64) -> String {
    format!("{:.2}%", share(effect, reach))
}

fn share(effect: f64, reach: f64) -> f64 {
    50.0 + 50.0 * (effect / reach).clamp(-1.0, 1.0)
}

fn width(low: f64, high: f64, reach: f64) -> f64 {
    share(high, reach) - share(low, reach)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_few_labels_on_both_sides() {
        let texts = |reach: f64| ticks(reach).into_iter().map(tick_text).collect::<Vec<_>>();
        assert_eq!(texts(0.3), ["-20 %", "-10 %", "0 %", "+20 %"]);
        assert_eq!(texts(0.02), ["-1 %", "0 %", "+1 %"]);
        assert!(texts(FURTHEST).len() <= 5);
    }

    #[test]
    fn effects_beyond_the_edge_are_drawn_at_the_edge() {
        assert_eq!(
            [-9.0, -0.1, 0.0, 9.0].map(|effect| place(effect, 0.2)),
            ["0.00%", "25.00%", "50.00%", "100.00%"]
        );
    }
}
