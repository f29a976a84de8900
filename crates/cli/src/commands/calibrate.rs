//! `calibrate`: which changes this machine can detect.

use anyhow::{Result, bail};
use basecase_analysis::Stored;
use basecase_lab::{Calibration, CpuStressors, RunOptions, luck_request};
use basecase_model::Trial;

use super::experiment::{request, request_with_seed};
use super::perform::{measure, report_options};
use super::{dry_run, fleet};
use crate::Outcome;
use crate::arguments::{Calibrate, PlaceArguments};
use crate::output;
use crate::reporter::{Part, Reporter};

/// Rounds in which a candidate is compared with itself.
const LUCK_ROUNDS: u32 = 10;

pub(crate) fn run(arguments: &Calibrate, reporter: &Reporter) -> Result<Outcome> {
    dry_run::refuse(&arguments.compare.places, "calibrate")?;
    fleet::refuse(&arguments.compare.places, "calibrate")?;
    if arguments.luck {
        return luck(arguments, reporter);
    }
    let repeats = repeats(arguments)?;
    let places = &arguments.compare.places;
    let _stressors = CpuStressors::start(arguments.hogs)?;
    let options = report_options(places);
    let Some(first) = repeats.first() else { return Ok(Outcome::Done) };
    let probe = spins(first, places, reporter)?;
    let mut runs: Vec<Stored> = Vec::with_capacity(repeats.len());
    let mut worst = Outcome::Done;
    for (number, calibration) in repeats.iter().enumerate() {
        let planted = calibration.planted(&probe, &arguments.slowdowns, arguments.copies.into())?;
        let mut places = places.clone();
        if repeats.len() > 1 {
            reporter.part(&Part::Calibration { number: number + 1, of: repeats.len() });
            places.out.push((number + 1).to_string());
        }
        let measured = measure(&planted, &places, RunOptions::default(), reporter)?;
        measured.write_pages(&options, &places, reporter)?;
        worst = worst.max(measured.summarize(&places, reporter));
        runs.push((measured.experiment, measured.trials));
        if basecase_stop::is_asked() {
            break;
        }
    }
    output::print_report(&basecase_report::calibration(&runs).text(options.ansi))?;
    Ok(worst)
}

/// Measures a candidate against itself, and tells where the scatter comes from. Half of the rounds begin with data of their own.
fn luck(arguments: &Calibrate, reporter: &Reporter) -> Result<Outcome> {
    let (asked, rounds) = luck_request(request(&arguments.compare)?, LUCK_ROUNDS)?;
    let mut places = arguments.compare.places.clone();
    places.loads = places.loads.max(rounds.div_ceil(2));
    let measured = measure(&asked, &places, RunOptions::default(), reporter)?;
    let options = report_options(&places);
    measured.write_pages(&options, &places, reporter)?;
    let outcome = measured.summarize(&places, reporter);
    let document = basecase_report::components(&measured.experiment, &measured.trials);
    output::print_report(&document.text(options.ansi))?;
    Ok(outcome)
}

/// The calibration of each repetition.
fn repeats(arguments: &Calibrate) -> Result<Vec<Calibration>> {
    let first = request(&arguments.compare)?.workload.seed();
    let calibration = |number: u64| {
        let seed = if number == 0 { arguments.compare.seed } else { Some(first.wrapping_add(number)) };
        let mut request = request_with_seed(&arguments.compare, seed)?;
        if request.workload.seed() != first.wrapping_add(number) {
            bail!(
                "--repeat needs a different seed for each repetition, but --option sets the same for all\nhint: set the first seed with --seed"
            );
        }
        request.protocol = request.protocol.in_rounds();
        Calibration::new(request)
    };
    (0..arguments.repeat.into()).map(calibration).collect()
}

/// Trials that measure how long a spin takes.
fn spins(calibration: &Calibration, places: &PlaceArguments, reporter: &Reporter) -> Result<Vec<Trial>> {
    let options = RunOptions { most_rounds: Some(1), ..RunOptions::default() };
    Ok(measure(&calibration.probe(), places, options, reporter)?.trials)
}
