//! The page of one step.

use basecase_analysis::{Results, metrics};
use basecase_model::{Headline, OperationClass, StepFacts};
use maud::{Markup, html};

use super::figure::{data, figure, without_script};
use super::shell::{self, Page, PagePlace};
use super::{answer, explanation, flame, history, table, verdicts, work};
use crate::charts::step::{Chart, Charts, Subject, charts};
use crate::charts::track::TrackGroup;
use crate::documents::{of_events, of_latencies};
use crate::options::Options;
use crate::tables::response_time::CLASSES;
use crate::tables::{FAILED, MISSING, compaction, lines, memory, relative, resources, response_time, roles};
use crate::words::caption;

/// The page of one step.
pub(super) fn page(results: &Results<'_>, step: (usize, &StepFacts), options: &Options) -> Markup {
    let (_, facts) = step;
    let charts = charts(results, step);
    let content = html! {
        (answer::of_step(results, step.0))
        (history::link_to(options.history.as_deref(), facts))
        @if let Some(verdicts) = verdicts::of_step(results, step.0) { (verdicts) }
        @if let Some(work) = work::of_step(results, step.0) { (work) }
        @if !results.has_counts_only() { (measured(results, step, options, &charts)) }
    };
    let title = format!("{}: {}", facts.label, facts.title);
    shell::render(
        results,
        &Page { title, place: PagePlace::Step(facts), charts: !charts.charts.is_empty(), content },
    )
}

/// What trials say of the step.
fn measured(
    results: &Results<'_>,
    step: (usize, &StepFacts),
    options: &Options,
    charts: &Charts<'_>,
) -> Markup {
    let latencies = of_latencies(results, step);
    let events = of_events(results, step, options);
    let costs = resources::tables(results, step);
    html! {
        section #throughput {
            h2 { "Throughput" }
            (bars(results, step, options))
        }
        @if let Some(explanation) = explanation::section(results, step.0) { (explanation) }
        @if let Some(flames) = flame::section(results, step.0) { (flames) }
        @if !charts.charts.is_empty() { (over_time(results, charts)) }
        @if !events.is_empty() {
            section #events {
                h2 { "Events and statements" }
                @for found in &events { (table::render(results, found)) }
            }
        }
        @if !latencies.is_empty() {
            section #response-times {
                h2 { "Response times" }
                p { (response_time::reading(results)) }
                @for found in &latencies { (table::render(results, found)) }
            }
        }
        @if !costs.is_empty() {
            section #costs {
                h2 { "Costs per operation" }
                p { (resources::READING) }
                @for costs in &costs { (table::render(results, costs)) }
            }
        }
        section #metrics {
            h2 { "Metrics" }
            p { (lines::reading(results)) }
            @for lines in lines::tables(results, step) { (table::render(results, &lines)) }
            @if let Some(memory) = memory::of_step(results, step) { (table::render(results, &memory)) }
            details {
                summary { "What each metric means" }
                dl {
                    @for metric in metrics::line().chain(metrics::EXTRAS) {
                        dt { (metric.name) }
                        dd { (lines::meaning(metric)) }
                    }
                }
            }
            @if let Some(found) = compaction::table(results, step) { (table::render(results, &found)) }
            @if let Some(roles) = roles::table(results, step) { (table::render(results, &roles)) }
        }
        (data(charts))
    }
}

/// Horizontal bars from 0: the headline value; for queries also the insert rate, or events of a workload file.
fn bars(results: &Results<'_>, (number, step): (usize, &StepFacts), options: &Options) -> Markup {
    let inserts =
        |candidate| results.measured(number, candidate).and_then(|measured| measured.inserts_per_second());
    let events = |candidate| Some(results.measured(number, candidate)?.events_per_second());
    let headline = |candidate| results.headline(number, candidate);
    let mut columns: Vec<(&str, Vec<Option<f64>>)> = vec![(
        step.headline.unit(),
        results.candidates().map(|(candidate, _)| headline(candidate)).collect(),
    )];
    if step.headline == Headline::Queries {
        let (unit, second): (_, &dyn Fn(usize) -> Option<f64>) =
            if step.threads.is_some() { ("events/s", &events) } else { (Headline::Inserts.unit(), &inserts) };
        columns.push((unit, results.candidates().map(|(candidate, _)| second(candidate)).collect()));
    }
    let largest: Vec<f64> = columns
        .iter()
        .map(|(_, values)| values.iter().flatten().fold(0.0, |max: f64, value| max.max(*value)))
        .collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Throughput" {
            table.bars {
                caption {
                    div { strong { (caption(results.experiment, &format!("{} throughput", step.name))) } " " span { "Bars of each column start at 0." } }
                }
                thead {
                    tr {
                        th scope="col" { "dbms" }
                        @for (unit, _) in &columns { th.words scope="col" { (unit) } }
                        th scope="col" { "relative" }
                    }
                }
                tbody {
                    @for (candidate, facts) in results.candidates() {
                        tr {
                            th scope="row" { (facts.name) }
                            @for ((_, values), largest) in columns.iter().zip(&largest) {
                                td { (bar(results, (number, candidate), values[candidate], *largest)) }
                            }
                            @if results.relative(number, candidate).is_some() {
                                @let ratio = relative::cell(results, number, candidate, options.thresholds);
                                td { (ratio.text) (table::small(&ratio)) }
                            } @else {
                                td { (MISSING) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn bar(results: &Results<'_>, (step, candidate): (usize, usize), value: Option<f64>, largest: f64) -> Markup {
    let failed = results.trial(step, candidate).is_some_and(|trial| !trial.is_complete());
    match value {
        Some(value) => {
            let length = if largest > 0.0 { value / largest } else { 0.0 };
            html! { div.bar style={ "--length:" (format!("{length:.3}")) } { span {} (format!("{value:.0}")) } }
        }
        None => html! { (if failed { FAILED } else { MISSING }) },
    }
}

fn over_time(results: &Results<'_>, charts: &Charts<'_>) -> Markup {
    html! {
        section #charts {
            h2 { "Charts" }
            (without_script())
            p.small {
                "Point at a chart to read its values, click a name below it to hide or show a candidate, drag to zoom in, \
                 and double-click to zoom out. Incomplete intervals are left out."
            }
            @for class in CLASSES { (of_class(charts, class)) }
        }
        section #machine {
            h2 { "The machine and the server over time" }
            (of_tracks(results, charts))
        }
    }
}

/// The charts on the wanted subjects, with their numbers.
fn about<'a>(
    charts: &'a Charts<'_>,
    wanted: impl Fn(Subject) -> bool,
) -> impl Iterator<Item = (usize, &'a Chart)> {
    charts.charts.iter().enumerate().filter(move |(_, chart)| wanted(chart.subject))
}

fn of_class(charts: &Charts<'_>, class: OperationClass) -> Markup {
    let mut all = about(charts, |subject| subject == Subject::Class(class)).peekable();
    let single = || about(charts, |subject| matches!(subject, Subject::Client(of, _) if of == class));
    let client = |(_, chart): (_, &Chart)| match chart.subject {
        Subject::Client(_, client) => Some(client),
        _ => None,
    };
    html! {
        @if all.peek().is_some() {
            h3 { (class.as_str()) }
            div.charts { @for (number, chart) in all { (figure(number, &chart.caption)) } }
        }
        @let heats: Vec<_> = charts.heats.iter().enumerate().filter(|(_, heat)| heat.class == class).collect();
        @if !heats.is_empty() {
            details {
                summary { "Latency over time" }
                p.small {
                    "Each column is a moment, each row a range of latencies; darker means more statements. Four rows span \
                     a factor of two. Point at a cell to read it."
                }
                div.charts.heats {
                    @for (number, heat) in heats { figure data-heat=(number) { figcaption { (charts.rows[heat.row]) } } }
                }
            }
        }
        @if let Some(clients) = single().filter_map(client).max() {
            details {
                summary { "Each of the " (clients) " clients" }
                div.charts.small-charts { @for (number, chart) in single() { (figure(number, &chart.caption)) } }
            }
        }
    }
}

fn of_tracks(results: &Results<'_>, charts: &Charts<'_>) -> Markup {
    let charts_of = |group| about(charts, move |subject| subject == Subject::Tracks(group));
    let figures = |group| {
        html! {
            div.charts.tracks { @for (number, chart) in charts_of(group) { (figure(number, &chart.caption)) } }
        }
    };
    let groups = TrackGroup::ALL.into_iter().filter(|group| charts_of(*group).next().is_some());
    html! {
        @if about(charts, |subject| matches!(subject, Subject::Tracks(_))).next().is_none() {
            p { (if results.rounds.is_some() { UNWATCHED_IN_ROUNDS } else { UNWATCHED }) }
        }
        @for group in groups {
            @if group == TrackGroup::Others {
                details { summary { (group.title()) " (" (charts_of(group).count()) ")" } (figures(group)) }
            } @else {
                h3 { (group.title()) }
                (figures(group))
            }
        }
        @if !charts.idle.is_empty() { p.small { "Always 0: " (charts.idle.join("; ")) "." } }
    }
}

/// Shown if no trial has a track.
const UNWATCHED_IN_ROUNDS: &str = "No time series were recorded, because candidates took turns within seconds. The metrics \
                                   below are means over all rounds.";
const UNWATCHED: &str = "No time series were recorded: this step was run with --probe off or by an older basecase, or was \
                         too short. The metrics below are means over the whole window.";
