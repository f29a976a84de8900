//! Runs an experiment, or continues one that was interrupted.

mod begun;
mod bench;
mod classic;
mod counts;
mod deployment;
#[cfg(test)]
mod fake;
mod measure;
mod resume;
mod rounds;
mod servers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use basecase_load::{Limits, StepOutcome};
use basecase_model::{Experiment, Observation, Place, Trial, TrialStatus};
use basecase_store::{Detail, InFlight, Store};
use basecase_workload::StepPlan;

use self::bench::{Alone, Bench, Deployment};
use self::classic::forecast::Forecast;
pub use self::counts::{SQLITE_SESSION, serve_sqlite_session};
use self::deployment::Content;
pub use self::measure::profiling::ProfileOrder;
pub use self::rounds::LOADS;
use self::rounds::calendar::Calendar;
use self::rounds::slice_scheduler::Experience;
pub(crate) use self::rounds::slice_scheduler::usual_time;
use self::rounds::{Loading, quiet, slice_scheduler};
use self::servers::Servers;
use crate::message::explain;
use crate::observer::{Count, Event, Observer, Phase};
use crate::plan::{Candidate, Plan, Source};
use crate::workload::WorkloadState;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The experiment as it ran, with what the servers reported about themselves.
    pub experiment: Experiment,
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
    /// Take counters only at both ends of a window: nothing in between, and no plans.
    pub counters_only: bool,
    /// Whether and how to profile the servers.
    pub profile: Option<ProfileOrder>,
    /// The time after which no more rounds begin. One round always runs.
    pub budget: Option<Duration>,
    /// The most rounds, counting those already measured; `None` is as many as it takes.
    pub most_rounds: Option<u32>,
    /// The only step, by name, that rounds are to decide; `None` is all.
    pub only_step: Option<String>,
    /// The only steps, by name, that are measured where each candidate runs once; `None` is all. Steps before them are executed where they
    /// write, and not measured.
    pub steps: Option<BTreeSet<String>>,
    /// Whether what was begun keeps the margins that it had: those of the plan were reckoned from other rounds, which may have become more,
    /// or were meant for other results.
    pub keeps_margins: bool,
    /// The smallest relative change of work that matters, if work is counted here or beside.
    pub work_margin: Option<f64>,
    /// Reload the data instead of continuing with what an earlier run left.
    pub rebuilds: bool,
    /// How often the data of each candidate is loaded over an experiment in rounds, at least: `None` is [`LOADS`].
    pub loads: Option<u32>,
    /// The steps that need no more rounds, where somebody decides who sees more rounds than these; `None` is a run that decides by its own.
    pub decided: Option<DecidedSteps>,
}

/// Steps, by name, that the coordinator of a fleet has decided. It is asked between rounds.
#[derive(Clone)]
pub struct DecidedSteps(Arc<dyn Fn() -> BTreeSet<String> + Send + Sync>);

impl DecidedSteps {
    /// As this function tells them.
    pub fn told_by(ask: impl Fn() -> BTreeSet<String> + Send + Sync + 'static) -> Self {
        DecidedSteps(Arc::new(ask))
    }

    fn names(&self) -> BTreeSet<String> {
        (self.0)()
    }
}

impl fmt::Debug for DecidedSteps {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("DecidedSteps").finish()
    }
}

impl RunOptions {
    /// Whether the step with this name is to be measured.
    fn is_chosen(&self, step: &str) -> bool {
        self.steps.as_ref().is_none_or(|steps| steps.contains(step))
    }
}

/// Runs what of `plan` is not in `store` yet: measures times, or counts instructions. The store must be locked for the run.
///
/// # Errors
/// When the store fails, or holds rounds that began with another schedule. A candidate that fails is stored as failed, and the next one runs.
pub fn run(
    plan: &Plan,
    store: &mut Store,
    options: RunOptions,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    if plan.meter.is_some() {
        return counts::count(plan, store, &options, stop, observer);
    }
    run_on(&mut Servers, plan, store, options, stop, observer)
}

/// The same on any bench.
fn run_on<B: Bench>(
    bench: &mut B,
    plan: &Plan,
    store: &mut Store,
    options: RunOptions,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let experiment = begun::experiment(plan, store, &options)?;
    store.save_experiment(&experiment)?;
    store.save_cells(&experiment.id, &plan.cells())?;
    let observations = observations(&options);
    let calendar = Calendar::new(experiment.calendar_time, bench.now());
    let mut run = Run {
        plan,
        bench,
        store,
        stop,
        observer,
        summary: Summary {
            experiment,
            all: 0,
            measured: 0,
            found: 0,
            failed: Vec::new(),
            interrupted: false,
        },
        forecast: Forecast::new(plan, |step| options.is_chosen(step)),
        observation: observations[0],
        round: 0,
        patience: quiet::MOST_POLLS,
        most_work: plan.timing.of(slice_scheduler::MOST_WORK),
        experiences: Vec::new(),
        calendar,
        loaded_for: BTreeMap::new(),
        loads_anew: false,
        loading: Loading::default(),
        unopened: BTreeSet::new(),
        options,
    };
    run.announce(&observations);
    match &plan.experiment.schedule {
        None => run.classic(&observations)?,
        Some(_) if plan.workload.is_chain() => run.chains()?,
        Some(_) => run.rounds()?,
    }
    run.summary.interrupted = run.is_stopped();
    Ok(run.summary)
}

/// Whether a candidate's server is a process of this host that basecase started.
fn has_process(candidate: &Candidate) -> bool {
    matches!(candidate.source, Source::Build(..))
}

/// Whether a candidate is observed like this. One without a process cannot be profiled in a pass of its own.
fn is_wanted(all: &[Observation], observation: Observation, candidate: &Candidate) -> bool {
    observation != Observation::Profiled || all.len() == 1 || has_process(candidate)
}

/// How closely each pass over all steps is observed, in order.
fn observations(options: &RunOptions) -> Vec<Observation> {
    let usual = if options.counters_only { Observation::Off } else { Observation::Usual };
    match &options.profile {
        None => vec![usual],
        Some(order) if order.in_same_pass => vec![Observation::Profiled],
        Some(_) => vec![usual, Observation::Profiled],
    }
}

/// A run and all that changes while it goes on.
struct Run<'a, B: Bench> {
    plan: &'a Plan,
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
    /// How often a step polls whether the machine is quiet before it begins anyway.
    patience: u32,
    /// How long a candidate may work for a step in a round, where that tells more than another start.
    most_work: Duration,
    /// What the rounds so far tell of each step.
    experiences: Vec<Option<Experience>>,
    calendar: Calendar,
    /// The candidates whose data this run has loaded, and the round for which it did so last.
    loaded_for: BTreeMap<usize, u32>,
    /// Whether data is loaded anew for this round.
    loads_anew: bool,
    loading: Loading,
    /// The candidates that could not start from the data of their rounds, which is kept for another try.
    unopened: BTreeSet<usize>,
}

impl<B: Bench> Run<'_, B> {
    /// Counts the trials that are known in advance, and tells the observer what begins.
    fn announce(&mut self, observations: &[Observation]) {
        let plan = self.plan;
        for candidate in &plan.candidates {
            let is_wanted = |observation: &&Observation| is_wanted(observations, **observation, candidate);
            let passes = observations.iter().filter(is_wanted).count();
            // Of rounds only the loads are known in advance, and of chains nothing.
            self.summary.all += match &plan.experiment.schedule {
                None => passes * self.chosen_steps().count(),
                Some(_) => usize::from(!plan.workload.is_chain()),
            };
            if passes < observations.len() {
                self.note(&format!("{} has no server that can be profiled here", candidate.facts.name));
            }
        }
        let Summary { experiment, all, .. } = &self.summary;
        self.observer.notice(Event::ExperimentBegins { experiment, trials: *all });
    }

    /// The numbers of the steps that are to be measured.
    fn chosen_steps(&self) -> impl Iterator<Item = usize> + use<B> {
        let steps = self.plan.steps.iter().enumerate();
        let chosen = steps.filter(|(_, step)| self.options.is_chosen(&step.facts.name));
        chosen.map(|(number, _)| number).collect::<Vec<_>>().into_iter()
    }

    /// Whether the user wants to stop.
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The complete trial of a step, if it is in the store. In rounds only what this experiment measured can be compared with what it
    /// measures next.
    fn stored(&self, candidate: &Candidate, step: usize, detail: Detail) -> Result<Option<Trial>> {
        let is_profiled = self.observation == Observation::Profiled;
        let key = candidate.cells[step].key();
        let found = self.store.complete_trial(&key, self.round, is_profiled, detail)?;
        let Experiment { id, schedule, .. } = &self.plan.experiment;
        Ok(found.filter(|trial| schedule.is_none() || trial.measured_by == *id))
    }

    /// Stores what a running candidate reports about its build and settings.
    fn identify(&mut self, index: usize, deployment: &mut B::Deployment) -> Result<()> {
        let facts = &mut self.summary.experiment.candidates[index];
        let reported = deployment.identify(facts)?;
        if *facts != reported {
            *facts = reported;
            self.store.save_experiment(&self.summary.experiment)?;
        }
        Ok(())
    }

    fn note(&mut self, note: &str) {
        self.observer.notice(Event::Note(note));
    }

    fn phase(&mut self, candidate: &Candidate, phase: Phase<'_>) {
        self.observer.notice(Event::Phase { candidate: Some(&candidate.facts.name.0), phase });
    }

    /// Says what a user who wants to stop is still waiting for: a server that is shut down cleanly can continue later.
    fn tell_stopping(&mut self, candidate: &Candidate) {
        if self.is_stopped() && has_process(candidate) {
            self.phase(candidate, Phase::Stop);
        }
    }

    /// Starts a candidate in a directory, on the processors of this round. `None` when leftover content was wanted and nothing usable was
    /// left.
    fn open(
        &mut self,
        candidate: &Candidate,
        directory: &Path,
        content: Content<'_>,
    ) -> Result<Option<B::Deployment>> {
        self.bench.open(self.plan, candidate, directory, content, self.plan.pin_in(self.round))
    }

    /// Runs the roles of a step and nothing else.
    fn execute(
        &mut self,
        deployment: &mut B::Deployment,
        step_plan: StepPlan,
        limit: Option<Duration>,
    ) -> Result<StepOutcome> {
        let limits = limits(self.plan, limit, self.stop);
        self.bench.execute(deployment, step_plan, &limits)
    }

    /// Measures one step. `None` when the user stopped it.
    fn step(
        &mut self,
        candidate: &Candidate,
        deployment: &mut B::Deployment,
        workload_state: &mut dyn WorkloadState,
        number: usize,
        position: usize,
    ) -> Result<Option<Trial>> {
        let plan = self.plan;
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
        let mut trial = bench.measure(plan, candidate, deployment, workload_state, step, &mut begins)?;
        trial.iter_mut().for_each(|trial| self.date(trial));
        Ok(trial.filter(|trial| !self.is_cut_short(trial)))
    }

    fn save(&mut self, candidate: &Candidate, number: usize, trial: &Trial) -> Result<()> {
        self.store.save_trial(&self.plan.experiment.id, &candidate.cells[number], trial)?;
        self.take_in(number, trial);
        self.tell_stored(number, trial, false);
        Ok(())
    }

    /// Whether a trial may be incomplete because the user wants to stop. Such a trial is not reported.
    fn is_cut_short(&self, trial: &Trial) -> bool {
        !trial.is_complete() && self.is_stopped()
    }

    /// Counts a trial that was stored.
    fn take_in(&mut self, number: usize, trial: &Trial) {
        self.summary.measured += 1;
        if trial.is_complete() {
            self.forecast.learn(number, trial.seconds);
        } else {
            self.summary.failed.push(format!("{} {}", trial.candidate, self.plan.steps[number].facts.label));
        }
    }

    /// The place of a candidate in this round.
    fn place(&self, position: usize) -> Place {
        Place { round: self.round, pass: 0, position: position as u32 }
    }

    fn tell_stored(&mut self, number: usize, trial: &Trial, was_found: bool) {
        let count = Count { done: self.summary.measured + self.summary.found, all: self.summary.all };
        let step = &self.plan.experiment.steps[number];
        self.observer.notice(Event::TrialStored { trial, step, was_found, count: Some(count) });
    }

    /// Counts and announces a stored trial of a step in which candidates take turns.
    fn take_in_turns(&mut self, number: usize, trial: &Trial) {
        self.take_in(number, trial);
        let step = &self.plan.experiment.steps[number];
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
    let placement = plan.pin_in(place.round).to_string();
    Trial { placement, measured_by: plan.experiment.id.clone(), ..trial }
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
