//! The page on how verdicts were reached.

use basecase_analysis::Results;
use maud::{Markup, html};

use super::blocks;
use super::shell::{self, Page, PagePlace};
use crate::documents;
use crate::documents::method;

/// Name of the page.
pub(super) const PAGE: &str = "method.html";

/// The page.
pub(super) fn page(results: &Results<'_>) -> Markup {
    let content = html! {
        section {
            @for block in method::blocks(results) { (blocks::render(results, &block, 2)) }
        }
    };
    let title = format!("{}: {}", method::TITLE, documents::title(results));
    shell::render(results, &Page { title, place: PagePlace::Method, charts: false, content })
}
