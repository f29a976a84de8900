//! The frame of every page.

use basecase_analysis::Results;
use basecase_model::StepFacts;
use maud::{DOCTYPE, Markup, html};

use super::{bisection, method, metrics, page_name};
use crate::documents::method::TITLE;

/// Which page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PagePlace<'a> {
    /// The overview.
    Overview,
    /// The costs per operation of all steps.
    Metrics,
    /// How the rounds were decided.
    Method,
    /// A bisection, of which the other pages are the last probe.
    Bisection,
    /// One step.
    Step(&'a StepFacts),
}

/// A page around its content.
pub(super) struct Page<'a> {
    /// Title of the page.
    pub(super) title: String,
    /// Which page it is.
    pub(super) place: PagePlace<'a>,
    /// Whether it has charts.
    pub(super) charts: bool,
    /// Its content.
    pub(super) content: Markup,
}

/// The whole page.
pub(super) fn render(results: &Results<'_>, page: &Page<'_>) -> Markup {
    let experiment = results.experiment;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) }
                @if page.charts { link rel="stylesheet" href="assets/uplot/uPlot.min.css"; }
                link rel="stylesheet" href="assets/report.css";
            }
            body {
                header {
                    nav aria-label="Pages" {
                        @if page.place == PagePlace::Bisection { (link(bisection::PAGE, "Bisection", true)) }
                        (link("index.html", "Overview", page.place == PagePlace::Overview))
                        @if results.rounds.is_some() {
                            (link(method::PAGE, TITLE, page.place == PagePlace::Method))
                        }
                        @if results.is_workload_file() {
                            @if !results.has_counts_only() {
                                (link(metrics::PAGE, "Costs per operation", page.place == PagePlace::Metrics))
                            }
                            // Their names would fill a phone's screen.
                            details {
                                summary { "Steps" }
                                div { (steps(results, page.place)) }
                            }
                        } @else {
                            (steps(results, page.place))
                        }
                    }
                }
                main.overview[page.place == PagePlace::Overview] {
                    h1 { (page.title) }
                    (page.content)
                }
                footer {
                    p {
                        "basecase " (experiment.basecase_version) ", protocol revision "
                        (experiment.protocol_revision) ". Started " (experiment.created_at) "."
                    }
                }
                @if page.charts {
                    script src="assets/uplot/uPlot.iife.min.js" {}
                    script src="assets/charts.js" {}
                }
            }
        }
    }
}

fn steps(results: &Results<'_>, place: PagePlace<'_>) -> Markup {
    html! {
        @for (_, step) in results.steps() { (link(&page_name(step), &step.name, place == PagePlace::Step(step))) }
    }
}

fn link(href: &str, text: &str, here: bool) -> Markup {
    html! {
        @if here { a href=(href) aria-current="page" { (text) } } @else { a href=(href) { (text) } }
    }
}
