//! `calibrate`: what this machine can tell.

use std::sync::atomic::AtomicBool;

use anyhow::Result;
use basecase_lab::{Calibration, Hogs, RunOptions};
use basecase_report::Options;

use super::experiment::request;
use super::perform::{Measured, measure};
use crate::Outcome;
use crate::arguments::Calibrate;
use crate::output;

pub(crate) fn run(arguments: &Calibrate, stop: &AtomicBool) -> Result<Outcome> {
    let mut request = request(&arguments.compare)?;
    request.protocol = request.protocol.in_rounds();
    let places = &arguments.compare.places;
    let calibration = Calibration::new(request)?;
    let _hogs = Hogs::start(arguments.hogs)?;
    let probe = measure(
        &calibration.probe(),
        places,
        RunOptions { most_rounds: Some(1), ..RunOptions::default() },
        stop,
    )?;
    let planted = calibration.planted(&probe.trials, &arguments.slowdowns, arguments.copies.into())?;
    let measured = measure(&planted, places, RunOptions::default(), stop)?;
    let Measured { experiment, trials, .. } = &measured;
    let options = Options { ansi: output::may_colour(), ..Options::default() };
    output::print(&basecase_report::calibration(experiment, trials, &options))?;
    measured.write_pages(&options, places)?;
    Ok(measured.tell(places))
}
