//! The page of a bisection: the answer, levels over candidates, and each change.

use basecase_analysis::{Bisected, Results};
use basecase_stats::BisectedChange;
use maud::{Markup, html};

use super::shell::{self, Page, PagePlace};
use super::{bisection_levels, history, table, work};
use crate::documents::bisection::{Skipped, changes, line, reading, sentence, skipped, state};
use crate::documents::bug_report::{builds, commands, machine, unexplained};
use crate::documents::commit_change::{causes, facts, functions, heading};
use crate::options::Options;
use crate::tables;

/// File name of the page.
pub(super) const PAGE: &str = "bisection.html";
/// The same as a bug report.
pub(super) const MARKDOWN: &str = "bisection.md";

/// The page; `results` are those of its last probe.
pub(super) fn page(results: &Results<'_>, bisected: &Bisected<'_>, options: &Options) -> Markup {
    let found = bisected.bisection.changes();
    let step = results.experiment.steps.iter().find(|step| step.label == bisected.label);
    let content = html! {
        p.answer { strong { (sentence(bisected)) } }
        @if found.len() > 1 {
            ol { @for (number, line) in changes(bisected).iter().enumerate() { li { a href=(format!("#{}", anchor(number))) { (line) } } } }
        }
        @if let Some(rest) = unexplained(bisected) { p { (rest) } }
        @if let Some(state) = state(bisected) { p.small { (state) } }
        @if let Some(step) = step { (history::link_to(options.history.as_deref(), step)) }
        @if let Some(chart) = bisection_levels::chart(bisected) {
            (chart)
            p.small { (chart_reading(bisected)) }
        }
        @for (number, change) in found.iter().enumerate() { (section(results, bisected, number, change)) }
        section #candidates {
            h2 { @if bisected.commits.is_some() { "Commits" } @else { "Candidates" } }
            (table::render(results, &tables::bisection::table(bisected)))
        }
        (left_out(bisected))
        (how(results, bisected))
    };
    let title = format!("Bisection: {}", bisected.label);
    shell::render(results, &Page { title, place: PagePlace::Bisection, charts: false, content })
}

/// A link to the page, for the overview of its last probe.
pub(super) fn link(bisected: &Bisected<'_>) -> Markup {
    html! { p { "These are the candidates that a bisection measured last: " a href=(PAGE) { (sentence(bisected)) } } }
}

fn anchor(number: usize) -> String {
    format!("change-{}", number + 1)
}

/// How to read the chart.
fn chart_reading(bisected: &Bisected<'_>) -> String {
    let kind = bisection_levels::kind(bisected);
    format!(
        "Each point is a {kind} that was measured, with its interval. A band is a change: it begins after its left side and no later than its \
         right one; where the {kind} is not known, it is grey. Below, × is a {kind} that cannot be had, and between the marks are those that were not measured."
    )
}

/// A change: its facts, and the functions behind it.
fn section(results: &Results<'_>, bisected: &Bisected<'_>, number: usize, change: &BisectedChange) -> Markup {
    let causes = causes(bisected, number, change);
    let facts = facts(bisected, number, change);
    html! {
        section.change-facts id=(anchor(number)) {
            h2 { (number + 1) ": " (heading(bisected, change)) }
            p { (line(bisected, change)) "." }
            @if !facts.is_empty() { ul { @for fact in &facts { li { (fact) } } } }
            @if let Some(causes) = &causes { (work::drawing(causes)) }
            @if let Some(table) = functions(bisected, number, change) { (table::render(results, &table)) }
        }
    }
}

/// What was skipped, with the end of each build's log.
fn left_out(bisected: &Bisected<'_>) -> Markup {
    let skipped = skipped(bisected);
    html! {
        @if !skipped.is_empty() {
            section #skipped {
                h2 { "Skipped" }
                @for Skipped { names, reason } in &skipped {
                    details {
                        summary { (names) ": " (crate::words::brief_reason(reason)) }
                        pre { (reason) }
                    }
                }
            }
        }
    }
}

/// How it was searched, where, and how to do it again.
fn how(results: &Results<'_>, bisected: &Bisected<'_>) -> Markup {
    let experiment = bisected.experiment.unwrap_or(results.experiment);
    html! {
        section #search {
            h2 { "How it was searched" }
            p { (reading(bisected)) }
            ul { li { (builds(experiment)) } li { (machine(experiment)) } }
            h3 { "To repeat it" }
            pre { (commands(bisected, experiment).join("\n")) }
            p { "The same as Markdown, for a bug report: " a href=(MARKDOWN) { (MARKDOWN) } "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::invented::{InventedRounds, InventedWork, STEP};
    use crate::{Options, write_bisection, write_pages};

    /// Levels of commits with two changes.
    const TWO: [usize; 12] = [0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2];

    /// The page and the bug report of a search.
    fn written(search: &InventedWork) -> (String, String) {
        let folder = tempfile::tempdir().unwrap();
        let (experiment, counted) = search.last_probe();
        let options = Options { counted: counted.clone(), ..Options::default() };
        let page = write_bisection(&search.bisected(), (experiment, &[]), &options, folder.path()).unwrap();
        assert_eq!(page, folder.path().join(super::PAGE));
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(read("index.html").contains(super::PAGE), "the overview links it");
        (read(super::PAGE), read(super::MARKDOWN))
    }

    #[test]
    fn the_page_of_two_changes_with_a_commit_that_does_not_compile() {
        let (page, report) = written(&InventedWork::of_commits(&TWO, &[6], 100));
        let chart =
            page.split_once("<figure class=\"effects").and_then(|(_, rest)| rest.split_once("</figure>"));
        insta::assert_snapshot!(chart.unwrap().0.replace("><", ">\n<"));
        assert!(report.starts_with("# 2 changes in"), "{report}");
        assert_eq!(page.matches("<circle").count(), 7, "a point for each that was measured");
        assert_eq!(page.matches("<rect class=\"change loss\"").count(), 2, "a band for each change");
        assert!(!page.contains("<script") && !page.contains("http"), "it works offline and without scripts");
    }

    #[test]
    fn every_state_of_a_search_has_a_page() {
        let of_commits = |broken: &[usize], most| written(&InventedWork::of_commits(&TWO, broken, most)).0;
        let unbuilt = of_commits(&[1, 2, 3, 4, 5, 6, 7, 8], 100);
        assert!(unbuilt.contains("class=\"change open\""), "a change that nobody is blamed for is grey");
        assert_eq!(unbuilt.matches("class=\"skipped\"").count(), unbuilt.matches("×<title>").count());
        assert!(of_commits(&[], 3).contains("The search is not finished"));
        let nothing = of_commits(&[], 0);
        assert!(nothing.contains("is not decided") && !nothing.contains("<figure"), "{nothing}");
        let (same, _) = written(&InventedWork::search(STEP, &[0, 1, 0], &[], 100));
        assert!(same.contains("does not differ") && !same.contains("change-1"), "{same}");
    }

    #[test]
    fn a_search_by_throughput_has_a_page() {
        let search = InventedRounds::search(&[0.0, 0.0, -0.06, -0.06]);
        let folder = tempfile::tempdir().unwrap();
        let (experiment, trials) = search.last_probe();
        let page =
            write_bisection(&search.bisected(), (experiment, trials), &Options::default(), folder.path());
        let text = fs::read_to_string(page.as_ref().unwrap()).unwrap();
        assert!(text.contains("5.9 % slower") && text.contains("class=\"change loss\""), "{text}");
        assert!(text.contains(">postgres:17.1<"), "candidates that are no commits have their names");
        // A later report into the same folder is of something else.
        write_pages(experiment, trials, &Options::default(), folder.path()).unwrap();
        assert!(!page.unwrap().exists() && !folder.path().join(super::MARKDOWN).exists());
    }
}
