//! A history over many versions as a folder of pages that work offline.

mod front;
mod levels;
mod step;

use std::path::{Path, PathBuf};

use basecase_analysis::VersionHistory;
use basecase_model::StepFacts;
use maud::{Markup, html};
use rayon::prelude::*;

use super::folder::{Folder, file_name};
use super::shell::{Frame, folded, framed, link};
use super::{INDEX, STYLE};
use crate::error::Error;

/// Writes all pages and returns the path of the one to open first.
pub(crate) fn write(history: &VersionHistory<'_>, out_dir: &Path) -> Result<PathBuf, Error> {
    let mut folder = Folder::of_our_own(out_dir)?;
    folder.write_asset(STYLE.0, STYLE.1)?;
    let steps: Vec<(usize, &StepFacts)> = steps(history).collect();
    let pages = steps.par_iter().map(|(number, facts)| step::page(history, *number, facts).into_string());
    for ((_, facts), page) in steps.iter().zip(pages.collect::<Vec<String>>()) {
        folder.write(&page_name(facts), &page)?;
    }
    folder.write(INDEX, &front::page(history).into_string())?;
    let first = folder.file(INDEX);
    folder.finish()?;
    Ok(first)
}

/// The steps that have a page, with their numbers.
fn steps<'a>(history: &VersionHistory<'a>) -> impl Iterator<Item = (usize, &'a StepFacts)> {
    let experiment = history.experiment;
    history.step_numbers().into_iter().filter_map(|step| Some((step, experiment.steps.get(step)?)))
}

/// File name of a step's page. Names of steps come from users' files and may contain anything.
fn page_name(step: &StepFacts) -> String {
    format!("history-{}.html", file_name(&step.name))
}

/// The address of a step's page, when pages are published at this one.
pub(crate) fn address(folder: &str, step: &StepFacts) -> String {
    format!("{}/{}", folder.trim_end_matches('/'), page_name(step))
}

/// A link to a step's page, if histories are published.
pub(super) fn link_to(folder: Option<&str>, step: &StepFacts) -> Markup {
    html! {
        @if let Some(folder) = folder { p { a href=(address(folder, step)) { "History of " (step.label) } } }
    }
}

/// Where a page tells of the change of this number.
fn anchor(number: usize) -> String {
    format!("change-{number}")
}

/// A page of the folder: the front page, or that of a step.
fn shell(history: &VersionHistory<'_>, title: &str, here: Option<&StepFacts>, content: &Markup) -> Markup {
    let pages = html! {
        @for (_, facts) in steps(history) {
            (link(&page_name(facts), &facts.label, here.is_some_and(|step| step.name == facts.name)))
        }
    };
    let links = html! { (link(INDEX, "History", here.is_none())) (folded(&pages)) };
    let newest = history.experiment;
    let foot = html! {
        "basecase " (newest.basecase_version) ", protocol revision " (newest.protocol_revision)
        ". " @if history.joined.is_some() { "The newest experiment" } @else { "The experiment" } " is " (newest.id)
        ", started " (newest.created_at) "."
    };
    framed(&Frame { title, charts: false, is_overview: here.is_none(), links, content, foot })
}

#[cfg(test)]
mod tests;
