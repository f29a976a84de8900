//! `bisect`: at which of many candidates a step changed, without measuring them all.

use std::time::{Duration, Instant};

use anyhow::Result;
use basecase_analysis::{Bisected, Probed};
use basecase_lab::{Probe, RunOptions, Search};

use super::experiment::request;
use super::perform::{Measured, measure, report_options};
use crate::Outcome;
use crate::arguments::{Bisect, PlaceArguments};
use crate::output;
use crate::reporter::{Part, Reporter};

pub(crate) fn run(arguments: &Bisect, reporter: &Reporter) -> Result<Outcome> {
    let places = &arguments.compare.places;
    let mut search = Search::new(request(&arguments.compare)?, arguments.step.as_deref())?;
    let began = Instant::now();
    let mut probes: Vec<(usize, Measured)> = Vec::new();
    while let Some(Probe { candidate, request, keeps_margins }) = search.probe() {
        let left = places.budget.map(|budget| budget.saturating_sub(began.elapsed()));
        if !probes.is_empty() && left == Some(Duration::ZERO) {
            break;
        }
        reporter.part(&Part::Probe { name: &request.name, number: probes.len() + 1 });
        let only_step = Some(search.step().to_owned());
        let options = RunOptions { only_step, keeps_margins, ..RunOptions::default() };
        let places_now = PlaceArguments { budget: left, ..places.clone() };
        let measured = measure(&request, &places_now, options, reporter)?;
        if measured.is_interrupted() {
            return Ok(measured.summarize(places, reporter));
        }
        search.learn(&measured.experiment, &measured.trials)?;
        probes.push((candidate, measured));
    }
    let probed = |(candidate, measured): &(usize, Measured)| {
        Probed::new(*candidate, search.step(), &measured.experiment, &measured.trials)
    };
    let bisected = Bisected {
        candidates: search.candidates(),
        label: search.label(),
        probes: probes.iter().filter_map(probed).collect(),
        bisection: search.bisection(),
        experiment: probes.first().map(|(_, measured)| &measured.experiment),
    };
    let options = report_options(places);
    let printed = output::print_answer(basecase_report::bisection(&bisected), places.json);
    let Some((_, last)) = probes.last() else { return printed.map(|()| Outcome::Done) };
    let written = last.write_pages(&options, places, reporter);
    let outcome = last.summarize(places, reporter);
    printed.and(written)?;
    Ok(probes.iter().fold(outcome, |worst, (_, measured)| worst.max(measured.outcome())))
}
