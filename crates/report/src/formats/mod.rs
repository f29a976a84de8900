//! One file or folder for each format of the report, and the list of them.

mod blog;
mod bmf;
mod csv;
mod gate_summary;
mod html;
mod json;
mod junit;
mod markdown;
mod otava;
mod text;

use std::path::{Path, PathBuf};

use basecase_analysis::{Gate, Results};

use crate::error::Error;
use crate::export::Export;
use crate::options::Options;

pub(crate) use gate_summary::render as gate_summary;
pub(crate) use html::{
    file_name, fleet_folder_of, history_address, write_bisection, write_fleet, write_history, write_pages,
};
pub(crate) use json::bisection::render as bisection_json;
pub(crate) use json::dry_run::render as dry_run_json;
pub(crate) use json::fleet::render as fleet_json;
pub(crate) use json::history::render as history_json;
pub(crate) use junit::render as junit;
pub(crate) use markdown::render as markdown;
pub(crate) use otava::render_history as otava_history;
pub(crate) use text::{narrow as narrow_text, render as text};

/// Every format, in the order in which users see them listed.
pub static FORMATS: &[Format] = &[
    Format::Pages(html::FORMAT),
    Format::Text(text::FORMAT),
    Format::Text(text::ANSWER),
    Format::Text(markdown::FORMAT),
    Format::Text(blog::FORMAT),
    Format::Text(csv::FORMAT),
    Format::Text(json::FORMAT),
    Format::Verdicts(junit::FORMAT),
    Format::Export(bmf::FORMAT),
    Format::Export(otava::FORMAT),
];

/// A format of the report, by its kind of output.
#[derive(Debug, Clone, Copy)]
pub enum Format {
    /// The whole report as one text.
    Text(TextFormat),
    /// The verdicts of an experiment in rounds as one text, for pipelines.
    Verdicts(VerdictFormat),
    /// What another program reads, which may leave something out.
    Export(ExportFormat),
    /// A folder of pages.
    Pages(PageFormat),
}

/// A format that produces one text.
#[derive(Debug, Clone, Copy)]
pub struct TextFormat {
    /// Its name on the command line.
    pub name: &'static str,
    pub(crate) render: fn(&Results<'_>, &Options) -> String,
}

/// A format of verdicts.
#[derive(Debug, Clone, Copy)]
pub struct VerdictFormat {
    /// Its name on the command line.
    pub name: &'static str,
    pub(crate) render: fn(&Gate<'_>) -> String,
}

/// A format of another program.
#[derive(Debug, Clone, Copy)]
pub struct ExportFormat {
    /// Its name on the command line.
    pub name: &'static str,
    pub(crate) render: fn(&Results<'_>) -> Result<Export, Error>,
}

/// A format that produces a folder.
#[derive(Debug, Clone, Copy)]
pub struct PageFormat {
    /// Its name on the command line.
    pub name: &'static str,
    /// Writes the folder and returns the page to open first.
    pub(crate) write: fn(&Results<'_>, &Options, &Path) -> Result<PathBuf, Error>,
}

impl Format {
    /// The format with this name.
    pub fn named(name: &str) -> Option<Format> {
        FORMATS.iter().copied().find(|format| format.name() == name)
    }

    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Format::Text(format) => format.name,
            Format::Verdicts(format) => format.name,
            Format::Export(format) => format.name,
            Format::Pages(format) => format.name,
        }
    }
}

impl TextFormat {
    /// Plain monospaced tables for a terminal.
    pub const TEXT: TextFormat = text::FORMAT;
    /// What a run ends with: sentences, and the table of what changed.
    pub const ANSWER: TextFormat = text::ANSWER;
    /// Markdown.
    pub const MARKDOWN: TextFormat = markdown::FORMAT;
    /// One JSON object.
    pub const JSON: TextFormat = json::FORMAT;

    /// The format with this name, if it produces one text.
    pub fn named(name: &str) -> Option<TextFormat> {
        match Format::named(name)? {
            Format::Text(format) => Some(format),
            Format::Verdicts(_) | Format::Export(_) | Format::Pages(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use basecase_analysis::fixture;

    use super::*;
    use crate::{Written, write};

    #[test]
    fn every_format_is_found_by_its_own_name() {
        let (experiment, trials) = fixture::in_rounds();
        let directory = tempfile::tempdir().unwrap();
        for format in FORMATS.iter().copied() {
            let found = Format::named(format.name()).unwrap();
            let written = write(&experiment, &trials, found, &Options::default(), directory.path()).unwrap();
            match (format, written) {
                (Format::Pages(_), Written::Page(page)) => assert!(page.is_file(), "{}", page.display()),
                (Format::Export(_), Written::Export(export)) => {
                    assert!(!export.text.is_empty(), "{}", format.name());
                }
                (_, Written::Text(text)) => assert!(!text.is_empty(), "{}", format.name()),
                (_, Written::Export(_)) => panic!("{} is no export", format.name()),
                (_, Written::Page(_)) => panic!("{} is no folder", format.name()),
            }
            assert_eq!(FORMATS.iter().filter(|other| other.name() == format.name()).count(), 1);
        }
    }

    /// What is printed, with the notes of an export after it.
    fn printed(written: Written) -> String {
        match written {
            Written::Text(text) => text,
            Written::Export(Export { text, notes }) => {
                notes.iter().fold(text, |text, note| format!("{text}note: {note}\n"))
            }
            Written::Page(page) => panic!("wrote {}", page.display()),
        }
    }

    /// Whole reports on every kind of experiment, one snapshot for each format.
    #[test]
    fn reports() {
        let experiments = [
            ("insert_benchmark", fixture::sample()),
            ("microbenchmarks", fixture::microbenchmarks(3, &fixture::EXCERPT, 2)),
            ("rounds", fixture::in_rounds()),
        ];
        let options = Options { steps: true, ..Options::default() };
        for (name, (experiment, trials)) in &experiments {
            for format in FORMATS.iter().copied().filter(|format| !matches!(format, Format::Pages(_))) {
                match write(experiment, trials, format, &options, Path::new("")) {
                    Ok(written) => {
                        insta::assert_snapshot!(format!("{name}_{}", format.name()), printed(written));
                    }
                    Err(error) => assert!(matches!(error, Error::NoVerdicts), "{name}: {error}"),
                }
            }
        }
    }

    /// Whole reports with counts, alone and beside times.
    #[test]
    fn reports_with_counts() {
        let (alone, counted) = fixture::counted();
        let (in_rounds, trials, beside) = fixture::counted_in_rounds();
        let experiments =
            [("counts", alone, Vec::new(), counted), ("counts_and_times", in_rounds, trials, beside)];
        for (name, experiment, trials, counted) in experiments {
            let options = Options { counted, ..Options::default() };
            for format in FORMATS.iter().copied().filter(|format| !matches!(format, Format::Pages(_))) {
                let written = write(&experiment, &trials, format, &options, Path::new("")).unwrap();
                insta::assert_snapshot!(format!("{name}_{}", format.name()), printed(written));
            }
        }
    }

    #[test]
    fn counts_without_times_have_pages_without_empty_tables_of_rates() {
        let (experiment, counted) = fixture::counted();
        let folder = tempfile::tempdir().unwrap();
        let options = Options { counted, ..Options::default() };
        write(&experiment, &[], Format::Pages(html::FORMAT), &options, folder.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let (index, step) = (read("index.html"), read("step-range-covered-pk_range=100.html"));
        assert!(index.contains("3 of 10 steps need more work") && !index.contains("queries/s"), "{index}");
        assert!(index.contains("__strcmp_avx2 by 20,114"), "luck is named");
        assert!(index.contains("valgrind-3.19.0") && index.contains("the step ended before a window began"));
        assert!(
            step.contains("checksum_impl.h:187") && step.contains("<rect") && !step.contains("Throughput"),
            "{step}"
        );
        assert!(!folder.path().join("metrics.html").exists());
    }

    #[test]
    fn verdicts_of_single_runs_are_refused() {
        let (experiment, trials) = fixture::sample();
        let junit = Format::named("junit").unwrap();
        let refusal = write(&experiment, &trials, junit, &Options::default(), Path::new("")).unwrap_err();
        assert!(refusal.to_string().contains("has no verdicts\nhint: "), "{refusal}");
    }
}
