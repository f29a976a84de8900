//! Crews of several candidates that take turns, one at work at any time.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use basecase_model::{Measures, Slice};
use basecase_probe::{OthersTime, ServerClock, Snapshot, Watch};

use crate::crew::{Crew, Ending, Gathering, LOOK_EVERY, Limits};
use crate::outcome::Outcome;
use crate::progress::RoleProgress;
use crate::schedule::Schedule;
use crate::shared::Shared;
use crate::team::News;
use crate::turn::{SliceEnd, Turns};

/// One candidate's crew, and what of its server is watched.
pub struct Runner<'a> {
    /// Its roles; see [`basecase_workload::StepPlan::can_take_turns`].
    pub crew: Crew,
    /// Its server.
    pub watch: &'a Watch,
    /// The root of the server's processes, when it has any on this host.
    pub server: Option<u32>,
}

/// What the next slice is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// Whose turn it is.
    pub runner: usize,
    /// Its pass; `None` of one that warms up and is not kept.
    pub pass: Option<u32>,
    /// How long operations do not count after the switch.
    pub settle: Duration,
    /// When it ends.
    pub end: SliceEnd,
}

/// What is known of a slice at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// What it was to be.
    pub leg: Leg,
    /// All operations, with those that do not count.
    pub operations: u64,
    /// Events, of a slice that was [`SliceEnd::Counted`]; else 0.
    pub events: u64,
    /// From the switch to the last answer.
    pub time: Duration,
    /// See [`Slice::others_cpu_us`].
    pub others_cpu_us: Option<f64>,
}

/// Gives crews their turns, as `next` says after each, until it says no more or a limit is reached. Closes the sessions. The outcomes
/// are in the order of the crews; when one fails, all end.
///
/// The counters of an outcome span all turns: those of the host are of all crews together.
pub fn relay(
    mut runners: Vec<Runner<'_>>,
    limits: &Limits<'_>,
    mut next: impl FnMut(Option<&Taken>) -> Option<Leg>,
) -> Vec<Outcome> {
    let teams: Vec<_> = runners.iter_mut().map(|runner| std::mem::take(&mut runner.crew.teams)).collect();
    let shared: Vec<Shared> =
        runners.iter().map(|runner| Shared::new(runner.crew.flags, runner.crew.kinds.len())).collect();
    thread::scope(|scope| {
        let mut lanes = Vec::with_capacity(runners.len());
        for ((runner, shared), teams) in runners.iter().zip(&shared).zip(teams) {
            let schedule = shared.schedule.get_or_init(Schedule::in_turns);
            // Made right above.
            let Some(turns) = schedule.turns() else { continue };
            let crew = &runner.crew;
            let (roles, threads) = (crew.progress.roles.len(), teams.len());
            lanes.push(Lane {
                runner,
                turns,
                shared,
                threads,
                ending: Ending::new(&crew.interrupters),
                finished: crew.spawn(scope, teams, shared, move || schedule),
                gathering: Gathering::new(roles, threads),
                clock: runner.server.map(ServerClock::new),
                pass: None,
                slices: Vec::new(),
                before: None,
            });
        }
        let mut conductor = Conductor { lanes, limits, started: Instant::now(), position: 0, first: None };
        let is_ready = (0..conductor.lanes.len()).all(|lane| conductor.wait(lane));
        let mut taken = None;
        while is_ready && let Some(leg) = next(taken.as_ref()) {
            taken = conductor.give_turn(leg);
            if taken.is_none() {
                break;
            }
        }
        conductor.end()
    })
}

/// One crew in the relay.
struct Lane<'a> {
    runner: &'a Runner<'a>,
    turns: &'a Turns,
    shared: &'a Shared,
    threads: usize,
    ending: Ending<'a>,
    finished: Receiver<News>,
    gathering: Gathering,
    clock: Option<ServerClock>,
    /// Its last pass.
    pass: Option<u32>,
    /// What only the relay knows of its turns; `None` of those that are not kept.
    slices: Vec<Option<Slice>>,
    /// What was counted before its first turn that is kept, and when that was.
    before: Option<(Snapshot, SystemTime, Instant)>,
}

impl Lane<'_> {
    fn operations(&self) -> u64 {
        self.runner.crew.progress.roles.iter().map(RoleProgress::items).sum()
    }

    fn cpu_us(&self) -> Option<f64> {
        self.clock.as_ref().map(ServerClock::cpu_us)
    }
}

struct Conductor<'a> {
    lanes: Vec<Lane<'a>>,
    limits: &'a Limits<'a>,
    started: Instant,
    /// Slices that were kept so far.
    position: u32,
    /// When the first of them began.
    first: Option<Instant>,
}

impl Conductor<'_> {
    /// One turn; `None` when the relay has to end.
    fn give_turn(&mut self, leg: Leg) -> Option<Taken> {
        let lane = self.lanes.get_mut(leg.runner)?;
        if leg.pass.is_some() && lane.before.is_none() {
            lane.before = Some((lane.runner.watch.snapshot(), SystemTime::now(), Instant::now()));
        }
        if lane.pass != leg.pass {
            lane.pass = leg.pass;
            lane.clock.as_mut().map(ServerClock::find_processes);
        }
        let (operations, cpu_us, others) = (lane.operations(), lane.cpu_us(), OthersTime::now());
        let began = Instant::now();
        let opens = began + leg.settle;
        lane.turns.begin(leg.pass.map(|_| opens), leg.end);
        if !self.wait(leg.runner) {
            return None;
        }
        let time = began.elapsed();
        let first = *self.first.get_or_insert(began);
        let lane = self.lanes.get_mut(leg.runner)?;
        let server_cpu_us = lane.cpu_us().zip(cpu_us).map(|(after, before)| (after - before).max(0.0));
        let others = OthersTime::now().zip(others).map(|(after, before)| after.since(before));
        let others_cpu_us = others.map(|others| others.busy_us - server_cpu_us.unwrap_or(0.0));
        lane.slices.push(leg.pass.map(|pass| Slice {
            pass,
            position: self.position,
            opened_us: (opens - first).as_micros() as u64,
            server_cpu_us,
            others_cpu_us,
            steal_us: others.map(|others| others.steal_us),
            ..Slice::default()
        }));
        self.position += u32::from(leg.pass.is_some());
        let events = if matches!(leg.end, SliceEnd::Counted(_)) { lane.turns.counted() } else { 0 };
        let operations = lane.operations() - operations;
        Some(Taken { leg, operations, events, time, others_cpu_us })
    }

    /// Waits until all threads of a crew are at rest; false when the relay has to end.
    fn wait(&mut self, lane: usize) -> bool {
        loop {
            let Some(own) = self.lanes.get(lane) else { return false };
            if own.turns.is_idle(own.threads, LOOK_EVERY) {
                return true;
            }
            for lane in &mut self.lanes {
                // A thread that ends before its time has failed, or has nothing to do.
                loop {
                    match lane.finished.try_recv() {
                        Ok(news) => lane.gathering.take(news),
                        Err(TryRecvError::Empty) => break,
                        Err(TryRecvError::Disconnected) => return false,
                    }
                }
                lane.gathering.look_at(self.limits, self.started);
                if lane.gathering.failure.is_some() {
                    return false;
                }
            }
        }
    }

    /// Brings all crews to their end.
    fn end(mut self) -> Vec<Outcome> {
        let has_failed = self.lanes.iter().any(|lane| lane.gathering.failure.is_some());
        let counters: Vec<Measures> = self
            .lanes
            .iter()
            .map(|lane| {
                lane.before
                    .as_ref()
                    .map_or_else(Measures::new, |(before, ..)| lane.runner.watch.snapshot().since(before))
            })
            .collect();
        self.lanes.iter().for_each(|lane| lane.turns.end());
        for lane in &mut self.lanes {
            loop {
                if has_failed {
                    lane.ending.hasten(lane.shared);
                }
                match lane.finished.recv_timeout(LOOK_EVERY) {
                    Ok(news) => lane.gathering.take(news),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        }
        let started = self.started;
        let outcome = |(lane, counters): (Lane<'_>, Measures)| {
            let (_, started_at, opened) =
                lane.before.map_or((None, SystemTime::now(), started), |(before, at, opened)| {
                    (Some(before), at, opened)
                });
            let kinds = lane.runner.crew.kinds.clone();
            let mut outcome = lane.gathering.outcome(kinds, started_at, opened, counters);
            let whole = |(counted, known): (Slice, Option<Slice>)| {
                let Slice { length_us, operations, rate, warm_up_operations, .. } = counted;
                Some(Slice { length_us, operations, rate, warm_up_operations, ..known? })
            };
            outcome.slices = outcome.slices.into_iter().zip(lane.slices).filter_map(whole).collect();
            outcome
        };
        self.lanes.into_iter().zip(counters).map(outcome).collect()
    }
}
