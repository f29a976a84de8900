//! Runs an experiment, or goes on with one that was cut short.

mod bench;
mod classic;
mod deployment;
#[cfg(test)]
mod fake;
mod measure;
mod resume;
mod rounds;
mod servers;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use basecase_load::{Limits, Outcome};
use basecase_model::{Measures, Observation, Place, Trial, TrialStatus};
use basecase_store::{InFlight, Store};
use basecase_workload::StepPlan;

use self::bench::{Alone, Bench, Deployment};
use self::classic::forecast::Forecast;
use self::deployment::Content;
pub use self::measure::profiling::ProfileOrder;
use self::measure::settling::unrest;
use self::resume::{AFTER_RESTART, ON_REBUILT};
use self::rounds::{quiet, slice_scheduler};
use self::servers::Servers;
use crate::message::explain;
use crate::observer::{Count, Event, Observer, Phase};
use crate::plan::{Candidate, Plan, Source};
use crate::workload::WorkloadState;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Trials that were wanted.
    pub all: usize,
    /// Trials measured now.
    pub measured: usize,
    /// Trials that were in the store before.
    pub found: usize,
    /// Trials that failed, by candidate and step.
    pub failed: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Options of one call that do not change what is measured.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Leave the data of finished candidates where it is.
    pub keep_data: bool,
    /// Take counters at both ends of a window only, and nothing in between: no plans either.
    pub looks_away: bool,
    /// Where the server's time goes is to be taken as well.
    pub profile: Option<ProfileOrder>,
    /// When no more rounds begin; one does in any case.
    pub budget: Option<Duration>,
    /// Rounds that there are to be, with those that there are; `None` is as many as it takes.
    pub most_rounds: Option<u32>,
    /// The only step, by name, that rounds are to decide; `None` is all.
    pub only_step: Option<String>,
    /// Whether rounds that were begun keep the margins that they had: those of the plan were reckoned from other rounds, which may have
    /// become more.
    pub keeps_margins: bool,
    /// Load the data again, instead of going on with what an earlier run left of it.
    pub rebuilds: bool,
}

/// Runs what of `plan` is not in `store` yet. The store must be locked for the run.
///
/// # Errors
/// When the store fails, or holds rounds that were begun otherwise. A candidate that fails is stored as failed, and the next one runs.
pub fn run(
    plan: &mut Plan,
    store: &mut Store,
    options: RunOptions,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    run_on(&mut Servers, plan, store, options, stop, observer)
}

/// The same on any bench.
fn run_on<B: Bench>(
    bench: &mut B,
    plan: &mut Plan,
    store: &mut Store,
    options: RunOptions,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    check_schedule(plan, store, &options)?;
    store.save_experiment(&plan.experiment)?;
    store.save_cells(&plan.experiment.id, &plan.cells())?;
    let observations = observations(&options);
    let mut run = Run {
        bench,
        store,
        stop,
        observer,
        summary: Summary { all: 0, measured: 0, found: 0, failed: Vec::new(), interrupted: false },
        forecast: Forecast::new(plan),
        observation: Observation::default(),
        round: 0,
        patience: quiet::LOOKS,
        most_work: plan.timing.of(slice_scheduler::MOST_WORK),
        rebuilt: BTreeSet::new(),
        unopened: BTreeSet::new(),
        options,
    };
    let mut candidates = std::mem::take(&mut plan.candidates);
    for candidate in &candidates {
        let passes = observations
            .iter()
            .filter(|observation| is_wanted(&observations, **observation, candidate))
            .count();
        // Of rounds only the loads are known in advance, and of chains nothing.
        run.summary.all += match &plan.experiment.schedule {
            None => passes * plan.steps.len(),
            Some(_) => usize::from(!plan.workload.is_chain()),
        };
        if passes < observations.len() {
            let name = &candidate.facts.name;
            run.observer.notice(Event::Note(&format!("{name} has no server that can be profiled here")));
        }
    }
    run.observer.notice(Event::ExperimentBegins { experiment: &plan.experiment, trials: run.summary.all });
    run.observation = observations[0];
    let result = match &plan.experiment.schedule {
        None => run.classic(plan, &mut candidates, &observations),
        Some(_) if plan.workload.is_chain() => run.chains(plan, &mut candidates),
        Some(_) => run.rounds(plan, &mut candidates),
    };
    plan.candidates = candidates;
    run.summary.interrupted = stop.load(Ordering::Relaxed);
    let summary = run.summary;
    result.map(|()| summary)
}

/// Refuses to go on with rounds that were begun with other margins or looks: who changes them after having seen results gives up
/// what the verdicts promise.
fn check_schedule(plan: &mut Plan, store: &Store, options: &RunOptions) -> Result<()> {
    let Some(schedule) = &mut plan.experiment.schedule else { return Ok(()) };
    if options.profile.is_some() {
        anyhow::bail!(
            "--profile: nothing is profiled in rounds, whose slices it would disturb\nhint: profile the same candidates without --detect, --rounds, --slice and --budget"
        );
    }
    let begun = store.experiment(&plan.experiment.id)?.and_then(|experiment| experiment.schedule);
    if let Some(begun) = begun.as_ref().filter(|_| options.keeps_margins) {
        (schedule.read_margin, schedule.write_margin) = (begun.read_margin, begun.write_margin);
    }
    match begun.filter(|begun| begun != schedule) {
        None => Ok(()),
        Some(begun) => anyhow::bail!(
            "these rounds were begun with margins of {:.3} % where a step reads and {:.3} % where it writes, and at most {} rounds; that is fixed before the first\nhint: give the same --detect and --rounds as then, or another --store",
            begun.read_margin * 100.0,
            begun.write_margin * 100.0,
            begun.looks.last().unwrap_or(&0)
        ),
    }
}

/// Whether a candidate's server is a process of this host that basecase started.
fn has_process(candidate: &Candidate) -> bool {
    matches!(candidate.source, Source::Build(..))
}

/// Whether a candidate is looked at like this. One without a process cannot be profiled apart.
fn is_wanted(all: &[Observation], observation: Observation, candidate: &Candidate) -> bool {
    observation != Observation::Profiled || all.len() == 1 || has_process(candidate)
}

/// How closely the steps are looked at, one time after the other that all of them run.
fn observations(options: &RunOptions) -> Vec<Observation> {
    let usual = if options.looks_away { Observation::Off } else { Observation::Usual };
    match &options.profile {
        None => vec![usual],
        Some(order) if order.in_same_pass => vec![Observation::Profiled],
        Some(_) => vec![usual, Observation::Profiled],
    }
}

struct Run<'a, B: Bench> {
    bench: &'a mut B,
    store: &'a mut Store,
    options: RunOptions,
    stop: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    summary: Summary,
    forecast: Forecast,
    observation: Observation,
    /// The round that is measured, from 0.
    round: u32,
    /// How often a step looks whether the machine is quiet before it begins all the same.
    patience: u32,
    /// How long a candidate may work for a step in a round, where the usual time tells too little.
    most_work: Duration,
    /// The candidates whose data for rounds this run has loaded.
    rebuilt: BTreeSet<usize>,
    /// The candidates that could not begin with the data of their rounds, which is kept for another try.
    unopened: BTreeSet<usize>,
}

/// How far a candidate has come.
struct Way {
    /// The step that an error belongs to.
    next: usize,
    /// Whether its data is exactly what the steps before that one left: it is worth keeping, whatever fails.
    is_whole: bool,
}

impl<B: Bench> Run<'_, B> {
    /// Each candidate once, from start to end.
    fn classic(
        &mut self,
        plan: &mut Plan,
        candidates: &mut [Candidate],
        observations: &[Observation],
    ) -> Result<()> {
        for &observation in observations {
            self.observation = observation;
            for (index, candidate) in candidates.iter_mut().enumerate() {
                if !self.stop.load(Ordering::Relaxed) && is_wanted(observations, observation, candidate) {
                    self.candidate(plan, index, candidate)?;
                }
            }
        }
        Ok(())
    }

    /// The complete trial of a step, if it is in the store. In rounds only what this experiment measured can be compared with what it
    /// measures next.
    fn stored(&self, plan: &Plan, candidate: &Candidate, step: usize) -> Result<Option<Trial>> {
        let is_profiled = self.observation == Observation::Profiled;
        let found = self.store.complete_trial(&candidate.cells[step].key(), self.round, is_profiled)?;
        let is_own =
            |trial: &Trial| plan.experiment.schedule.is_none() || trial.measured_by == plan.experiment.id;
        Ok(found.filter(is_own))
    }

    fn phase(&mut self, candidate: &Candidate, phase: Phase<'_>) {
        self.observer.notice(Event::Phase { candidate: Some(&candidate.facts.name.0), phase });
    }

    /// Says what a user who wants to stop still waits for: a server that stops in order goes on later where it was.
    fn tell_stopping(&mut self, candidate: &Candidate) {
        if self.stop.load(Ordering::Relaxed) && has_process(candidate) {
            self.phase(candidate, Phase::Stop);
        }
    }

    /// Runs what is missing of one candidate.
    fn candidate(&mut self, plan: &mut Plan, index: usize, candidate: &mut Candidate) -> Result<()> {
        let mut first = 0;
        while first < plan.steps.len() {
            let Some(trial) = self.stored(plan, candidate, first)? else { break };
            self.forecast.learn(first, trial.seconds);
            first += 1;
            self.summary.found += 1;
            self.tell_stored(plan, first - 1, &trial, true);
        }
        if first == plan.steps.len() {
            if !self.options.keep_data
                && let Err(error) = self.bench.sweep(plan, candidate)
            {
                self.observer.notice(Event::Note(&format!("cannot clean up: {}", explain(&error))));
            }
            return Ok(());
        }
        // A failure outside a step belongs to the step that could not be reached.
        let mut way = Way { next: first, is_whole: false };
        let mut site = None;
        let result = self.steps(plan, index, candidate, &mut way, &mut site);
        let interrupted = self.stop.load(Ordering::Relaxed);
        let is_worth_keeping = result.is_err() && way.is_whole;
        if let Err(error) = result
            && !interrupted
        {
            let trial = failed_trial(plan, candidate, way.next, self.place(index), &error, site.as_mut());
            self.save(plan, candidate, way.next, &trial)?;
        }
        if let Some(site) = site {
            let note = if interrupted || self.options.keep_data || is_worth_keeping {
                self.tell_stopping(candidate);
                site.stop()
            } else {
                self.phase(candidate, candidate.closing());
                // Whatever cannot be cleaned up must not keep the next candidate from running.
                site.discard().unwrap_or_else(|error| Some(format!("cannot clean up: {}", explain(&error))))
            };
            if let Some(note) = note {
                self.observer.notice(Event::Note(&note));
            }
            if is_worth_keeping && !interrupted {
                let name = &candidate.facts.name;
                let note =
                    format!("the data of {name} is kept: it is whole, and the same command goes on from it");
                self.observer.notice(Event::Note(&note));
            }
        }
        Ok(())
    }

    /// Brings a candidate to the state before its first missing step, and runs the steps from there.
    fn steps(
        &mut self,
        plan: &mut Plan,
        index: usize,
        candidate: &mut Candidate,
        way: &mut Way,
        open: &mut Option<B::Deployment>,
    ) -> Result<()> {
        let first = way.next;
        let mut workload_state = plan.workload.state(candidate.dialect)?;
        let mut warning = None;
        if first > 0 {
            *open = self.find_again(plan, candidate, workload_state.as_mut(), first)?;
            if open.is_some() {
                warning = Some(AFTER_RESTART);
                way.is_whole = true;
            }
        }
        if open.is_none() {
            self.phase(candidate, candidate.opening());
            *open = self.bench.open(plan, candidate, &candidate.directory, Content::Fresh)?;
        }
        let site = open.as_mut().context("the candidate was not opened")?;
        site.identify(candidate)?;
        plan.experiment.candidates[index] = candidate.facts.clone();
        self.store.save_experiment(&plan.experiment)?;
        if first > 0 && warning.is_none() {
            warning = Some(ON_REBUILT);
            (workload_state, _) = self.rebuild(plan, candidate, site, first)?;
            way.is_whole = !self.stop.load(Ordering::Relaxed);
        }
        for number in first..plan.steps.len() {
            way.next = number;
            let settles = number > 0 && plan.steps[number - 1].settles_after
                || (number == first
                    && warning == Some(ON_REBUILT)
                    && plan.steps[number].settles_after_rebuild);
            let settled = if settles { Some(self.settle(plan, candidate, site)?) } else { None };
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            way.is_whole = false;
            let settled = self.reload(plan, candidate, site, workload_state.as_mut(), number)?.or(settled);
            let Some(mut trial) = self.step(plan, candidate, site, workload_state.as_mut(), number, index)?
            else {
                return Ok(());
            };
            if let Some(settled) = settled {
                trial.warnings.extend(unrest(plan.settle, &settled));
                trial.gauges.extend(settled);
            }
            if let Some(warning) = warning.filter(|_| number == first) {
                trial.warnings.push(warning.to_owned());
            }
            self.save(plan, candidate, number, &trial)?;
            if !trial.is_complete() {
                return Ok(());
            }
            way.is_whole = true;
        }
        Ok(())
    }

    /// Runs the roles of a step and nothing else.
    fn execute(
        &mut self,
        plan: &Plan,
        deployment: &mut B::Deployment,
        step_plan: StepPlan,
        limit: Option<Duration>,
    ) -> Result<Outcome> {
        let limits = limits(plan, limit, self.stop);
        self.bench.execute(plan, deployment, step_plan, &limits)
    }

    /// Measures one step. `None` when the user stopped it.
    fn step(
        &mut self,
        plan: &Plan,
        candidate: &Candidate,
        deployment: &mut B::Deployment,
        workload_state: &mut dyn WorkloadState,
        number: usize,
        position: usize,
    ) -> Result<Option<Trial>> {
        let outline = &plan.steps[number];
        let place = self.place(position);
        self.store.begin_step(&InFlight {
            experiment: plan.experiment.id.clone(),
            cell: candidate.cells[number].key(),
            step: outline.facts.name.clone(),
            candidate: candidate.facts.name.to_string(),
            place,
        })?;
        let Run { bench, observer, summary, forecast, .. } = self;
        let mut begins = |progress| {
            let trials = summary.all.saturating_sub(summary.measured + summary.found);
            observer.notice(Event::StepBegins {
                candidate: &candidate.facts.name.0,
                step: &plan.experiment.steps[number],
                round: place.round,
                progress,
                number: summary.measured + summary.found + 1,
                all: summary.all,
                seconds: forecast.seconds(number),
                seconds_after: forecast.seconds_after(number, trials),
            });
        };
        let profile = self.options.profile.as_ref();
        let step = Alone {
            number,
            place,
            observation: self.observation,
            profile: profile.filter(|_| self.observation == Observation::Profiled),
            limits: limits(plan, outline.limit, self.stop),
        };
        let trial = bench.measure(plan, candidate, deployment, workload_state, step, &mut begins)?;
        Ok(trial.filter(|trial| !self.is_cut_short(trial)))
    }

    /// Loads the tables anew for a step that begins with them as they were, and tells how they settled.
    fn reload(
        &mut self,
        plan: &Plan,
        candidate: &Candidate,
        deployment: &mut B::Deployment,
        workload_state: &mut dyn WorkloadState,
        number: usize,
    ) -> Result<Option<Measures>> {
        let Some(load) = workload_state.reload(number)? else { return Ok(None) };
        self.phase(candidate, Phase::Reload);
        let outcome = self.execute(plan, deployment, load, None)?;
        if let Some(failure) = outcome.failure {
            return Err(failure.into());
        }
        workload_state.reset();
        self.settle(plan, candidate, deployment).map(Some)
    }

    fn save(&mut self, plan: &Plan, candidate: &Candidate, number: usize, trial: &Trial) -> Result<()> {
        self.store.save_trial(&plan.experiment.id, &candidate.cells[number], trial)?;
        self.take_in(plan, number, trial);
        self.tell_stored(plan, number, trial, false);
        Ok(())
    }

    /// Whether what a trial lacks may be lacking because the user wants to stop, in which case nothing is said of it.
    fn is_cut_short(&self, trial: &Trial) -> bool {
        !trial.is_complete() && self.stop.load(Ordering::Relaxed)
    }

    /// Counts a trial that was stored.
    fn take_in(&mut self, plan: &Plan, number: usize, trial: &Trial) {
        self.summary.measured += 1;
        if trial.is_complete() {
            self.forecast.learn(number, trial.seconds);
        } else {
            self.summary.failed.push(format!("{} {}", trial.candidate, plan.steps[number].facts.label));
        }
    }

    /// The place of a candidate in this round.
    fn place(&self, position: usize) -> Place {
        Place { round: self.round, pass: 0, position: position as u32 }
    }

    fn tell_stored(&mut self, plan: &Plan, number: usize, trial: &Trial, was_found: bool) {
        let count = Count { done: self.summary.measured + self.summary.found, all: self.summary.all };
        let step = &plan.experiment.steps[number];
        self.observer.notice(Event::TrialStored { trial, step, was_found, count: Some(count) });
    }

    /// Counts a trial of a step in which candidates take turns, which was stored, and tells of it.
    fn take_in_turns(&mut self, plan: &Plan, number: usize, trial: &Trial) {
        self.take_in(plan, number, trial);
        let step = &plan.experiment.steps[number];
        self.observer.notice(Event::TrialStored { trial, step, was_found: false, count: None });
    }
}

/// When a step is stopped: by the user, or after its usual time, unless the user says otherwise.
fn limits<'a>(plan: &Plan, usual: Option<Duration>, stop: &'a AtomicBool) -> Limits<'a> {
    Limits { stop, time: plan.step_limit_seconds.map(Duration::from_secs).or(usual) }
}

/// A trial of a step before anything of it is known.
fn blank_trial(
    plan: &Plan,
    candidate: &Candidate,
    number: usize,
    place: Place,
    started_at: SystemTime,
) -> Trial {
    let (cell, name) = (candidate.cells[number].key(), &candidate.facts.name.0);
    let trial = Trial::empty(cell, &plan.steps[number].facts.name, name, place, timestamp(started_at));
    Trial { placement: plan.pin.to_string(), measured_by: plan.experiment.id.clone(), ..trial }
}

/// A trial of a step that could not be measured.
fn failed_trial<D: Deployment>(
    plan: &Plan,
    candidate: &Candidate,
    number: usize,
    place: Place,
    error: &anyhow::Error,
    deployment: Option<&mut D>,
) -> Trial {
    let status = match deployment {
        Some(deployment) => deployment.failure(error),
        None => TrialStatus::Failed { reason: explain(error), log_tail: String::new() },
    };
    Trial { status, ..blank_trial(plan, candidate, number, place, SystemTime::now()) }
}

fn timestamp(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).unwrap_or_default().to_string()
}
