//! Documents, tables and charts out of what `analysis` found.
//!
//! Pure: an [`Experiment`] and its trials go in, text or files come out. Every number comes from `basecase_analysis`; `words` and `tables`
//! say it, `documents` put it in order, and `formats` write it.

mod charts;
mod documents;
mod error;
mod formats;
#[cfg(test)]
mod hostile;
mod options;
mod tables;
mod words;

use std::path::{Path, PathBuf};

use basecase_analysis::{Bisected, CalibrationRun, Gate, Results, Rounds, Stored, VersionHistory};
use basecase_model::{Experiment, Trial};

#[doc(hidden)]
pub use basecase_analysis::fixture;
pub use documents::kept_apart;
pub use error::Error;
pub use options::{Format, Options};
pub use words::headline;

use formats::{blog, csv, html, json, markdown, text};

/// The report as one text.
///
/// Of several trials of one candidate and step the newest complete one counts, else the newest failed one; `trials`
/// are taken to be in the order in which they were run. Of an experiment in rounds all complete ones count together.
pub fn render(experiment: &Experiment, trials: &[Trial], format: Format, options: &Options) -> String {
    let rounds = Rounds::of(experiment, trials);
    let results = Results::of(experiment, trials, rounds.as_ref()).knowing(&options.noise);
    match format {
        Format::Text => text::render(&documents::compose(&results, options), options.ansi),
        Format::Markdown => markdown::render(&documents::compose(&results, options)),
        Format::Blog => markdown::render(&blog::compose(&results, options)),
        Format::Csv => csv::render(&results),
        Format::Json => json::render(&results),
    }
}

/// Where the time went: what moved together with the speed of a cell, likeliest cause first.
///
/// `wanted` is the name or label of a step, whose cells are explained; `CANDIDATE/STEP`; or the key of a cell, or as many of its
/// first digits as tell it from others, at least 6. Without it the cells that changed are explained, those that lost most first: in rounds
/// those of which it is decided, else those beyond the thresholds.
///
/// # Errors
/// When there is no such cell, or nothing to explain.
pub fn explain(
    experiment: &Experiment,
    trials: &[Trial],
    wanted: Option<&str>,
    format: Format,
    options: &Options,
) -> Result<String, Error> {
    let rounds = Rounds::of(experiment, trials);
    let results = Results::of(experiment, trials, rounds.as_ref());
    let blocks = documents::explanation(&results, wanted, options.thresholds)?;
    Ok(written(&blocks, format, options))
}

/// At which of the candidates, in their order, the throughput of steps changed: change points, each named by the version where it
/// began. `wanted` is the name or label of a step; without it all steps are looked at together. With `others`, the candidates of all of
/// these experiments that have the base case of the chosen one, or one whose place it took, are versions, in the order of their dates.
///
/// # Errors
/// An unknown step, one candidate alone, nothing that was measured on two of them, or dates of what is not in rounds.
pub fn history(
    chosen: &Stored,
    others: Option<&[Stored]>,
    wanted: Option<&str>,
    format: Format,
    options: &Options,
) -> Result<String, Error> {
    let (experiment, trials) = chosen;
    let own = Rounds::of(experiment, trials);
    let chosen = Results::of(experiment, trials, own.as_ref());
    let rounds: Option<Vec<_>> =
        others.map(|others| others.iter().map(|(other, trials)| Rounds::of(other, trials)).collect());
    let others: Option<Vec<_>> = others.zip(rounds.as_ref()).map(|(others, rounds)| {
        let stored = others.iter().zip(rounds);
        stored.map(|((other, trials), rounds)| Results::of(other, trials, rounds.as_ref())).collect()
    });
    let found = VersionHistory::of(&chosen, others.as_deref(), wanted)?;
    Ok(match format {
        Format::Json => documents::history::json(&found),
        _ => written(&documents::history::compose(&found), format, options),
    })
}

/// With which of many candidates a step changed, as a search among them found it.
pub fn bisection(bisected: &Bisected<'_>, format: Format, options: &Options) -> String {
    match format {
        Format::Json => documents::bisection::json(bisected),
        _ => written(&documents::bisection::compose(bisected), format, options),
    }
}

/// Blocks as Markdown, or else as text.
fn written(blocks: &[documents::Block], format: Format, options: &Options) -> String {
    match format {
        Format::Markdown => markdown::render(blocks),
        _ => text::render(blocks, options.ansi),
    }
}

/// What was planted and what was found of it, as text; empty where nothing was planted. `runs` are calibrations with their trials, of the
/// same steps and slowdowns, which are counted together.
pub fn calibration(runs: &[Stored], options: &Options) -> String {
    let rounds =
        runs.iter().filter_map(|(experiment, trials)| Some((experiment, Rounds::of(experiment, trials)?)));
    let rounds: Vec<(&Experiment, Rounds<'_>)> = rounds.collect();
    let runs: Vec<CalibrationRun<'_>> =
        rounds.iter().map(|(experiment, rounds)| CalibrationRun { experiment, rounds }).collect();
    text::render(&documents::calibration(&runs), options.ansi)
}

/// The verdicts as JUnit test cases: a decided regression is a failure, what failed is an error, what is not decided is skipped.
pub fn junit(gate: &Gate<'_>) -> String {
    formats::junit::render(gate)
}

/// A summary in Markdown, as for a pull request: what failed, what changed and what is not known first, the rest folded away.
pub fn gate_summary(gate: &Gate<'_>) -> String {
    formats::gate_summary::render(gate)
}

/// Writes the report as a directory of HTML pages that work offline, and returns the path of its `index.html`.
///
/// `out_dir` is created when missing; files of an earlier report in it are replaced or removed, other files are left alone.
///
/// # Errors
/// When the directory or a file in it cannot be written.
pub fn write_pages(
    experiment: &Experiment,
    trials: &[Trial],
    options: &Options,
    out_dir: &Path,
) -> Result<PathBuf, Error> {
    let rounds = Rounds::of(experiment, trials);
    let results = Results::of(experiment, trials, rounds.as_ref()).knowing(&options.noise);
    html::write_pages(&results, options, out_dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decided_in_rounds_is_explained() {
        let (experiment, trials) = fixture::in_rounds();
        let options = Options::default();
        insta::assert_snapshot!(explain(&experiment, &trials, None, Format::Text, &options).unwrap());
        let first: Vec<Trial> = trials.into_iter().filter(|trial| trial.place.round == 0).collect();
        let refusal = explain(&experiment, &first, None, Format::Text, &options).unwrap_err().to_string();
        assert!(refusal.contains("nothing to explain") && refusal.contains("hint: "), "{refusal}");
    }

    #[test]
    fn nothing_to_report_is_no_error() {
        let (mut experiment, trials) = fixture::sample();
        for format in [Format::Text, Format::Markdown, Format::Blog, Format::Csv, Format::Json] {
            assert!(!render(&experiment, &[], format, &Options::default()).is_empty());
        }
        experiment.candidates.clear();
        let options = Options { steps: true, ..Options::default() };
        for format in [Format::Text, Format::Markdown, Format::Blog, Format::Csv, Format::Json] {
            assert!(!render(&experiment, &trials, format, &options).is_empty());
        }
        let directory = tempfile::tempdir().unwrap();
        write_pages(&experiment, &trials, &options, directory.path()).unwrap();
    }
}
