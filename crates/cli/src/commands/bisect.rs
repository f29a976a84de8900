//! `bisect`: at which of many candidates a step changed, without measuring them all.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use basecase_analysis::{Bisected, BisectedCounts, Found, Probed};
use basecase_lab::{Probe, RunOptions, Search};
use basecase_report::Options;

use super::count::request_of_counts;
use super::experiment::request;
use super::perform::{Measured, measure, report_options};
use crate::Outcome;
use crate::arguments::{Bisect, PlaceArguments};
use crate::output;
use crate::reporter::{Part, Reporter};

/// A probe that was measured.
struct Done {
    candidate: usize,
    /// The numbers of its candidates in the search.
    numbers: Vec<usize>,
    measured: Measured,
}

pub(crate) fn run(arguments: &Bisect, reporter: &Reporter) -> Result<Outcome> {
    let places = &arguments.compare.places;
    let request = if places.counts {
        let hint = "leave it out, or search by times, without --counts";
        request_of_counts(&arguments.compare, "basecase bisect --counts", hint)?
    } else {
        request(&arguments.compare)?
    };
    let mut search = Search::new(request, arguments.step.as_deref())?;
    let began = Instant::now();
    let mut probes: Vec<Done> = Vec::new();
    while let Some(Probe { candidate, numbers, request, keeps_margins }) = search.probe() {
        let left = places.budget.map(|budget| budget.saturating_sub(began.elapsed()));
        if !probes.is_empty() && left == Some(Duration::ZERO) {
            break;
        }
        reporter.part(&Part::Probe { name: &request.name, number: probes.len() + 1 });
        let step = search.step().to_owned();
        let options = if search.is_by_work() {
            RunOptions { steps: Some(BTreeSet::from([step])), ..RunOptions::default() }
        } else {
            RunOptions { only_step: Some(step), keeps_margins, ..RunOptions::default() }
        };
        let places_now = PlaceArguments { budget: left, ..places.clone() };
        let measured = measure(&request, &places_now, options, reporter)?;
        if measured.is_interrupted() {
            return Ok(measured.summarize(places, reporter));
        }
        probes.push(Done { candidate, numbers, measured });
        learn(&mut search, &probes, places)?;
    }
    conclude(&search, &probes, places, reporter)
}

/// Tells the search what the last probe came to.
fn learn(search: &mut Search, probes: &[Done], places: &PlaceArguments) -> Result<()> {
    if search.is_by_work() {
        let counts = counted(search, probes, places);
        return search.learn_counts(&counts.course(), counts.margin());
    }
    let Some(Done { measured, .. }) = probes.last() else { return Ok(()) };
    search.learn_rounds(&measured.experiment, &measured.trials)
}

/// What all probes counted.
fn counted<'a>(search: &Search, probes: &'a [Done], places: &PlaceArguments) -> BisectedCounts<'a> {
    let mut counts = BisectedCounts::new(search.candidates().len(), places.counts_detect.ln_1p());
    for Done { numbers, measured, .. } in probes {
        counts.add(search.step(), numbers, &measured.experiment, &measured.counted);
    }
    counts
}

/// Prints the answer, and writes the pages of the last probe.
fn conclude(
    search: &Search,
    probes: &[Done],
    places: &PlaceArguments,
    reporter: &Reporter,
) -> Result<Outcome> {
    let probed = |done: &Done| {
        let Measured { experiment, trials, .. } = &done.measured;
        Probed::new(done.candidate, search.step(), experiment, trials)
    };
    let found = if search.is_by_work() {
        Found::Work(counted(search, probes, places))
    } else {
        Found::Throughput(probes.iter().filter_map(probed).collect())
    };
    let bisected = Bisected {
        candidates: search.candidates(),
        label: search.label(),
        found,
        bisection: search.bisection(),
        experiment: probes.first().map(|done| &done.measured.experiment),
    };
    let printed = output::print_answer(basecase_report::bisection(&bisected), places.json);
    let Some(Done { measured: last, .. }) = probes.last() else { return printed.map(|()| Outcome::Done) };
    let options = Options { counted: last.counted.clone(), ..report_options(places) };
    let written = last.write_pages(&options, places, reporter);
    let outcome = last.summarize(places, reporter);
    printed.and(written)?;
    Ok(probes.iter().fold(outcome, |worst, done| worst.max(done.measured.outcome())))
}
