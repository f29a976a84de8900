//! The overview.

use basecase_analysis::{Bisected, Results};
use maud::{Markup, html};

use super::figure::{data, figure, without_script};
use super::shell::{self, Page, PagePlace};
use super::sparkline::Sparklines;
use super::{answer, bisection, facts, group_chart, table, verdicts, work};
use crate::charts::sweep::{SweepCharts, charts};
use crate::documents::{self, Section, notes};
use crate::options::Options;
use crate::tables::purge_lag;

/// The page `index.html`; `bisected` is the bisection whose last probe it is.
pub(super) fn page(results: &Results<'_>, options: &Options, bisected: Option<&Bisected<'_>>) -> Markup {
    let experiment = results.experiment;
    let sweeps = charts(results, options);
    let has_charts = !sweeps.is_empty();
    let sections = if results.has_counts_only() { Vec::new() } else { documents::summary(results, options) };
    let lag = purge_lag::table(results);
    let warnings = notes::warnings(results);
    let content = html! {
        (answer::overview(results, options, &warnings))
        @if let Some(bisected) = bisected { (bisection::link(bisected)) }
        @if let Some(verdicts) = verdicts::overview(results) { (verdicts) }
        @if let Some(work) = work::overview(results) { (work) }
        // The tables of single runs name their base case, and are to stay on the first screen.
        @if results.rounds.is_some() || results.has_counts_only() {
            p.small {
                (experiment.candidates.len()) " candidates on " (experiment.steps.len()) " steps of the "
                (experiment.workload) " workload"
                @let preparing = results.steps().filter(|(_, step)| !step.is_compared()).count();
                @if results.is_workload_file() && preparing > 0 { ", " (preparing) " of them for preparation only" }
                @if let Some(base) = experiment.candidates.first() {
                    "; all numbers are relative to the base case, " strong { (base.name) }
                }
                "."
            }
        }
        @if results.has_counts_only() {
            (candidate_notes(results))
        } @else {
            (summary(results, &sections, &sweeps, options))
        }
        div.folds {
            (facts::failed(results))
            (facts::warnings(&warnings))
            @for section in sections.iter().filter(|section| !section.more.is_empty()) {
                details open[section.sweep.is_some() && sweeps.sweeps() == 1] {
                    summary {
                        @if let Some(heading) = &section.heading { (heading) ": " }
                        (section.more_title)
                    }
                    @if let Some(sweep) = section.sweep {
                        div.charts { @for (number, chart) in sweeps.others(sweep) { (figure(number, &chart.caption)) } }
                    }
                    (table::render_beside(results, &section.more))
                }
            }
            @if let Some(lag) = &lag {
                details { summary { "Purge lag" } (table::render(results, lag)) }
            }
            (facts::steps(results))
            (facts::facts(results))
            (facts::settings(results))
        }
        @if has_charts { (data(&sweeps)) }
    };
    shell::render(
        results,
        &Page { title: documents::title(results), place: PagePlace::Overview, charts: has_charts, content },
    )
}

fn candidate_notes(results: &Results<'_>) -> Markup {
    html! {
        @for note in notes::candidates(results.experiment) {
            p.note role="note" { strong { "Note" } " " (note) }
        }
    }
}

/// The tables that come first.
fn summary(
    results: &Results<'_>,
    sections: &[Section],
    sweeps: &SweepCharts<'_>,
    options: &Options,
) -> Markup {
    let sparklines = Sparklines::of(results);
    html! {
        section #summary {
            (candidate_notes(results))
            @if !sweeps.is_empty() { (without_script()) }
            @for section in sections {
                @if let Some(heading) = &section.heading { h2 { (heading) } }
                @if let Some(reading) = section.reading { p.small { (reading) } }
                @if let Some(sweep) = section.sweep {
                    div.charts { @for (number, chart) in sweeps.first(sweep) { (figure(number, &chart.caption)) } }
                }
                (table::render_together(results, &section.tables, &sparklines))
                @if section.has_bars {
                    @if let Some(charts) = group_chart::charts(results, options.thresholds) { (charts) }
                }
            }
            p.small {
                (notes::noise(results))
                @if let Some(published) = notes::published(results) { " " (published) }
            }
        }
    }
}
