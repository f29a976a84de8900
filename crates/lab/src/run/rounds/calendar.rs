//! The calendar of rounds that have a budget: by it the error of their interim analyses is spent.

use std::time::Instant;

use anyhow::Result;
use basecase_model::{CalendarTime, Trial, names};

use super::open_comparisons::OpenComparisons;
use crate::run::Run;
use crate::run::bench::Bench;

/// Where the calendar stood when this run began its rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calendar {
    began: Instant,
    /// What had passed by then, over all earlier runs, in seconds.
    passed_before: f64,
}

impl Calendar {
    /// Of a run that begins now.
    pub(crate) fn new(calendar_time: Option<CalendarTime>, began: Instant) -> Self {
        let passed_before = calendar_time.map_or(0.0, |calendar_time| calendar_time.passed_seconds);
        Calendar { began, passed_before }
    }

    fn passed(&self, now: Instant) -> f64 {
        self.passed_before + (now - self.began).as_secs_f64()
    }
}

impl<B: Bench> Run<'_, B> {
    /// Takes down when a trial was measured.
    pub(crate) fn date(&self, trial: &mut Trial) {
        if self.summary.experiment.calendar_time.is_some() {
            trial.gauges.set(names::CALENDAR_SECONDS, self.calendar.passed(self.bench.now()));
        }
    }

    /// Lets the calendar go on to now, or to the end of this run's budget: then nothing more is learnt in it.
    pub(super) fn pass_time(&mut self, comparisons: &mut OpenComparisons, ends: bool) -> Result<()> {
        let now = self.calendar.passed(self.bench.now());
        let Some(calendar_time) = &mut self.summary.experiment.calendar_time else { return Ok(()) };
        let end = self.options.budget.filter(|_| ends).map_or(0.0, |budget| budget.as_secs_f64());
        calendar_time.passed_seconds = now.max(self.calendar.passed_before + end);
        comparisons.set_calendar_time(*calendar_time);
        self.store.save_experiment(&self.summary.experiment)?;
        Ok(())
    }
}
