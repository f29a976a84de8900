//! Measures one step of all candidates together: they take turns in short slices.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use basecase_load::{
    Failure, Progress, Runner, SliceResult, SliceSpec, StepOutcome, WorkerGroup, interleave,
};
use basecase_model::{Measures, Observation, Place, StepFacts, Trial, names};
use basecase_process::Suspender;
use basecase_server::{Copied, Planted, Settle};
use basecase_workload::Chunk;

use super::chunk_scheduler::ChunkScheduler;
use super::quiet::Quiet;
use super::slice_scheduler::{SliceScheduler, SliceSettings};
use super::slot_of;
use crate::plan::{Candidate, Plan};
use crate::run::bench::Together;
use crate::run::deployment::LiveDeployment;
use crate::run::failed_trial;
use crate::run::measure::neighbours::Neighbours;
use crate::run::measure::settling::unrest;
use crate::run::measure::{Counted, Ended, Inspection, Ready, conclude, counted_seconds, ready};
use crate::workload::WorkloadState;

/// Up to so many threads, sessions are opened anew within a round.
const FEW_THREADS: u32 = 4;

/// How many sessions of a step are open at most.
const MOST_OPEN: u32 = 24;

/// A running candidate.
pub(crate) struct RunningCandidate<D> {
    /// Its number.
    pub(crate) candidate: usize,
    /// The directory that its server runs in.
    pub(crate) slot: usize,
    pub(crate) deployment: D,
    pub(crate) workload_state: Box<dyn WorkloadState>,
    /// The cost of copying its data, until a trial records it.
    pub(crate) copied: Option<Copied>,
    /// The round for which its data was loaded; `None` if it loads it itself.
    pub(crate) image_round: Option<u32>,
    /// The result of settling before a step, until its trial records it.
    pub(crate) settled: Measures,
}

/// Which step is measured when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepRun {
    pub(crate) number: usize,
    /// Whether the servers have just been started.
    pub(crate) is_first: bool,
}

/// What came of a step in which candidates took turns.
pub(crate) struct Interleaved {
    /// Trials with the numbers of their candidates.
    pub(crate) trials: Vec<(usize, Trial)>,
    /// Whether only failed candidates have trials, because the others' turns were cut short.
    pub(crate) is_broken_off: bool,
}

/// What was counted of a candidate before its turns.
struct Before {
    counted: Counted,
    planted: Option<Planted>,
}

/// What came of one candidate's turns in a step.
struct CandidateOutcome {
    number: usize,
    place: Place,
    before: Before,
    outcome: StepOutcome,
}

/// Measures one step of these candidates; `None` when the user stopped it.
pub(crate) fn interleave_step(
    plan: &Plan,
    all_running: &mut [&mut RunningCandidate<LiveDeployment>],
    step: Together<'_>,
    begins: &mut dyn FnMut(Vec<Arc<Progress>>),
) -> Result<Option<Interleaved>> {
    let Together { number, round, .. } = step;
    let stop = step.limits.stop;
    let place = |position: usize| Place { round, pass: 0, position: position as u32 };
    let began = Instant::now();
    let mut befores = Vec::with_capacity(all_running.len());
    let mut groups = Vec::with_capacity(all_running.len());
    let mut chunk = None;
    for (position, running) in all_running.iter_mut().enumerate() {
        let candidate = &plan.candidates[running.candidate];
        let place = place(position);
        match ready(plan, candidate, &mut running.deployment, running.workload_state.as_ref(), number, place)
        {
            Ok(Ready { group, before, chunk: own, .. }) => {
                chunk = own;
                befores.push(Before { counted: before, planted: planted(plan, running) });
                groups.push(group);
            }
            Err(_) if stop.load(Ordering::Relaxed) => return Ok(None),
            Err(error) => {
                return Ok(Some(broken_off_before(plan, running, number, place, &error)));
            }
        }
    }
    begins(groups.iter().map(WorkerGroup::progress).collect());
    let settings = slice_settings(plan, all_running, &step);
    let mut scheduler = scheduler(plan, &step, all_running.len(), chunk, settings);
    let runners = all_running
        .iter()
        .zip(groups)
        .map(|(running, group)| runner(&running.deployment, group, &plan.steps[number].facts, chunk));
    let mut quiet = Quiet::new(stop, plan.timing, step.patience);
    let outcomes = interleave(runners.collect(), &step.limits, |result| {
        let spec = scheduler.next(result)?;
        quiet.wait_before(&spec, result);
        Some(spec)
    });
    let is_broken_off = outcomes.iter().any(|outcome| outcome.failure.is_some());
    if is_interrupted(&outcomes, stop) {
        return Ok(None);
    }
    let mut surroundings = others(&outcomes);
    surroundings.set(names::ROUND_SECONDS, began.elapsed().as_secs_f64());
    let ended = all_running.iter_mut().zip(befores).zip(outcomes).enumerate();
    let ended = ended.filter(|(_, (_, outcome))| !is_broken_off || outcome.failure.is_some());
    let turns = ended.map(|(position, ((running, before), outcome))| {
        (&mut **running, CandidateOutcome { number, place: place(position), before, outcome })
    });
    let mut trials = conclude_all(plan, turns.collect(), is_broken_off, stop);
    trials.iter_mut().for_each(|(_, trial)| trial.gauges.extend(surroundings.clone()));
    Ok(Some(Interleaved { trials, is_broken_off }))
}

fn slice_settings(
    plan: &Plan,
    all_running: &[&mut RunningCandidate<LiveDeployment>],
    step: &Together<'_>,
) -> SliceSettings {
    SliceSettings {
        base: all_running.iter().position(|running| running.candidate == 0).unwrap_or(0),
        slice: plan.slice,
        experience: step.experience,
        most_work: step.most_work,
        most_sessions: most_sessions(plan, all_running, step.number),
        timing: plan.timing,
    }
}

/// How many sessions each connection of a step has at most in a round. Where there are many connections, each is a draw. An embedded dbms
/// has its cache in the session. Sessions that are over stay open until the step ends.
fn most_sessions(plan: &Plan, all_running: &[&mut RunningCandidate<LiveDeployment>], number: usize) -> u32 {
    let is_embedded = |running: &&mut RunningCandidate<LiveDeployment>| {
        plan.candidates[running.candidate].facts.build.dbms.is_embedded()
    };
    let threads = plan.steps[number].facts.threads.unwrap_or(1).max(1);
    if threads > FEW_THREADS || all_running.iter().any(is_embedded) { 1 } else { MOST_OPEN / threads }
}

/// A candidate that takes turns in a step.
fn runner<'a>(
    deployment: &'a LiveDeployment,
    group: WorkerGroup,
    step: &StepFacts,
    chunk: Option<Chunk>,
) -> Runner<'a> {
    let LiveDeployment { watch, served, .. } = deployment;
    let chunks_of = chunk.map(|_| step.headline.class());
    // Of reads a server has nothing to catch up on.
    let stands_still = chunk.is_some() || step.writes;
    Runner { group, chunks_of, stands_still, watch, server: served.pid() }
}

/// In which order the candidates take turns, and for how long. Steps that have an end go on chunk by chunk.
fn scheduler(
    plan: &Plan,
    step: &Together<'_>,
    candidates: usize,
    chunk: Option<Chunk>,
    settings: SliceSettings,
) -> Scheduler {
    let facts = &plan.steps[step.number].facts;
    let name = format!("{} in round {}", facts.name, step.round);
    match chunk {
        None => Scheduler::Slices(Box::new(SliceScheduler::new(
            plan.orders(),
            name,
            candidates,
            facts,
            step.is_first,
            settings,
        ))),
        Some(chunk) => {
            Scheduler::Chunks(ChunkScheduler::new(plan.orders(), name, candidates, chunk, plan.timing))
        }
    }
}

/// What came of a step that one candidate could not begin, so that no other did either.
fn broken_off_before(
    plan: &Plan,
    running: &mut RunningCandidate<LiveDeployment>,
    number: usize,
    place: Place,
    error: &anyhow::Error,
) -> Interleaved {
    let candidate = &plan.candidates[running.candidate];
    let trial = failed_trial(plan, candidate, number, place, error, Some(&mut running.deployment));
    Interleaved { trials: vec![(running.candidate, trial)], is_broken_off: true }
}

/// Whether the user stopped the step. A session that was broken off may have told first.
fn is_interrupted(outcomes: &[StepOutcome], stop: &AtomicBool) -> bool {
    let failures = || outcomes.iter().filter_map(|outcome| outcome.failure.as_ref());
    failures().any(|failure| matches!(failure, Failure::Interrupted))
        || failures().next().is_some() && stop.load(Ordering::Relaxed)
}

/// Checks all turns against servers, tables and workload, one candidate after the other. The debt of a step in a chain falls on the next
/// step. Other steps' debt would be discarded with their data, so it is paid now, while the other servers are suspended.
fn conclude_all(
    plan: &Plan,
    turns: Vec<(&mut RunningCandidate<LiveDeployment>, CandidateOutcome)>,
    is_broken_off: bool,
    stop: &AtomicBool,
) -> Vec<(usize, Trial)> {
    let writes = turns.first().is_some_and(|(_, turns)| plan.steps[turns.number].facts.writes);
    let drains = writes && !is_broken_off && !plan.workload.is_chain() && plan.settle != Settle::Off;
    let drained =
        |running: &RunningCandidate<LiveDeployment>| running.deployment.served.pid().filter(|_| drains);
    let mut suspender = Suspender::default();
    for server in turns.iter().filter_map(|(running, _)| drained(running)) {
        suspender.suspend(server);
    }
    let conclude = |(running, turns): (&mut RunningCandidate<LiveDeployment>, CandidateOutcome)| {
        let server = drained(running);
        if let Some(server) = server {
            suspender.resume(server);
        }
        let candidate = &plan.candidates[running.candidate];
        let trial = conclude_turns(plan, candidate, running, turns, drains.then_some(stop));
        if let Some(server) = server {
            suspender.suspend(server);
        }
        (running.candidate, trial)
    };
    turns.into_iter().map(conclude).collect()
}

/// What says whose turn comes next.
enum Scheduler {
    /// Steps without an end of their own.
    Slices(Box<SliceScheduler>),
    /// Steps that have an end.
    Chunks(ChunkScheduler),
}

impl Scheduler {
    fn next(&mut self, result: Option<&SliceResult>) -> Option<SliceSpec> {
        match self {
            Scheduler::Slices(slices) => slices.next(result),
            Scheduler::Chunks(chunks) => chunks.next(result),
        }
    }
}

/// Checks a candidate's turns against its server, the tables and the workload.
fn conclude_turns(
    plan: &Plan,
    candidate: &Candidate,
    running: &mut RunningCandidate<LiveDeployment>,
    turns: CandidateOutcome,
    drain: Option<&AtomicBool>,
) -> Trial {
    let CandidateOutcome { number, place, before, mut outcome } = turns;
    outcome.counters = own_counters(&outcome);
    let planted = planted(plan, running).zip(before.planted).map(|(now, before)| now.since(before));
    let ended = Ended {
        place,
        warm_up: Duration::ZERO,
        before: before.counted,
        tracks: Vec::new(),
        seen: Measures::new(),
        profiles: Vec::new(),
        observation: Observation::Off,
        wants_plans: place.round == 0,
        inspection: Inspection { counts_rows: plan.counts_rows && plan.steps[number].facts.writes, drain },
        outcome,
    };
    let RunningCandidate { deployment, workload_state, copied, image_round, settled, .. } = running;
    let mut trial = conclude(plan, candidate, deployment, workload_state.as_mut(), number, ended)
        .unwrap_or_else(|error| failed_trial(plan, candidate, number, place, &error, Some(deployment)));
    if let Some(Planted { calls, nanoseconds }) = planted {
        trial.gauges.set(names::PLANTED_CALLS, calls as f64);
        trial.gauges.set(names::PLANTED_US, nanoseconds as f64 / 1e3);
    }
    trial.warnings.extend(unrest(plan.settle, settled));
    trial.gauges.extend(std::mem::take(settled));
    if let Some(round) = image_round {
        trial.gauges.set(names::IMAGE_ROUND, f64::from(*round));
    }
    if let Some(Copied { bytes, time }) = copied.take() {
        trial.gauges.set(names::IMAGE_BYTES, bytes as f64);
        trial.gauges.set(names::IMAGE_COPY_SECONDS, time.as_secs_f64());
    }
    trial
}

/// What a planted library has done so far in a candidate's server.
fn planted(plan: &Plan, running: &RunningCandidate<LiveDeployment>) -> Option<Planted> {
    Planted::read(&slot_of(plan, running.slot))
}

/// How much of the machine work other than the servers' and the client's took while the candidates took turns.
fn others(outcomes: &[StepOutcome]) -> Measures {
    let mut measures = Measures::new();
    let servers_us = outcomes.iter().filter_map(|outcome| outcome.counters.get(names::SERVER_CPU_US));
    let first = outcomes.first();
    if let Some(others) = first.and_then(|outcome| Neighbours::of(&outcome.counters, servers_us)) {
        measures.set(names::ROUND_OTHERS_CORES, others.cores);
        measures.set(names::ROUND_STEAL_SHARE, others.steal_share);
    }
    measures
}

/// The part of the counters over all turns that belongs to the candidate alone. Its server worked only in its own turns, but host and client
/// in all. Of the operating system's counts of the server, the share of the operations that count. The server's own counts include the
/// warm-up; [`names::SERVER_COUNTED_SECONDS`] says how long they ran.
fn own_counters(outcome: &StepOutcome) -> Measures {
    let counted: u64 = outcome.slices.iter().map(|slice| slice.operations).sum();
    let beside: u64 = outcome.slices.iter().map(|slice| slice.warm_up_operations).sum();
    let share = if counted > 0 { counted as f64 / (counted + beside) as f64 } else { 1.0 };
    let mut own = Measures::new();
    let is_own = |name: &str| name.starts_with(names::SERVER_PREFIX) || name.starts_with(names::GROUP_PREFIX);
    for (name, value) in outcome.counters.iter().filter(|(name, _)| is_own(name)) {
        own.set(name, value * share);
    }
    own.set(names::CLIENT_CPU_US, outcome.roles.iter().map(|role| role.client_cpu_us).sum());
    if let Some(seconds) = counted_seconds(outcome.seconds, &outcome.statements) {
        own.set(names::SERVER_COUNTED_SECONDS, seconds);
    }
    own
}
