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

/// What every page has, whatever it is about.
pub(super) struct Frame<'a> {
    /// Title of the page.
    pub(super) title: &'a str,
    /// Whether it has charts that a script draws.
    pub(super) charts: bool,
    /// Whether it is the one to open first.
    pub(super) is_overview: bool,
    /// Links to the other pages.
    pub(super) links: Markup,
    /// Its content.
    pub(super) content: &'a Markup,
    /// What made it, and of what.
    pub(super) foot: Markup,
}

/// The whole page.
pub(super) fn render(results: &Results<'_>, page: &Page<'_>) -> Markup {
    let experiment = results.experiment;
    let links = html! {
        @if page.place == PagePlace::Bisection { (link(bisection::PAGE, "Bisection", true)) }
        (link("index.html", "Overview", page.place == PagePlace::Overview))
        @if results.rounds.is_some() {
            (link(method::PAGE, TITLE, page.place == PagePlace::Method))
        }
        @if results.is_workload_file() {
            @if !results.has_counts_only() {
                (link(metrics::PAGE, "Costs per operation", page.place == PagePlace::Metrics))
            }
            (folded(&steps(results, page.place)))
        } @else {
            (steps(results, page.place))
        }
    };
    let foot = html! {
        "basecase " (experiment.basecase_version) ", protocol revision "
        (experiment.protocol_revision) ". Started " (experiment.created_at) "."
    };
    let Page { title, charts, content, .. } = page;
    let is_overview = page.place == PagePlace::Overview;
    framed(&Frame { title, charts: *charts, is_overview, links, content, foot })
}

/// The whole page.
pub(super) fn framed(frame: &Frame<'_>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (frame.title) }
                @if frame.charts { link rel="stylesheet" href="assets/uplot/uPlot.min.css"; }
                link rel="stylesheet" href="assets/report.css";
            }
            body {
                header { nav aria-label="Pages" { (frame.links) } }
                main.overview[frame.is_overview] {
                    h1 { (frame.title) }
                    (frame.content)
                }
                footer { p { (frame.foot) } }
                @if frame.charts {
                    script src="assets/uplot/uPlot.iife.min.js" {}
                    script src="assets/charts.js" {}
                }
            }
        }
    }
}

/// Links to all steps, folded: their names would fill a phone's screen.
pub(super) fn folded(steps: &Markup) -> Markup {
    html! { details { summary { "Steps" } div { (steps) } } }
}

fn steps(results: &Results<'_>, place: PagePlace<'_>) -> Markup {
    html! {
        @for (_, step) in results.steps() { (link(&page_name(step), &step.name, place == PagePlace::Step(step))) }
    }
}

/// A link to a page, unless it is this one.
pub(super) fn link(href: &str, text: &str, here: bool) -> Markup {
    html! {
        @if here { a href=(href) aria-current="page" { (text) } } @else { a href=(href) { (text) } }
    }
}
