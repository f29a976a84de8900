//! Blocks of a document as HTML.

use basecase_analysis::Results;
use basecase_model::Experiment;
use maud::{Markup, html};

use super::table;
use crate::documents::Block;

/// One block, with headings at `level` 2 or 3.
pub(super) fn render(results: &Results<'_>, block: &Block, level: u8) -> Markup {
    of_experiment(results.experiment, block, level)
}

/// The same of an experiment whose results are not at hand.
pub(super) fn of_experiment(experiment: &Experiment, block: &Block, level: u8) -> Markup {
    match block {
        Block::Title(text) | Block::Heading(text) if level == 2 => html! { h2 { (text) } },
        Block::Title(text) | Block::Heading(text) => html! { h3 { (text) } },
        Block::Note(text) | Block::Paragraph(text) => html! { p { (text) } },
        Block::List(lines) => html! { ul { @for line in lines { li { (line) } } } },
        Block::Log(text) => html! { pre { (text) } },
        Block::Table(found) => table::of_experiment(experiment, found),
    }
}
