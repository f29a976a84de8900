//! The report as a directory of pages that work offline.

mod answer;
mod axis_labels;
mod bisection;
mod bisection_levels;
mod blocks;
mod explanation;
mod facts;
mod figure;
mod flame;
mod fleet;
mod folder;
mod forest;
mod group_chart;
mod history;
mod index;
mod level_chart;
mod method;
mod metrics;
mod round_chart;
mod shell;
mod sparkline;
mod step;
mod table;
mod verdicts;
mod work;

use std::path::{Path, PathBuf};

use basecase_analysis::{Bisected, Results};
use basecase_model::StepFacts;
pub(crate) use fleet::{folder_of as fleet_folder_of, write as write_fleet};
use folder::Folder;
pub(crate) use folder::file_name;
pub(crate) use history::{address as history_address, write as write_history};

use super::{PageFormat, markdown};
use crate::documents::bug_report;
use crate::error::Error;
use crate::options::Options;

/// Pages that work offline.
pub(super) const FORMAT: PageFormat = PageFormat { name: "html", write: write_pages };

/// What every page looks like, relative to the report's directory.
const STYLE: (&str, &str) = ("assets/report.css", include_str!("../../../assets/report.css"));

/// Files that pages with charts use as well.
const ASSETS: [(&str, &str); 5] = [
    STYLE,
    ("assets/charts.js", include_str!("../../../assets/charts.js")),
    ("assets/uplot/uPlot.iife.min.js", include_str!("../../../assets/uplot/uPlot.iife.min.js")),
    ("assets/uplot/uPlot.min.css", include_str!("../../../assets/uplot/uPlot.min.css")),
    ("assets/uplot/LICENSE", include_str!("../../../assets/uplot/LICENSE")),
];

/// Writes all pages and assets and returns the path of `index.html`.
pub(crate) fn write_pages(
    results: &Results<'_>,
    options: &Options,
    out_dir: &Path,
) -> Result<PathBuf, Error> {
    write_folder(results, options, None, out_dir)
}

/// Writes the page of a bisection and the same as Markdown, beside the pages of its last probe, and returns the path of the page.
pub(crate) fn write_bisection(
    results: &Results<'_>,
    options: &Options,
    bisected: &Bisected<'_>,
    out_dir: &Path,
) -> Result<PathBuf, Error> {
    write_folder(results, options, Some(bisected), out_dir)
}

/// Writes one folder and returns the path of the page to open first.
fn write_folder(
    results: &Results<'_>,
    options: &Options,
    bisected: Option<&Bisected<'_>>,
    out_dir: &Path,
) -> Result<PathBuf, Error> {
    let mut folder = Folder::new(out_dir);
    for (name, content) in ASSETS {
        folder.write_asset(name, content)?;
    }
    for step in results.steps() {
        folder.write(&page_name(step.1), &step::page(results, step, options).into_string())?;
        flame::write_pictures(results, step.0, &mut folder)?;
    }
    if results.is_workload_file() && !results.has_counts_only() {
        folder.write(metrics::PAGE, &metrics::page(results).into_string())?;
    }
    if results.rounds.is_some() {
        folder.write(method::PAGE, &method::page(results).into_string())?;
    }
    folder.write(INDEX, &index::page(results, options, bisected).into_string())?;
    if let Some(bisected) = bisected {
        let experiment = bisected.experiment.unwrap_or(results.experiment);
        folder.write(bisection::PAGE, &bisection::page(results, bisected, options).into_string())?;
        folder.write(bisection::MARKDOWN, &markdown(&bug_report::compose(bisected, experiment)))?;
    }
    let first = folder.file(if bisected.is_some() { bisection::PAGE } else { INDEX });
    folder.finish()?;
    Ok(first)
}

/// The page to open first.
const INDEX: &str = "index.html";

/// File name of a step's page. Names of steps come from users' files and may contain anything.
fn page_name(step: &StepFacts) -> String {
    format!("step-{}.html", file_name(&step.name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fixture::{self, Shape};
    use crate::write_pages as write_all;

    const LARGEST_PAGE: u64 = 3_000_000;
    const LARGEST_REPORT: u64 = 25_000_000;

    fn page_sizes(shape: Shape) -> Vec<u64> {
        let (experiment, trials) = fixture::synthetic(shape);
        let directory = tempfile::tempdir().unwrap();
        write_all(&experiment, &trials, &Options::default(), directory.path()).unwrap();
        let files = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap());
        files
            .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "html"))
            .map(|entry| entry.metadata().unwrap().len())
            .collect()
    }

    #[test]
    fn pages_of_a_large_experiment_stay_small() {
        for (steps, clients) in [(&["l.i1", "qr1000"][..], 1), (&["qr1000"], 20)] {
            let sizes = page_sizes(Shape { candidates: 20, steps, seconds: 1800, clients });
            assert_eq!(sizes.len(), steps.len() + 1);
            assert!(sizes.iter().all(|size| *size < LARGEST_PAGE), "{clients} clients: {sizes:?}");
        }
    }

    #[test]
    fn all_pages_of_a_large_experiment_together_stay_small() {
        let (experiment, trials) = fixture::microbenchmarks(12, &fixture::longest_list(), 900);
        let directory = tempfile::tempdir().unwrap();
        write_all(&experiment, &trials, &Options::default(), directory.path()).unwrap();
        let sizes =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
        let whole: u64 = sizes.sum();
        assert!(whole < LARGEST_REPORT, "{whole} bytes");
    }

    #[test]
    fn pages_are_whole_escaped_and_offline() {
        let (experiment, trials) = fixture::sample();
        let directory = tempfile::tempdir().unwrap();
        let index = write_all(&experiment, &trials, &Options::default(), directory.path()).unwrap();
        assert_eq!(index, directory.path().join("index.html"));
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        let index = read("index.html");
        assert!(index.contains("demo &lt;1&gt;") && !index.contains("<b>giving up"), "names are escaped");
        assert!(index.contains("&lt;b&gt;giving up"), "the log tail is there");
        assert!(index.contains("pi1 rows"), "the failed check is there");
        assert!(index.contains("-Os"), "the note on toolchains is there");
        for step in &experiment.steps {
            let name = page_name(step);
            assert!(index.contains(&name), "{name} is linked");
            let page = read(&name);
            assert!(page.contains("<noscript>") && page.contains("assets/charts.js"), "{name}");
            assert!(
                !page.contains("http://") && !page.contains("https://"),
                "{name} asks for nothing from outside"
            );
        }
        assert!(!index.contains("http://") && !index.contains("https://"));
        assert!(read("assets/uplot/LICENSE").contains("MIT"));
    }

    #[test]
    fn workload_files_have_an_overview_that_links_every_step() {
        let many = fixture::microbenchmarks(12, &fixture::LIST, 2);
        let sweep = fixture::sweep(3, &[1, 8, 64], 2);
        for (experiment, trials) in [many, sweep] {
            let directory = tempfile::tempdir().unwrap();
            write_all(&experiment, &trials, &Options::default(), directory.path()).unwrap();
            let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
            let index = read("index.html");
            let is_sweep = experiment.groups.is_empty();
            assert_eq!(
                index.contains("\"kind\":\"threads\""),
                is_sweep,
                "sweeps have charts, others no script"
            );
            assert_eq!(index.contains("assets/charts.js"), is_sweep);
            for step in &experiment.steps {
                let page = read(&page_name(step));
                assert!(index.contains(&page_name(step)) && page.contains(metrics::PAGE), "{}", step.label);
            }
            assert!(read(metrics::PAGE).contains("cpu/o"));
        }
    }

    #[test]
    fn the_same_rounds_give_the_same_pages() {
        let (experiment, trials) = fixture::in_rounds();
        let pages = || -> Vec<(String, String)> {
            let directory = tempfile::tempdir().unwrap();
            write_all(&experiment, &trials, &Options::default(), directory.path()).unwrap();
            let files = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
            let mut pages: Vec<(String, String)> = files
                .filter(|path| path.is_file())
                .map(|path| {
                    let name = path.file_name().unwrap().to_string_lossy().into_owned();
                    (name, fs::read_to_string(path).unwrap())
                })
                .collect();
            pages.sort();
            pages
        };
        let first = pages();
        assert_eq!(first, pages());
        let page = |name: &str| &first.iter().find(|(file, _)| file == name).unwrap().1;
        assert!(
            page("index.html").contains("svg class=\"loss\"") && page("index.html").contains(method::PAGE)
        );
        assert!(page("step-point-query_range=100.html").contains("round by round"));
        assert!(page(method::PAGE).contains("seed 4711") && !page(method::PAGE).contains("http"));
    }

    #[test]
    fn an_experiment_without_any_trial_has_pages() {
        let (experiment, _) = fixture::sample();
        let directory = tempfile::tempdir().unwrap();
        write_all(&experiment, &[], &Options::default(), directory.path()).unwrap();
    }

    #[test]
    fn errors_name_the_file_and_a_remedy() {
        let (experiment, trials) = fixture::sample();
        let file = tempfile::NamedTempFile::new().unwrap();
        let error =
            write_all(&experiment, &trials, &Options::default(), file.path()).unwrap_err().to_string();
        assert!(error.contains(&file.path().display().to_string()) && error.contains("hint: "), "{error}");
    }

    #[test]
    fn names_of_steps_cannot_leave_the_directory() {
        let step = StepFacts { name: "../a b".into(), ..fixture::step("l.i0") };
        assert_eq!(page_name(&step), "step-..~2fa~20b.html");
    }
}
