//! Where the time went, on the page of a step.

use maud::{Markup, html};

use super::table;
use crate::document::Block;
use crate::explanation::Explanation;
use crate::results::Results;
use crate::tables::anchor;

/// A part for each candidate with its likeliest causes, and all that moved when it is opened; `None` when there is nothing to
/// hold against the base case.
pub(super) fn section(results: &Results<'_>, step: usize) -> Option<Markup> {
    let facts = results.experiment.steps.get(step)?;
    let found: Vec<(usize, Explanation<'_>)> = results
        .candidates()
        .filter_map(|(candidate, _)| Some((candidate, Explanation::of(results, step, candidate)?)))
        .collect();
    (!found.is_empty()).then(|| {
        html! {
            section #explanation {
                h2 { "Where the time went" }
                @for (candidate, explanation) in &found {
                    h3 id=(anchor(*candidate)) { (explanation.change(facts)) }
                    ul { @for cause in explanation.summary() { li { (cause) } } }
                    details {
                        summary { "Everything that moved" }
                        @for block in explanation.details() { (render(results, &block)) }
                    }
                }
            }
        }
    })
}

fn render(results: &Results<'_>, block: &Block) -> Markup {
    match block {
        Block::Title(text) | Block::Heading(text) => html! { h3 { (text) } },
        Block::Note(text) | Block::Paragraph(text) => html! { p { (text) } },
        Block::List(lines) => html! { ul { @for line in lines { li { (line) } } } },
        Block::Log(text) => html! { pre { (text) } },
        Block::Table(found) => table::render(results, found),
    }
}
