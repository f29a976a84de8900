//! One table as HTML.

use maud::{Markup, html};

use super::page_name;
use crate::results::Results;
use crate::tables::{Cell, Column, Mark, Table};

/// The table in a container of its own that scrolls, with the meaning of its colours below.
pub(super) fn render(results: &Results<'_>, table: &Table) -> Markup {
    let marks = !table.legend.is_empty();
    html! {
        div.table {
            div.scroll tabindex="0" role="region" aria-label=(table.caption) {
                table.keyed[!table.key.is_empty()] {
                    caption {
                        div {
                            strong { (table.caption) }
                            @if !table.reading.is_empty() { " " span { (table.reading) } }
                            @if !table.key.is_empty() { ul.key { @for line in &table.key { li { (line) } } } }
                        }
                    }
                    thead {
                        tr {
                            th scope="col" { (table.corner) }
                            @for column in &table.columns { (heading(results, column, marks)) }
                        }
                    }
                    tbody {
                        @for row in &table.rows {
                            tr class=[row.reference.then_some("reference")] {
                                th scope="row" { (linked(results, row.step, &row.name)) }
                                @for (cell, column) in row.cells.iter().zip(&table.columns) {
                                    (body(cell, column, marks))
                                }
                            }
                        }
                    }
                }
            }
            @if marks {
                ul.legend {
                    @for (mark, meaning) in &table.legend {
                        li { span.swatch.(class(*mark)) { (mark.sign()) } " " (meaning) }
                    }
                }
            }
        }
    }
}

fn heading(results: &Results<'_>, column: &Column, marks: bool) -> Markup {
    let meaning = (!column.meaning.is_empty()).then_some(&column.meaning);
    html! {
        th scope="col" class=[column.words.then_some("words")] title=[meaning] {
            (linked(results, column.step, &column.name))
            @if marks { span.sign {} }
        }
    }
}

/// A name, as a link where it is that of a step.
fn linked(results: &Results<'_>, step: Option<usize>, name: &str) -> Markup {
    let step = step.and_then(|number| results.experiment.steps.get(number));
    html! {
        @match step {
            Some(step) => a href=(page_name(step)) { (name) },
            None => (name),
        }
    }
}

fn body(cell: &Cell, column: &Column, marks: bool) -> Markup {
    let class = match (cell.mark, column.words) {
        (Mark::None, true) => Some("words"),
        (Mark::None, false) => cell.share.map(|_| "share"),
        (mark, _) => Some(class(mark)),
    };
    let shade = cell.share.map(|share| format!("--share:{share:.2}"));
    html! {
        td class=[class] style=[shade] {
            (cell.text)
            @if marks { span.sign { (cell.mark.sign()) } }
        }
    }
}

fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::None => "",
        Mark::TopQuarter => "top",
        Mark::BottomQuarter => "bottom",
        Mark::Ignored => "ignored",
        Mark::Better => "better",
        Mark::Worse => "worse",
        Mark::SlaFailed => "missed",
    }
}
