//! What is the same on every page.

use basecase_model::StepFacts;
use maud::{DOCTYPE, Markup, html};

use super::page_name;
use crate::results::Results;

/// A page around its content.
pub(super) struct Page<'a> {
    /// Title of the page.
    pub(super) title: String,
    /// The step that it shows; none on the overview.
    pub(super) step: Option<&'a StepFacts>,
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
                        (link("index.html", "Overview", page.step.is_none()))
                        @for (_, step) in results.steps() {
                            (link(&page_name(step), &step.name, page.step == Some(step)))
                        }
                    }
                }
                main {
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

fn link(href: &str, text: &str, here: bool) -> Markup {
    html! {
        @if here { a href=(href) aria-current="page" { (text) } } @else { a href=(href) { (text) } }
    }
}
