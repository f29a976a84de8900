//! Measures one step of all candidates together: they take turns in short slices.

use std::num::NonZero;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use basecase_load::{Failure, Outcome, Runner, relay};
use basecase_model::{Measures, Observation, Trial, TrialStatus, names};
use basecase_server::Planted;
use basecase_stats::Orders;

use super::measuring::{Ended, Ready, conclude, ready};
use super::rounds::slot_of;
use super::score::Score;
use super::{LOG_LINES, Run, blank_trial};
use crate::course::Course;
use crate::message::explain;
use crate::observer::Event;
use crate::plan::{Candidate, Plan};
use crate::site::Site;

/// A candidate that is up.
pub(super) struct Stand {
    /// Its number.
    pub(super) candidate: usize,
    /// The directory that its server runs in.
    pub(super) slot: usize,
    pub(super) site: Site,
    pub(super) course: Box<dyn Course>,
}

/// Which step is measured when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occasion {
    pub(super) number: usize,
    /// Whether the servers have just been started.
    pub(super) is_first: bool,
}

impl Run<'_> {
    /// Measures one step of all candidates. The trials are in the order of the stands; `None` when the user stopped it.
    pub(super) fn relay(
        &mut self,
        plan: &Plan,
        candidates: &[Candidate],
        stands: &mut [Stand],
        occasion: Occasion,
    ) -> Result<Option<Vec<Trial>>> {
        let Occasion { number, is_first } = occasion;
        let round = self.round;
        let step = &plan.steps[number];
        let began = Instant::now();
        let mut befores = Vec::with_capacity(stands.len());
        let mut crews = Vec::with_capacity(stands.len());
        for stand in stands.iter_mut() {
            let Ready { crew, before, .. } = ready(plan, &mut stand.site, stand.course.as_ref(), number)?;
            befores.push(before);
            crews.push(crew);
        }
        let round_name = format!("round {}", round + 1);
        self.observer.notice(Event::Phase { candidate: &round_name, text: &step.facts.label });
        let orders = Orders::new(plan.experiment.schedule.as_ref().map_or(0, |schedule| schedule.seed));
        let name = format!("{} in round {round}", step.facts.name);
        let mut score = Score::new(orders, name, stands.len(), step.facts.writes, is_first, plan.slice);
        let planted = |stand: &Stand| Planted::read(&slot_of(plan, stand.slot));
        let planted_before: Vec<Option<Planted>> = stands.iter().map(planted).collect();
        let runner = |(stand, crew)| {
            let Stand { site, .. }: &Stand = stand;
            Runner { crew, watch: &site.watch, server: site.served.pid() }
        };
        let runners = stands.iter().zip(crews).map(runner).collect();
        let limits = self.limits(plan, step.limit);
        let outcomes = relay(runners, &limits, |taken| score.next(taken));
        if outcomes.iter().any(|outcome| matches!(outcome.failure, Some(Failure::Interrupted))) {
            return Ok(None);
        }
        let planted: Vec<Option<Planted>> = stands
            .iter()
            .zip(planted_before)
            .map(|(stand, before)| Some(planted(stand)?.since(before?)))
            .collect();
        let mut surroundings = others(&outcomes);
        surroundings.set(names::ROUND_SECONDS, began.elapsed().as_secs_f64());
        let mut trials = Vec::with_capacity(stands.len());
        for (position, (((stand, before), mut outcome), planted)) in
            stands.iter_mut().zip(befores).zip(outcomes).zip(planted).enumerate()
        {
            let candidate = &candidates[stand.candidate];
            outcome.counters = own_counters(&outcome);
            let place = self.place(position);
            let ended = Ended {
                place,
                warm_up: Duration::ZERO,
                before,
                tracks: Vec::new(),
                seen: Measures::new(),
                profiles: Vec::new(),
                observation: Observation::Off,
                wants_plans: round == 0,
                counts_rows: plan.counts_rows && step.facts.writes,
                outcome,
            };
            let Stand { site, course, .. } = stand;
            let concluded = conclude(plan, candidate, site, course.as_mut(), number, ended);
            let mut trial = concluded.unwrap_or_else(|error| {
                let blank = blank_trial(plan, candidate, number, place, SystemTime::now());
                failed(blank, &error, site.served.log_tail(LOG_LINES))
            });
            trial.gauges.extend(surroundings.clone());
            if let Some(Planted { calls, nanoseconds }) = planted {
                trial.gauges.set(names::PLANTED_CALLS, calls as f64);
                trial.gauges.set(names::PLANTED_US, nanoseconds as f64 / 1e3);
            }
            trials.push(trial);
        }
        Ok(Some(trials))
    }
}

/// A trial that could not be measured.
pub(super) fn failed(trial: Trial, error: &anyhow::Error, log_tail: String) -> Trial {
    Trial { status: TrialStatus::Failed { reason: explain(error), log_tail }, ..trial }
}

/// What others than the servers and the client took of the machine while the candidates took turns.
fn others(outcomes: &[Outcome]) -> Measures {
    let mut measures = Measures::new();
    let Some(counters) = outcomes.first().map(|outcome| &outcome.counters) else { return measures };
    let sum_of = |wanted: &[&str]| -> Option<f64> { wanted.iter().map(|name| counters.get(name)).sum() };
    let busy = sum_of(&[names::HOST_CPU_USER_US, names::HOST_CPU_SYSTEM_US]);
    let idle = sum_of(&[names::HOST_CPU_IDLE_US, names::HOST_CPU_IOWAIT_US]);
    let steal = counters.get(names::HOST_CPU_STEAL_US).unwrap_or(0.0);
    let own: f64 = outcomes.iter().filter_map(|outcome| outcome.counters.get(names::SERVER_CPU_US)).sum();
    let client = counters.get(names::CLIENT_CPU_US).unwrap_or(0.0);
    if let Some((busy, idle)) = busy.zip(idle) {
        let all = busy + idle + steal;
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get) as f64;
        let share = |time_us: f64| if all > 0.0 { (time_us / all).clamp(0.0, 1.0) } else { 0.0 };
        measures.set(names::ROUND_OTHERS_CORES, share(busy - own - client) * cores);
        measures.set(names::ROUND_STEAL_SHARE, share(steal));
    }
    measures
}

/// What of the counters over all turns is the candidate's alone: its server worked in no turn but its own, while host and client did
/// in all. Of what the operating system counted of the server, the share of the operations that count; the server itself counted
/// those that warmed up as well, and over how long tells [`names::SERVER_COUNTED_SECONDS`].
fn own_counters(outcome: &Outcome) -> Measures {
    let counted: u64 = outcome.slices.iter().map(|slice| slice.operations).sum();
    let beside: u64 = outcome.slices.iter().map(|slice| slice.warm_up_operations).sum();
    let share = if counted > 0 { counted as f64 / (counted + beside) as f64 } else { 1.0 };
    let mut own = Measures::new();
    for (name, value) in outcome.counters.iter().filter(|(name, _)| name.starts_with("server.")) {
        own.set(name, value * share);
    }
    own.set(names::CLIENT_CPU_US, outcome.roles.iter().map(|role| role.client_cpu_us).sum());
    let of_window: u64 = outcome.statements.iter().map(|record| record.window.executed).sum();
    let of_all: u64 = outcome.statements.iter().map(|record| record.whole().executed).sum();
    if of_window > 0 {
        own.set(names::SERVER_COUNTED_SECONDS, outcome.seconds * of_all as f64 / of_window as f64);
    }
    own
}
