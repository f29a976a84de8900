//! `gate`: a comparison in rounds whose exit code says whether something got slower.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use basecase_lab::RunOptions;
use basecase_report::{Format, Gate as Verdicts, Options};

use super::experiment::request;
use super::perform::{Measured, measure};
use crate::Outcome;
use crate::arguments::Gate;
use crate::output;

pub(crate) fn run(arguments: &Gate, stop: &AtomicBool) -> Result<Outcome> {
    let mut request = request(&arguments.compare)?;
    request.protocol = request.protocol.in_rounds();
    let places = &arguments.compare.places;
    let measured = measure(&request, places, RunOptions::default(), stop)?;
    let Measured { experiment, trials, .. } = &measured;
    let options = Options { ansi: output::may_colour() && !places.json, ..Options::default() };
    basecase_report::write_pages(experiment, trials, &options, &places.out)?;
    let verdicts = Verdicts::new(experiment, trials);
    for (file, text) in [(&arguments.junit, verdicts.junit()), (&arguments.summary, verdicts.summary())] {
        if let Some(file) = file {
            write(file, &text)?;
        }
    }
    let format = if places.json { Format::Json } else { Format::Text };
    output::print(&basecase_report::render(experiment, trials, format, &options))?;
    output::complain(&verdicts.headline());
    Ok(match measured.tell(places) {
        Outcome::Done if verdicts.regressions() > 0 => Outcome::Regression,
        outcome => outcome,
    })
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| {
        format!("cannot write {}\nhint: name a file in a folder that there is", file.display())
    })
}
