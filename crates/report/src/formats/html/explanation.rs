//! Where the time went, on the page of a step.

use basecase_analysis::{Explanation, Results};
use maud::{Markup, html};

use super::blocks;
use crate::documents::details;
use crate::tables::anchor;
use crate::words::{change, summary};

/// A part for each candidate with its likeliest causes, and all changes folded away; `None` if there is nothing to compare with the
/// base case.
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
                    h3 id=(anchor(*candidate)) { (change(explanation, facts)) }
                    ul { @for cause in summary(explanation) { li { (cause) } } }
                    details {
                        summary { "Everything that changed" }
                        @for block in details(explanation) { (blocks::render(results, &block, 3)) }
                    }
                }
            }
        }
    })
}
