//! The page with the costs per operation of all steps of a workload file.

use basecase_analysis::Results;
use basecase_model::{Headline, StepFacts};
use maud::{Markup, html};

use super::shell::{self, Page, PagePlace};
use super::{page_name, table};
use crate::documents;
use crate::tables::resources;

/// Name of the page.
pub(super) const PAGE: &str = "metrics.html";

/// The load and the compared steps in execution order, scans last, as published.
pub(super) fn page(results: &Results<'_>) -> Markup {
    let is_shown = |step: &StepFacts| step.is_compared() || step.headline == Headline::Inserts;
    let mut steps: Vec<(usize, &StepFacts)> = results.steps().filter(|(_, step)| is_shown(step)).collect();
    steps.sort_by_key(|(_, step)| step.scanned_rows.is_some());
    let content = html! {
        p { (resources::READING) }
        @for &step in &steps {
            section {
                h2 { a href=(page_name(step.1)) { (step.1.label) } }
                @for costs in resources::tables(results, step) { (table::render(results, &costs)) }
            }
        }
    };
    let title = format!("Costs per operation: {}", documents::title(results));
    shell::render(results, &Page { title, place: PagePlace::Metrics, charts: false, content })
}
