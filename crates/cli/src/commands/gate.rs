//! `gate`: a comparison in rounds whose exit code tells whether something got slower, or needs more work.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use basecase_analysis::{Counts, Gate as Verdicts, Results, Rounds};
use basecase_lab::RunOptions;
use basecase_report::{Options, gate_summary, junit};

use super::experiment::request;
use super::perform::{Measured, measure, report_options, text_format};
use super::{dry_run, fleet};
use crate::Outcome;
use crate::arguments::Gate;
use crate::output;
use crate::reporter::Reporter;

pub(crate) fn run(arguments: &Gate, reporter: &Reporter) -> Result<Outcome> {
    let mut request = request(&arguments.compare)?;
    request.protocol = request.protocol.in_rounds();
    if let Some(note) = request.take_merge_base()? {
        reporter.note(&note);
    }
    let places = &arguments.compare.places;
    fleet::refuse(places, "gate")?;
    if places.dry_run {
        return dry_run::show(&request, places, &RunOptions::default(), reporter);
    }
    for file in [&arguments.junit, &arguments.summary].into_iter().flatten() {
        try_to_write(file)?;
    }
    let measured = measure(&request, places, RunOptions::default(), reporter)?;
    let Measured { experiment, trials, counted, .. } = &measured;
    let rounds = Rounds::of(experiment, trials);
    let counts = Counts::of(experiment, counted);
    let results = Results::of(experiment, trials, rounds.as_ref()).counting(counts.as_ref());
    let verdicts = Verdicts::of(&results);
    // Decided before anything is written: a failed write must not hide a regression.
    let verdict = match (verdicts.worse(), verdicts.failed()) {
        (0, 0) => Outcome::Done,
        (0, _) => Outcome::CouldNotRun,
        _ => Outcome::Regression,
    };
    let written = write_files(arguments, &results, &verdicts);
    let options = Options { counted: counted.clone(), ..report_options(places) };
    let format = text_format(places);
    if let Err(error) = output::print_report(&basecase_report::render(experiment, trials, format, &options)) {
        reporter.error(&error);
    }
    let pages = measured.write_pages(&options, places, reporter);
    reporter.verdicts(&verdicts);
    let mut outcome = measured.summarize(places, reporter).max(verdict);
    for error in [written, pages].into_iter().filter_map(Result::err) {
        reporter.error(&error);
        outcome = outcome.max(Outcome::CouldNotRun);
    }
    Ok(outcome)
}

/// Writes the files for a pipeline. If one fails, the other is still written.
fn write_files(arguments: &Gate, results: &Results<'_>, verdicts: &Verdicts<'_>) -> Result<()> {
    let history = arguments.compare.places.history.as_deref();
    let junit = write(arguments.junit.as_deref(), &junit(verdicts));
    let summary = write(arguments.summary.as_deref(), &gate_summary(results, history));
    junit.and(summary)
}

fn write(file: Option<&Path>, text: &str) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, text).with_context(|| {
        format!("cannot write {}\nhint: check free space and permissions of its folder", file.display())
    })
}

/// Checks before hours of work that a file can be written, without changing its content.
fn try_to_write(file: &Path) -> Result<()> {
    File::options()
        .append(true)
        .create(true)
        .open(file)
        .map(|_| ())
        .with_context(|| format!("cannot write {}\nhint: name a file in an existing folder", file.display()))
}
