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

use basecase_analysis::{
    Bisected, CalibrationRun, Gate, Results, Rounds, Stored, Thresholds, VersionHistory,
};
use basecase_model::{Experiment, Trial};

#[doc(hidden)]
pub use basecase_analysis::fixture;
pub use documents::{Answer, Document, kept_apart};
pub use error::Error;
pub use formats::{FORMATS, Format, PageFormat, TextFormat, VerdictFormat};
pub use options::Options;
pub use words::headline;

/// The report as one text.
///
/// Of several trials of one candidate and step the newest complete one counts, else the newest failed one; `trials`
/// are taken to be in the order in which they were run. Of an experiment in rounds all complete ones count together.
pub fn render(experiment: &Experiment, trials: &[Trial], format: TextFormat, options: &Options) -> String {
    let rounds = Rounds::of(experiment, trials);
    let results = Results::of(experiment, trials, rounds.as_ref()).knowing(&options.noise);
    (format.render)(&results, options)
}

/// A report in one of the formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It is this text.
    Text(String),
    /// It is a folder, of which this page is opened first.
    Page(PathBuf),
}

/// The report in any format. `out` is the folder of one that is a folder, as in [`write_pages`].
///
/// # Errors
/// When the folder or a file in it cannot be written; and where a format of verdicts is wanted of an experiment that is not in rounds.
pub fn write(
    experiment: &Experiment,
    trials: &[Trial],
    format: Format,
    options: &Options,
    out: &Path,
) -> Result<Written, Error> {
    let rounds = Rounds::of(experiment, trials);
    let results = Results::of(experiment, trials, rounds.as_ref()).knowing(&options.noise);
    match format {
        Format::Text(format) => Ok(Written::Text((format.render)(&results, options))),
        Format::Verdicts(_) if rounds.is_none() => Err(Error::NoVerdicts),
        Format::Verdicts(format) => Ok(Written::Text((format.render)(&Gate::of(&results)))),
        Format::Pages(format) => Ok(Written::Page((format.write)(&results, options, out)?)),
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
    thresholds: Thresholds,
) -> Result<Document, Error> {
    let rounds = Rounds::of(experiment, trials);
    let results = Results::of(experiment, trials, rounds.as_ref());
    Ok(Document(documents::explanation(&results, wanted, thresholds)?))
}

/// At which of the candidates, in their order, the throughput of steps changed: change points, each named by the version where it
/// began. `wanted` is the name or label of a step; without it all steps are looked at together. With `others`, the candidates of all of
/// these experiments that have the base case of the chosen one, or one whose place it took, are versions, in the order of their dates.
///
/// # Errors
/// An unknown step, one candidate alone, nothing that was measured on two of them, or dates of what is not in rounds.
pub fn history(chosen: &Stored, others: Option<&[Stored]>, wanted: Option<&str>) -> Result<Answer, Error> {
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
    let document = Document(documents::history::compose(&found));
    Ok(Answer { document, json: documents::history::json(&found) })
}

/// With which of many candidates a step changed, as a search among them found it.
pub fn bisection(bisected: &Bisected<'_>) -> Answer {
    let document = Document(documents::bisection::compose(bisected));
    Answer { document, json: documents::bisection::json(bisected) }
}

/// What was planted and what was found of it; empty where nothing was planted. `runs` are calibrations with their trials, of the
/// same steps and slowdowns, which are counted together.
pub fn calibration(runs: &[Stored]) -> Document {
    let rounds =
        runs.iter().filter_map(|(experiment, trials)| Some((experiment, Rounds::of(experiment, trials)?)));
    let rounds: Vec<(&Experiment, Rounds<'_>)> = rounds.collect();
    let runs: Vec<CalibrationRun<'_>> =
        rounds.iter().map(|(experiment, rounds)| CalibrationRun { experiment, rounds }).collect();
    Document(documents::calibration(&runs))
}

/// The verdicts as JUnit test cases: a decided regression is a failure, what failed is an error, what is not decided is skipped.
pub fn junit(gate: &Gate<'_>) -> String {
    formats::junit(gate)
}

/// A summary in Markdown, as for a pull request: what failed, what changed and what is not known first, the rest folded away.
pub fn gate_summary(gate: &Gate<'_>) -> String {
    formats::gate_summary(gate)
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
    formats::write_pages(&results, options, out_dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decided_in_rounds_is_explained() {
        let (experiment, trials) = fixture::in_rounds();
        let thresholds = Options::default().thresholds;
        insta::assert_snapshot!(explain(&experiment, &trials, None, thresholds).unwrap().text(false));
        let first: Vec<Trial> = trials.into_iter().filter(|trial| trial.place.round == 0).collect();
        let refusal = explain(&experiment, &first, None, thresholds).err().unwrap().to_string();
        assert!(refusal.contains("nothing to explain") && refusal.contains("hint: "), "{refusal}");
    }

    #[test]
    fn nothing_to_report_is_no_error() {
        let (mut experiment, trials) = fixture::sample();
        let directory = tempfile::tempdir().unwrap();
        let texts = |experiment: &Experiment, trials: &[Trial], options: &Options| {
            for format in FORMATS.iter().copied().filter(|format| !matches!(format, Format::Verdicts(_))) {
                let written = write(experiment, trials, format, options, directory.path()).unwrap();
                assert_ne!(written, Written::Text(String::new()), "{}", format.name());
            }
        };
        texts(&experiment, &[], &Options::default());
        experiment.candidates.clear();
        texts(&experiment, &trials, &Options { steps: true, ..Options::default() });
    }
}
