//! The first page of a history: the changes of all steps, the largest first, and a table of the steps.

use basecase_analysis::{Effect, RankedChange, VersionHistory};
use basecase_model::StepFacts;
use maud::{Markup, html};

use super::{anchor, page_name, shell, step, steps};
use crate::documents::Block;
use crate::documents::history::reading;
use crate::formats::html::{blocks, sparkline};
use crate::words::{
    EffectWords as _, answer, cause_of_change, left_out, places, since, sizes, work_error, work_percent,
};

/// Changes that are shown at once, and those that are folded below them. Pages of steps have the rest.
const SHOWN: usize = 20;
const FOLDED: usize = 180;

pub(super) fn page(history: &VersionHistory<'_>) -> Markup {
    let ranked = history.ranked();
    let further = &ranked[ranked.len().min(SHOWN)..];
    let left = history.joined.as_ref().and_then(|joined| left_out(history, &joined.left_out));
    let content = html! {
        p.answer { strong { (answer(history, &ranked)) } }
        @if let Some(places) = places(history, &ranked) { p { (places) } }
        @if history.experiment.schedule.is_none() && !history.steps.is_empty() {
            p.note { "Single runs carry no verdict: some of these differences are noise." }
        }
        @if let Some(left) = left { p.note { (left) } }
        (list(history, &ranked[..ranked.len().min(SHOWN)], 1))
        @if !further.is_empty() {
            details {
                summary { (further.len()) " smaller changes" }
                (list(history, &further[..further.len().min(FOLDED)], SHOWN + 1))
                @if further.len() > FOLDED { p { "The rest is on the pages of the steps." } }
            }
        }
        section #steps {
            h2 { "All steps" }
            (table(history))
        }
        details {
            summary { "How to read this" }
            (how_to_read(history))
        }
    };
    shell(history, &format!("History: {}", history.experiment.name), None, &content)
}

/// Changes with their size, version and cause. Each is a line on a wide screen and a few short ones on a phone.
fn list(history: &VersionHistory<'_>, ranked: &[RankedChange<'_, '_>], start: usize) -> Markup {
    html! {
        @if !ranked.is_empty() {
            ol.ranking start=(start) { @for change in ranked { li { (line(history, change)) } } }
        }
    }
}

fn line(history: &VersionHistory<'_>, change: &RankedChange<'_, '_>) -> Markup {
    let facts = history.experiment.steps.get(change.step);
    // Changes are numbered on the page of their step.
    let of_step = history.changes_of(change.step);
    let is_this =
        |other: &RankedChange<'_, '_>| (other.version, other.before) == (change.version, change.before);
    let told = step::told(&of_step).into_iter().find(|(_, other)| is_this(other));
    let place = told.map_or_else(|| "changes".to_owned(), |(number, _)| anchor(number));
    let colour = if change.is_worse() { "loss" } else { "gain" };
    html! {
        div {
            @match facts {
                Some(facts) => a.step href={ (page_name(facts)) "#" (place) } { (change.label) },
                None => span.step { (change.label) },
            }
            span.size.(colour) { @for size in sizes(change).into_iter().flatten() { span { (size) } } }
            span.since { (since(history, change)) }
            span.cause { @if let Some(cause) = cause_of_change(change) { (cause) } }
        }
    }
}

/// A row for each step: the course of its levels, where it is now, and how often it changed.
fn table(history: &VersionHistory<'_>) -> Markup {
    let (has_times, has_work) = (!history.steps.is_empty(), !history.work.is_empty());
    html! {
        div.table {
            div.scroll tabindex="0" role="region" aria-label="All steps" {
                table {
                    thead {
                        tr {
                            th scope="col" { "step" }
                            th scope="col" { "changes" }
                            @if has_times {
                                th scope="col" { "speed" }
                                th scope="col" title="newest version relative to the first" { "now %" }
                            }
                            @if has_work {
                                th scope="col" { "work" }
                                th scope="col" title="newest version relative to the first" { "now %" }
                            }
                            th.words scope="col" { "last change" }
                        }
                    }
                    tbody { @for (step, facts) in steps(history) { (row(history, (step, facts), has_times, has_work)) } }
                }
            }
        }
    }
}

fn row(
    history: &VersionHistory<'_>,
    (step, facts): (usize, &StepFacts),
    has_times: bool,
    has_work: bool,
) -> Markup {
    let changes = history.changes_of(step);
    let times = history.steps.iter().find(|course| course.step == step);
    let work = history.work.iter().find(|course| course.step == step);
    let colour = changes.last().map(|change| if change.is_worse() { "worse" } else { "better" });
    html! {
        tr {
            th scope="row" { a href=(page_name(facts)) { (facts.label) } }
            td { @if changes.is_empty() { "–" } @else { (changes.len()) } }
            @if has_times {
                (levels(times.map(|course| course.ratios.as_slice()), |effect| (effect.percent_text(), effect.percent_interval())))
            }
            @if has_work {
                (levels(work.map(|course| course.ratios.as_slice()), |effect| (work_percent(effect), work_error(effect))))
            }
            td class=[colour.map(|colour| format!("words {colour}"))] {
                @if let Some(change) = changes.last() { (since(history, change)) }
            }
        }
    }
}

/// The course of levels, and the last of them.
fn levels(ratios: Option<&[Option<Effect>]>, text: impl Fn(&Effect) -> (String, String)) -> Markup {
    let ratios = ratios.unwrap_or_default();
    let course: Vec<Option<f64>> = ratios.iter().map(|effect| effect.map(|effect| effect.ratio)).collect();
    let last = ratios.iter().rev().flatten().next();
    html! {
        td { (sparkline::course(&course)) }
        td {
            @match last {
                Some(effect) => {
                    @let (size, interval) = text(effect);
                    (size) @if effect.interval.is_some() { " " small { (interval) } }
                }
                None => "–",
            }
        }
    }
}

fn how_to_read(history: &VersionHistory<'_>) -> Markup {
    let paragraph = |text: &str| Block::Paragraph(text.to_owned());
    let times = (!history.steps.is_empty()).then(|| reading(history));
    let work = (!history.work.is_empty()).then(|| paragraph(OF_WORK));
    let blocks_of = [Some(paragraph(OF_ALL)), times, work];
    html! {
        @for block in blocks_of.iter().flatten() { (blocks::of_experiment(history.experiment, block, 2)) }
    }
}

const OF_ALL: &str = "Changes are ordered by the larger of their two sizes, in time and in work. What is known of a cause is either \
                      the functions that execute more or fewer instructions, or the cost of an operation that moved most with the time between \
                      the two versions, which need not have been measured together: it is where to look first, and no proof.";

const OF_WORK: &str = "Work is the instructions that the server executes for an operation. More work is no time. On average, at most 5 % of the \
                       named changes of work are false.";
