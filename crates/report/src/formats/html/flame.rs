//! The flame graphs of a report: one file for each profile, and one for each difference from the base case.

use basecase_analysis::{Results, hardware_absence};
use basecase_model::{Profile, ProfileKind};
use maud::{Markup, html};

use super::folder::Folder;
use super::page_name;
use crate::charts::flame_graph::{differential, plain};
use crate::error::Error;
use crate::words;

/// Folder of the pictures, below the report's.
const FOLDER: &str = "flame";

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// One profile.
    Plain,
    /// The candidate, coloured by what differs from the base case.
    Difference,
}

/// Path of a picture, relative to the report's folder.
fn path(
    results: &Results<'_>,
    (step, candidate): (usize, usize),
    kind: ProfileKind,
    view: View,
) -> Option<String> {
    let page = page_name(results.experiment.steps.get(step)?);
    let name = page.strip_suffix(".html")?;
    let difference = if view == View::Difference { "-difference" } else { "" };
    Some(format!("{FOLDER}/{name}-{candidate}-{kind}{difference}.svg"))
}

/// The base case's profile of the same kind.
fn base_of<'a>(results: &Results<'a>, step: usize, kind: ProfileKind) -> Option<&'a Profile> {
    results.profiles(step, 0).iter().find(|profile| profile.kind == kind)
}

/// Writes all pictures of one step.
///
/// # Errors
/// When stacks cannot be drawn or a file cannot be written.
pub(super) fn write_pictures(
    results: &Results<'_>,
    step: usize,
    folder: &mut Folder<'_>,
) -> Result<(), Error> {
    for (candidate, facts) in results.candidates() {
        for profile in results.profiles(step, candidate) {
            let label = results.experiment.steps.get(step).map_or("", |step| &step.label);
            let title = format!("{} on {label}: {}", facts.name, title(profile.kind));
            let own = plain(profile, &title)?.map(|picture| (View::Plain, picture));
            let base = base_of(results, step, profile.kind).filter(|_| candidate > 0);
            let other = match base {
                Some(base) => differential(base, profile, &format!("{title}, compared with the base case"))?,
                None => None,
            };
            for (view, picture) in own.into_iter().chain(other.map(|picture| (View::Difference, picture))) {
                if let Some(path) = path(results, (step, candidate), profile.kind, view) {
                    folder.write(&path, &picture)?;
                }
            }
        }
    }
    Ok(())
}

fn title(kind: ProfileKind) -> &'static str {
    match kind {
        ProfileKind::Cpu => "CPU time of the server",
        ProfileKind::OffCpu => "off-CPU time of the server",
    }
}

/// Links to the pictures of a step, a line for each profile; `None` if there are none.
pub(super) fn section(results: &Results<'_>, step: usize) -> Option<Markup> {
    let counted_profiles = |candidate: usize| {
        let profiles = results.profiles(step, candidate).iter().filter(|profile| profile.samples > 0);
        profiles.map(move |profile| (candidate, profile)).collect::<Vec<_>>()
    };
    let found: Vec<(usize, &Profile)> =
        results.candidates().flat_map(|(candidate, _)| counted_profiles(candidate)).collect();
    (!found.is_empty()).then(|| {
        html! {
            section #flame-graphs {
                h2 { "Flame graphs" }
                p {
                    "Stacks of the server while the step ran, as wide as the time spent in them. Click a frame to enlarge \
                     it. In a difference, red frames take a larger share than in the base case, and blue ones a smaller \
                     share."
                }
                @if let Some(absence) = hardware_absence(results, step) { p { (words::hardware_absence(absence)) } }
                ul {
                    @for (candidate, profile) in found {
                        @let name = results.experiment.candidates.get(candidate).map_or("", |facts| &facts.name.0);
                        li {
                            strong { (name) } ", " (title(profile.kind)) ": "
                            @if let Some(path) = path(results, (step, candidate), profile.kind, View::Plain) {
                                a href=(path) { "flame graph" }
                            }
                            @let base = base_of(results, step, profile.kind).filter(|base| candidate > 0 && base.samples > 0);
                            @if let (Some(_), Some(path)) =
                                (base, path(results, (step, candidate), profile.kind, View::Difference)) {
                                ", " a href=(path) { "difference from the base case" }
                            }
                            " — " (profile.samples) " samples"
                            @if profile.lost > 0 { ", " (profile.lost) " lost" }
                        }
                    }
                }
            }
        }
    })
}
