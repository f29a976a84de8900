//! Documents, tables and charts of the findings of `analysis`.
//!
//! It is pure: an [`Experiment`] and its trials go in, text or files come out. Every number comes from `basecase_analysis`. `words` and
//! `tables` express it, `documents` arrange it, and `formats` write it.

mod axis;
mod charts;
mod document;
mod documents;
mod error;
mod export;
mod formats;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod invented;
mod options;
mod raw;
mod tables;
mod words;

use std::path::{Path, PathBuf};

use basecase_analysis::{
    Basis, Bisected, CalibrationRun, Counted, Counts, DryRun, Fleet, Gate, JudgedExperiment, Results, Rounds,
    SettingEffect, Stored, Thresholds, VersionHistory,
};
use basecase_model::{Experiment, Trial, TriedSetting};
use basecase_stats::JudgementError;
use rayon::prelude::*;

#[doc(hidden)]
pub use basecase_analysis::fixture;
pub use document::{Answer, Document};
pub use documents::kept_apart;
pub use error::Error;
pub use export::Export;
pub use formats::{ExportFormat, FORMATS, Format, PageFormat, TextFormat, VerdictFormat};
pub use options::Options;
pub use words::{brief_reason, duration, headline, nodes_left_out};

/// The report as one text.
///
/// Of several trials of one candidate and step, the newest complete one counts, else the newest failed one; `trials` must be in the
/// order in which they were run. In an experiment in rounds, all complete ones count.
pub fn render(experiment: &Experiment, trials: &[Trial], format: TextFormat, options: &Options) -> String {
    with_results((experiment, trials), options, |results| (format.render)(results, options))
}

/// A report in one of the formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// This text.
    Text(String),
    /// What another program reads.
    Export(Export),
    /// A folder; this page is the one to open first.
    Page(PathBuf),
}

/// Writes the report in any format. A format of pages writes them into the folder `out`, as in [`write_pages`].
///
/// # Errors
/// When the folder or a file in it cannot be written, when a format of verdicts is requested for an experiment that is not in rounds, or when
/// there is nothing to export.
pub fn write(
    experiment: &Experiment,
    trials: &[Trial],
    format: Format,
    options: &Options,
    out: &Path,
) -> Result<Written, Error> {
    with_results((experiment, trials), options, |results| match format {
        Format::Text(format) => Ok(Written::Text((format.render)(results, options))),
        Format::Verdicts(_) if results.rounds.is_none() && results.counts.is_none() => Err(Error::NoVerdicts),
        Format::Verdicts(format) => Ok(Written::Text((format.render)(&Gate::of(results)))),
        Format::Export(format) => Ok(Written::Export((format.render)(results)?)),
        Format::Pages(format) => Ok(Written::Page((format.write)(results, options, out)?)),
    })
}

/// Does `work` with the results of an experiment and its trials.
fn with_results<T>(
    (experiment, trials): (&Experiment, &[Trial]),
    options: &Options,
    work: impl FnOnce(&Results<'_>) -> T,
) -> T {
    let rounds = Rounds::of(experiment, trials);
    let counts = Counts::of(experiment, &options.counted);
    let results = Results::of(experiment, trials, rounds.as_ref());
    work(&results.knowing(&options.noise).counting(counts.as_ref()))
}

/// Writes what every complete trial counted, the levels at its end, and the settings of the running servers into `folder`, as lines of a
/// name, a tab and a value. Returns the number of files.
///
/// # Errors
/// When a folder or file cannot be written.
pub fn write_raw(experiment: &Experiment, trials: &[Trial], folder: &Path) -> Result<usize, Error> {
    raw::write(experiment, trials, folder)
}

/// Where the time went: what changed along with the speed of a cell, likeliest cause first.
///
/// `wanted` is the name or label of a step, whose cells are all explained; `CANDIDATE/STEP`; or the key of a cell, or an unambiguous prefix of
/// at least 6 digits. Without it, all changed cells are explained, largest loss first: in rounds those with a verdict of a change, else
/// those beyond the thresholds; with counts also those whose work changed, before the others.
///
/// # Errors
/// When there is no such cell, or nothing to explain.
pub fn explain(
    experiment: &Experiment,
    trials: &[Trial],
    wanted: Option<&str>,
    thresholds: Thresholds,
    counted: &Counted,
) -> Result<Document, Error> {
    let rounds = Rounds::of(experiment, trials);
    let counts = Counts::of(experiment, counted);
    let results = Results::of(experiment, trials, rounds.as_ref()).counting(counts.as_ref());
    Ok(Document::new(documents::explanation(&results, wanted, thresholds)?))
}

/// What is left of a change on the step of this name once one setting is as `tried` says, by an experiment with base case, contender and the
/// contender with the setting.
///
/// # Errors
/// When a trial holds impossible values.
pub fn setting_effect(
    experiment: &Experiment,
    trials: &[Trial],
    tried: &TriedSetting,
    step: &str,
) -> Result<Document, JudgementError> {
    let effect = SettingEffect::of(experiment, trials, step)?;
    Ok(Document::new(documents::setting_effect(experiment, effect.as_ref(), tried, step)))
}

/// At which candidates, in order, the throughput and the counted work of steps changed, each change named by the version where it began.
/// `wanted` is the name or label of a step; without it, all steps are analysed together. With `others`, versions are the candidates of all these
/// experiments with the base case of the chosen one, or a base case that it replaced, in order of date; each has its counts beside it.
///
/// # Errors
/// An unknown step, a single candidate, no step measured on two candidates, or dates for an experiment that is not in rounds.
pub fn history(
    chosen: &JudgedExperiment,
    others: Option<&[JudgedExperiment]>,
    wanted: Option<&str>,
) -> Result<Answer, Error> {
    with_history(chosen, others, wanted, |found| Ok(history_answer(found)))
}

/// The same, and writes it as a folder of pages that work offline. Returns the path of the page to open first as well.
///
/// Creates `out_dir` if it is missing. Pages of an earlier history or report in it are replaced or removed, and what did not change is not
/// written again.
///
/// # Errors
/// As of [`history`]; when `out_dir` holds only files of others, or a file in it cannot be written.
pub fn write_history(
    chosen: &JudgedExperiment,
    others: Option<&[JudgedExperiment]>,
    wanted: Option<&str>,
    out_dir: &Path,
) -> Result<(Answer, PathBuf), Error> {
    with_history(chosen, others, wanted, |found| {
        Ok((history_answer(found), formats::write_history(found, out_dir)?))
    })
}

/// The same as a series that Apache Otava reads: a row for each version, with its throughput relative to the base case and its counted work.
///
/// # Errors
/// As of [`history`]; when there is nothing to export.
pub fn export_history(
    chosen: &JudgedExperiment,
    others: Option<&[JudgedExperiment]>,
    wanted: Option<&str>,
) -> Result<Export, Error> {
    with_history(chosen, others, wanted, formats::otava_history)
}

fn history_answer(found: &VersionHistory<'_>) -> Answer {
    let document = Document::new(documents::history::compose(found));
    Answer { document, json: formats::history_json(found) }
}

/// Does `work` with the history of an experiment.
fn with_history<T>(
    chosen: &JudgedExperiment,
    others: Option<&[JudgedExperiment]>,
    wanted: Option<&str>,
    work: impl FnOnce(&VersionHistory<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let own = chosen.basis();
    let others: Option<Vec<Basis<'_>>> =
        others.map(|others| others.par_iter().map(JudgedExperiment::basis).collect());
    let others: Option<Vec<Results<'_>>> =
        others.as_ref().map(|others| others.par_iter().map(Basis::results).collect());
    work(&VersionHistory::of(&own.results(), others.as_deref(), wanted)?)
}

/// What several machines found together.
pub fn fleet(fleet: &Fleet<'_>) -> Answer {
    Answer { document: Document::narrow(documents::fleet::compose(fleet)), json: formats::fleet_json(fleet) }
}

/// What the nodes of each kind of machine found, a sentence for each contender.
pub fn fleet_sentences(fleet: &Fleet<'_>) -> Vec<String> {
    fleet.kinds.iter().flat_map(words::fleet_sentences).collect()
}

/// The same as a folder of pages that work offline: one for all nodes, and below it the report of each node. Returns the path of the page to
/// open first.
///
/// # Errors
/// When `out_dir` holds only files of others, or a file in it cannot be written.
pub fn write_fleet(fleet: &Fleet<'_>, options: &Options, out_dir: &Path) -> Result<PathBuf, Error> {
    let page = formats::write_fleet(fleet, out_dir)?;
    for member in fleet.kinds.iter().flat_map(|kind| &kind.members) {
        let folder = out_dir.join(formats::fleet_folder_of(member.number));
        write_pages(member.experiment, member.trials, options, &folder)?;
    }
    Ok(page)
}

/// The result of a bisection: the candidate at which a step changed.
pub fn bisection(bisected: &Bisected<'_>) -> Answer {
    let document = Document::narrow(documents::bisection::compose(bisected));
    Answer { document, json: formats::bisection_json(bisected) }
}

/// What a run would measure, how long it would take, and what it needs of the machine; `counts` is what it would count after that.
pub fn dry_run(dry_run: &DryRun, counts: Option<&DryRun>) -> Answer {
    let document = Document::narrow(documents::dry_run(dry_run, counts));
    Answer { document, json: formats::dry_run_json(dry_run, counts) }
}

/// Writes the result of a bisection as the page `bisection.html` and as a bug report, `bisection.md`, beside the pages of its last probe, an
/// experiment with its trials, as in [`write_pages`]. Returns the path of the page.
///
/// # Errors
/// When the directory or a file in it cannot be written.
pub fn write_bisection(
    bisected: &Bisected<'_>,
    last_probe: (&Experiment, &[Trial]),
    options: &Options,
    out_dir: &Path,
) -> Result<PathBuf, Error> {
    with_results(last_probe, options, |results| formats::write_bisection(results, options, bisected, out_dir))
}

/// Planted slowdowns and what was found; empty if nothing was planted. `runs` are calibrations of the same steps and slowdowns with
/// their trials, counted together.
pub fn calibration(runs: &[Stored]) -> Document {
    let rounds =
        runs.iter().filter_map(|(experiment, trials)| Some((experiment, Rounds::of(experiment, trials)?)));
    let rounds: Vec<(&Experiment, Rounds<'_>)> = rounds.collect();
    let runs: Vec<CalibrationRun<'_>> =
        rounds.iter().map(|(experiment, rounds)| CalibrationRun { experiment, rounds }).collect();
    Document::new(documents::calibration(&runs))
}

/// Where the scatter of a candidate that was compared with itself comes from: passes, sessions, starts and loads.
pub fn components(experiment: &Experiment, trials: &[Trial]) -> Document {
    Document::new(documents::components(experiment, trials))
}

/// The verdicts as JUnit test cases: a regression is a failure, a failed trial an error, and an undecided step skipped.
pub fn junit(gate: &Gate<'_>) -> String {
    formats::junit(gate)
}

/// A summary of the verdicts in Markdown, e.g. for a pull request: failures, changes and undecided steps first, then warnings, the rest
/// folded away. Steps link to their histories if those are published at `history`.
pub fn gate_summary(results: &Results<'_>, history: Option<&str>) -> String {
    formats::gate_summary(results, history)
}

/// Writes the report as a directory of HTML pages that work offline, and returns the path of its `index.html`.
///
/// Creates `out_dir` if it is missing. Files of an earlier report in it are replaced or removed, others are left alone.
///
/// # Errors
/// When the directory or a file in it cannot be written.
pub fn write_pages(
    experiment: &Experiment,
    trials: &[Trial],
    options: &Options,
    out_dir: &Path,
) -> Result<PathBuf, Error> {
    with_results((experiment, trials), options, |results| formats::write_pages(results, options, out_dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decided_in_rounds_is_explained() {
        let (experiment, trials) = fixture::in_rounds();
        let thresholds = Options::default().thresholds;
        insta::assert_snapshot!(
            explain(&experiment, &trials, None, thresholds, &Counted::default()).unwrap().text(false)
        );
        let first: Vec<Trial> = trials.into_iter().filter(|trial| trial.place.round == 0).collect();
        let refusal =
            explain(&experiment, &first, None, thresholds, &Counted::default()).err().unwrap().to_string();
        assert!(refusal.contains("nothing to explain") && refusal.contains("hint: "), "{refusal}");
    }

    #[test]
    fn what_was_counted_is_explained_first() {
        let thresholds = Options::default().thresholds;
        let (experiment, counted) = fixture::counted();
        let explained =
            |wanted| explain(&experiment, &[], wanted, thresholds, &counted).map(|found| found.text(false));
        let (all, luck) = (explained(None).unwrap(), explained(Some("read-only-distinct")).unwrap());
        assert_eq!(all.matches("A count does not see").count(), 4, "{all}");
        insta::assert_snapshot!(explained(Some("range-covered-pk")).unwrap());
        assert!(
            luck.contains(
                "Luck, not the version: between sessions of one candidate differ __strcmp_avx2 by 20,114"
            ),
            "{luck}"
        );
        let (experiment, trials, counted) = fixture::counted_in_rounds();
        let both =
            explain(&experiment, &trials, Some("point-query"), thresholds, &counted).unwrap().text(false);
        let (work, costs) =
            (both.find("2.1 % more work").unwrap(), both.find("What a count does not see").unwrap());
        assert!(work < costs && both.contains("so the work explains a part of it"), "{both}");
    }

    #[test]
    fn nothing_to_report_is_no_error() {
        let (mut experiment, trials) = fixture::sample();
        let directory = tempfile::tempdir().unwrap();
        let texts = |experiment: &Experiment, trials: &[Trial], options: &Options| {
            for format in FORMATS
                .iter()
                .copied()
                .filter(|format| !matches!(format, Format::Verdicts(_) | Format::Export(_)))
            {
                let written = write(experiment, trials, format, options, directory.path()).unwrap();
                assert_ne!(written, Written::Text(String::new()), "{}", format.name());
            }
        };
        texts(&experiment, &[], &Options::default());
        experiment.candidates.clear();
        texts(&experiment, &trials, &Options { steps: true, ..Options::default() });
    }
}
