//! The overview.

use maud::{Markup, html};

use super::shell::{self, Page};
use super::{facts, page_name, table};
use crate::document;
use crate::notes;
use crate::options::Options;
use crate::results::Results;

/// The page `index.html`.
pub(super) fn page(results: &Results<'_>, options: &Options) -> Markup {
    let experiment = results.experiment;
    let content = html! {
        p.lead {
            (experiment.candidates.len()) " candidates on " (experiment.steps.len()) " steps of the "
            (experiment.workload) " workload"
            @if let Some(base) = experiment.candidates.first() {
                "; every number is read against the base case, " strong { (base.name) }
            }
            "."
        }
        section #summary {
            h2 { "Summary" }
            @if let Some(note) = notes::toolchains(experiment) {
                p.note role="note" { strong { "Note" } " " (note) }
            }
            @for section in document::summary(results, options) {
                @if let Some(heading) = section.heading { h3 { (heading) } }
                @if let Some(reading) = section.reading { p { (reading) } }
                @for summary in &section.tables { (table::render(results, summary)) }
            }
            p { (notes::NOISE) }
            @if let Some(published) = notes::published(results) { p { (published) } }
        }
        (facts::failed(results))
        (facts::warnings(results))
        section #steps {
            h2 { "Steps" }
            p { "Each page has bars, response times, metrics, roles and per-second charts of one step." }
            ul.steps {
                @for (_, step) in results.steps() {
                    li { a href=(page_name(step)) { (step.label) } span { (step.title) } }
                }
            }
        }
        (facts::facts(results))
    };
    shell::render(results, &Page { title: document::title(results), step: None, charts: false, content })
}
