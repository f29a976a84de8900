//! Crews of several candidates that take turns, one at work at any time.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use basecase_model::{Measures, OperationClass, Slice, names};
use basecase_probe::{OthersTime, ServerClock, ServerCpu, Snapshot, Watch, canary_ns};
use basecase_process::Suspender;

use crate::crew::{Crew, Ending, Gathering, LOOK_EVERY, Limits};
use crate::heartbeat::{Heartbeat, STOPPED};
use crate::outcome::Outcome;
use crate::progress::RoleProgress;
use crate::schedule::Schedule;
use crate::shared::Shared;
use crate::team::News;
use crate::turn::{Share, SliceEnd, Turns};

/// One candidate's crew, and what of its server is watched.
pub struct Runner<'a> {
    /// Its roles.
    pub crew: Crew,
    /// What counts of a crew that does its step to the end, in portions: operations of this class. `None` of one that works for as long
    /// as it is let, see [`basecase_workload::StepPlan::can_take_turns`].
    pub portions_of: Option<OperationClass>,
    /// Whether its server stands still while others have their turns, so that nothing is done for it off the clock.
    pub stands_still: bool,
    /// Its server.
    pub watch: &'a Watch,
    /// The root of the server's processes, when it has any on this host.
    pub server: Option<u32>,
}

/// What the next slice is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceSpec {
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
pub struct SliceResult {
    /// What it was to be.
    pub spec: SliceSpec,
    /// All operations, with those that do not count.
    pub operations: u64,
    /// Events, of a slice that was [`SliceEnd::Counted`]; else 0.
    pub events: u64,
    /// From the switch to the last answer.
    pub time: Duration,
    /// See [`Slice::others_cpu_us`].
    pub others_cpu_us: Option<f64>,
    /// Whether its crew has come to the end of its step.
    pub is_last: bool,
}

/// Gives crews their turns, as `next` says after each, until it says no more or a limit is reached. Closes the sessions. The outcomes
/// are in the order of the crews; when one fails, all end.
///
/// The counters of an outcome span all turns: those of the host are of all crews together.
pub fn interleave(
    mut runners: Vec<Runner<'_>>,
    limits: &Limits<'_>,
    mut next: impl FnMut(Option<&SliceResult>) -> Option<SliceSpec>,
) -> Vec<Outcome> {
    let teams: Vec<_> = runners.iter_mut().map(|runner| std::mem::take(&mut runner.crew.teams)).collect();
    let shared: Vec<Shared> =
        runners.iter().map(|runner| Shared::new(runner.crew.flags, runner.crew.kinds.len())).collect();
    thread::scope(|scope| {
        let mut lanes = Vec::with_capacity(runners.len());
        for ((runner, shared), teams) in runners.iter().zip(&shared).zip(teams) {
            let share = if runner.portions_of.is_some() { Share::Portions } else { Share::Slices };
            let takers = teams.iter().filter(|team| team.takes_turns()).count();
            let schedule = shared.schedule.get_or_init(|| Schedule::in_turns(share, takers));
            // Made right above.
            let Some(turns) = schedule.turns() else { continue };
            let crew = &runner.crew;
            let (roles, threads) = (crew.progress.roles.len(), teams.len());
            lanes.push(Lane {
                runner,
                turns,
                shared,
                ending: Ending::new(&crew.interrupters),
                finished: crew.spawn(scope, teams, shared, move || schedule),
                gathering: Gathering::new(roles, threads),
                clock: runner.server.map(ServerClock::new),
                pass: None,
                had: Duration::ZERO,
                missed: Duration::ZERO,
                missed_by_pass: BTreeMap::new(),
                is_cut: false,
                slices: Vec::new(),
                before: None,
            });
        }
        let suspender = Suspender::default();
        let mut conductor = Conductor {
            lanes,
            suspender,
            limits,
            started: Instant::now(),
            position: 0,
            first: None,
            canary: None,
        };
        let began = conductor.started;
        let is_ready = (0..conductor.lanes.len()).all(|lane| conductor.wait(lane, began, None).is_some());
        let servers: Vec<u32> = conductor.lanes.iter().filter_map(Lane::to_freeze).collect();
        for server in servers {
            conductor.suspender.suspend(server);
        }
        let mut result = None;
        while is_ready && let Some(spec) = next(result.as_ref()) {
            result = conductor.give_turn(spec);
            if result.is_none() {
                break;
            }
        }
        conductor.end()
    })
}

/// One crew of those that take turns.
struct Lane<'a> {
    runner: &'a Runner<'a>,
    turns: &'a Turns,
    shared: &'a Shared,
    ending: Ending<'a>,
    finished: Receiver<News>,
    gathering: Gathering,
    clock: Option<ServerClock>,
    /// Its last pass.
    pass: Option<u32>,
    /// How long its turns were so far.
    had: Duration,
    /// How long basecase did not run in turns that are kept.
    missed: Duration,
    /// The same of turns in which that was long, by their passes.
    missed_by_pass: BTreeMap<u32, Duration>,
    /// Whether its last turn was cut short.
    is_cut: bool,
    /// What only the interleaving knows of its turns; `None` of those that are not kept.
    slices: Vec<Option<Slice>>,
    /// What was counted before its first turn that is kept, and when that was.
    before: Option<(Snapshot, SystemTime, Instant)>,
}

impl Lane<'_> {
    fn operations(&self) -> u64 {
        let progress = &self.runner.crew.progress;
        match self.runner.portions_of {
            Some(class) => progress.items(class),
            None => progress.roles.iter().map(RoleProgress::items).sum(),
        }
    }

    /// The server that must not work while others have their turns.
    fn to_freeze(&self) -> Option<u32> {
        self.runner.server.filter(|_| self.runner.stands_still)
    }

    fn cpu(&self) -> Option<ServerCpu> {
        self.clock.as_ref().map(ServerClock::read)
    }
}

struct Conductor<'a> {
    lanes: Vec<Lane<'a>>,
    suspender: Suspender,
    limits: &'a Limits<'a>,
    started: Instant,
    /// Slices that were kept so far.
    position: u32,
    /// When the first of them began.
    first: Option<Instant>,
    /// The last pass, and [`Slice::canary_ns`] of it.
    canary: Option<(u32, f64)>,
}

impl Conductor<'_> {
    /// One turn; `None` when the turns have to end.
    fn give_turn(&mut self, spec: SliceSpec) -> Option<SliceResult> {
        if let Some(pass) = spec.pass.filter(|pass| self.canary.is_none_or(|(last, _)| last != *pass)) {
            self.canary = Some((pass, canary_ns()));
        }
        let lane = self.lanes.get_mut(spec.runner)?;
        let server = lane.to_freeze();
        if lane.is_cut {
            lane.turns.resume();
        }
        if let Some(server) = server {
            self.suspender.resume(server);
        }
        if lane.before.is_none() && (spec.pass.is_some() || lane.runner.portions_of.is_some()) {
            lane.before = Some((lane.runner.watch.snapshot(), SystemTime::now(), Instant::now()));
        }
        if lane.pass != spec.pass {
            lane.pass = spec.pass;
            lane.clock.as_mut().map(ServerClock::find_processes);
        }
        let (operations, cpu, others) = (lane.operations(), lane.cpu(), OthersTime::now());
        let began = Instant::now();
        let opens = began + spec.settle;
        if !lane.is_cut {
            lane.turns.begin(spec.pass.map(|_| opens), spec.end);
        }
        let until = match spec.end {
            SliceEnd::Cut(time) if server.is_some() => Some(began + time),
            _ => None,
        };
        lane.gathering.begin_turn();
        let (is_idle, missed) = self.wait(spec.runner, began, until)?;
        let first = *self.first.get_or_insert(began);
        let lane = self.lanes.get_mut(spec.runner)?;
        lane.had += began.elapsed();
        if let Some(pass) = spec.pass {
            lane.missed += missed;
            if missed >= STOPPED {
                *lane.missed_by_pass.entry(pass).or_default() += missed;
            }
        }
        let is_last = lane.turns.is_finished();
        if is_last && lane.runner.portions_of.is_none() {
            return None;
        }
        let time = lane.turns.worked(began);
        let server_cpu_us = lane.cpu().zip(cpu).map(|(after, before)| after.since_us(&before));
        let others = OthersTime::now().zip(others).map(|(after, before)| after.since(before));
        let others_cpu_us = others.map(|others| (others.busy_us - server_cpu_us.unwrap_or(0.0)).max(0.0));
        let stopped = server.map(|server| self.suspender.suspend(server));
        lane.is_cut = !is_idle;
        if let Some(stopped) = stopped.filter(|_| lane.is_cut) {
            lane.turns.cut(stopped);
        }
        let done = lane.operations() - operations;
        // The last turn of a step that ended with the one before.
        let is_empty = is_last && done == 0;
        lane.slices.push(spec.pass.filter(|_| !is_empty).map(|pass| Slice {
            pass,
            position: self.position,
            opened_us: (opens - first).as_micros() as u64,
            length_us: time.as_secs_f64() * 1e6,
            operations: done,
            rate: done as f64 / time.as_secs_f64(),
            warm_up_operations: 0,
            server_cpu_us,
            others_cpu_us,
            steal_us: others.map(|others| others.steal_us),
            canary_ns: self.canary.map(|(_, canary_ns)| canary_ns),
        }));
        self.position += u32::from(spec.pass.is_some() && !is_empty);
        let events = if matches!(spec.end, SliceEnd::Counted(_)) { lane.turns.counted() } else { 0 };
        Some(SliceResult { spec, operations: done, events, time, others_cpu_us, is_last })
    }

    /// Waits until all threads of a crew, whose turn began then, are at rest, or until this instant. Returns whether they are at rest, and
    /// how long basecase did not run meanwhile; `None` when the turns have to end. A limit that is reached meanwhile is that of this crew: the
    /// others had no turn.
    fn wait(&mut self, lane: usize, began: Instant, until: Option<Instant>) -> Option<(bool, Duration)> {
        let mut heartbeat = Heartbeat::new(began);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let planned = left.unwrap_or(LOOK_EVERY).min(LOOK_EVERY);
            let is_idle = self.lanes.get(lane)?.turns.is_idle(planned);
            heartbeat.beat(Instant::now(), planned);
            for lane in &mut self.lanes {
                while let Ok(news) = lane.finished.try_recv() {
                    lane.gathering.take(news);
                }
            }
            let own = self.lanes.get_mut(lane)?;
            own.gathering.look_at(self.limits, &own.runner.crew.progress, own.had + began.elapsed());
            if self.lanes.iter().any(|lane| lane.gathering.failure.is_some()) {
                return None;
            }
            if is_idle || until.is_some_and(|until| Instant::now() >= until) {
                return Some((is_idle, heartbeat.missed()));
            }
        }
    }

    /// Brings all crews to their end.
    fn end(mut self) -> Vec<Outcome> {
        drop(std::mem::take(&mut self.suspender));
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
                    // They are broken off for the failure of another one, and that is all that went wrong.
                    Ok(News::Failed(_)) if has_failed => {}
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
            let us = |time: Duration| time.as_secs_f64() * 1e6;
            outcome.client.set(names::CLIENT_STOPPED_US, us(lane.missed));
            for (pass, missed) in lane.missed_by_pass {
                outcome.client.set(&format!("{}{pass}", names::CLIENT_STOPPED_PASS), us(missed));
            }
            let whole = |(counted, known): (Slice, Option<Slice>)| {
                let Slice { length_us, operations, rate, warm_up_operations, .. } = counted;
                Some(Slice { length_us, operations, rate, warm_up_operations, ..known? })
            };
            outcome.slices = match lane.runner.portions_of {
                Some(_) => lane.slices.into_iter().flatten().collect(),
                None => outcome.slices.into_iter().zip(lane.slices).filter_map(whole).collect(),
            };
            outcome
        };
        self.lanes.into_iter().zip(counters).map(outcome).collect()
    }
}
