//! One table as HTML.

use basecase_analysis::Results;
use basecase_model::Experiment;
use maud::{Markup, html};

use super::page_name;
use super::sparkline::Sparklines;
use crate::tables::{Column, Highlight, Row, Table, TableCell};
use crate::words;

/// The table in a scrolling container, with its legend below.
pub(super) fn render(results: &Results<'_>, table: &Table) -> Markup {
    of_experiment(results.experiment, table)
}

/// The same of an experiment whose results are not at hand.
pub(super) fn of_experiment(experiment: &Experiment, table: &Table) -> Markup {
    html! { div.table { (grid(experiment, table, &|_| None)) (legend(table)) } }
}

/// The same without links to pages of steps, where there are none.
pub(super) fn unlinked(experiment: &Experiment, table: &Table) -> Markup {
    let rows = table.rows.iter().map(|row| Row { step: None, ..row.clone() }).collect();
    of_experiment(experiment, &Table { rows, ..table.clone() })
}

/// Tables side by side.
pub(super) fn render_beside(results: &Results<'_>, tables: &[Table]) -> Markup {
    html! { div.together { @for table in tables { (render(results, table)) } } }
}

/// Tables side by side, with sparklines in their cells. If they share key and legend, those appear once above them.
pub(super) fn render_together(results: &Results<'_>, tables: &[Table], sparklines: &Sparklines) -> Markup {
    let Some(first) = tables.first() else { return Markup::default() };
    let shares = tables.iter().all(|table| (&table.key, &table.legend) == (&first.key, &first.legend));
    let trend = |trial| Some(sparklines.render(results, trial));
    html! {
        @if shares { (key(first)) (legend(first)) }
        div.together {
            @for table in tables {
                @let own = Table { key: if shares { Vec::new() } else { table.key.clone() }, ..table.clone() };
                div.table {
                    (grid(results.experiment, &own, &trend))
                    @if !shares { (legend(table)) }
                }
            }
        }
    }
}

fn key(table: &Table) -> Markup {
    html! { @if !table.key.is_empty() { ul.key { @for line in &table.key { li { (line) } } } } }
}

fn legend(table: &Table) -> Markup {
    html! {
        @if !table.legend.is_empty() {
            ul.legend {
                @for (mark, meaning) in &table.legend {
                    li { span.swatch.(class(*mark)) { (mark.sign()) } " " (meaning) }
                }
            }
        }
    }
}

/// `trend` draws the course of a trial, by step and candidate.
fn grid(experiment: &Experiment, table: &Table, trend: &dyn Fn((usize, usize)) -> Option<Markup>) -> Markup {
    let marks = !table.legend.is_empty();
    html! {
        div.scroll tabindex="0" role="region" aria-label=(table.caption) {
            table.keyed[!table.key.is_empty()] {
                caption {
                    div {
                        strong { (words::caption(experiment, &table.caption)) }
                        @if !table.reading.is_empty() { " " span { (table.reading) } }
                        (key(table))
                    }
                }
                thead {
                    tr {
                        th scope="col" { (table.corner) }
                        @for column in &table.columns { (heading(experiment, column, marks)) }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr class=[row.reference.then_some("reference")] {
                            th scope="row" { (linked(experiment, row.step, &row.name)) }
                            @for (cell, column) in row.cells.iter().zip(&table.columns) {
                                (body(cell, column, marks, cell.trial.and_then(trend)))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn heading(experiment: &Experiment, column: &Column, marks: bool) -> Markup {
    let meaning = (!column.meaning.is_empty()).then_some(&column.meaning);
    html! {
        th scope="col" class=[column.words.then_some("words")] title=[meaning] {
            (linked(experiment, column.step, &column.name))
            @if marks { span.sign {} }
        }
    }
}

/// A name, as a link if it is that of a step.
fn linked(experiment: &Experiment, step: Option<usize>, name: &str) -> Markup {
    let step = step.and_then(|number| experiment.steps.get(number));
    html! {
        @match step {
            Some(step) => a href=(page_name(step)) { (name) },
            None => (name),
        }
    }
}

fn body(cell: &TableCell, column: &Column, marks: bool, trend: Option<Markup>) -> Markup {
    let meaning = match cell.mark {
        Highlight::None => cell.share.map_or("", |_| "share"),
        mark => class(mark),
    };
    let words = if column.words { "words" } else { "" };
    let class = [words, meaning].join(" ");
    let class = Some(class.trim()).filter(|class| !class.is_empty());
    let shade = cell.share.map(|share| format!("--share:{share:.2}"));
    html! {
        td class=[class] style=[shade] {
            (cell.text)
            @if marks { span.sign { (cell.mark.sign()) } }
            (small(cell))
            @if let Some(trend) = trend { (trend) }
        }
    }
}

/// The small print of a cell.
pub(super) fn small(cell: &TableCell) -> Markup {
    html! { @if !cell.small.is_empty() { small { (cell.small) } } }
}

fn class(mark: Highlight) -> &'static str {
    match mark {
        Highlight::None => "",
        Highlight::TopQuarter => "top",
        Highlight::BottomQuarter => "bottom",
        Highlight::Ignored => "ignored",
        Highlight::Better => "better",
        Highlight::Worse => "worse",
        Highlight::SlaFailed => "missed",
        Highlight::DefaultChanged | Highlight::IoBound => "changed",
    }
}
