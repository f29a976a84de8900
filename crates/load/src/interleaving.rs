//! Interleaves the worker groups of several candidates: only one works at a time.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime};

use basecase_model::{Measures, OperationClass, SessionRecord, Slice, names};
use basecase_probe::{OthersTime, ServerClock, ServerCpu, Snapshot, Watch, canary_ns};
use basecase_process::Suspender;

use crate::client_thread::{ClientThread, ThreadMessage};
use crate::heartbeat::{Heartbeat, STOPPED};
use crate::outcome::StepOutcome;
use crate::progress::RoleProgress;
use crate::schedule::Schedule;
use crate::shared::Shared;
use crate::turn_gate::{SliceEnd, TurnGiver, TurnKind};
use crate::worker_group::{Collector, Limits, POLL_INTERVAL, Shutdown, WorkerGroup};

/// One candidate's worker group, and how its server is observed.
pub struct Runner<'a> {
    /// Its roles.
    pub group: WorkerGroup,
    /// The class of operations that counts, for a worker group that runs its step to the end in chunks. `None` for one that works as long
    /// as it is allowed to; see [`basecase_workload::StepPlan::can_take_turns`].
    pub chunks_of: Option<OperationClass>,
    /// Whether its server is suspended during the turns of others, so that it does no work off the clock.
    pub stands_still: bool,
    /// Its server.
    pub watch: &'a Watch,
    /// The root of the server's process tree, if it runs on this host.
    pub server: Option<u32>,
}

/// What the next slice should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceSpec {
    /// Whose turn it is.
    pub runner: usize,
    /// The number of the sessions that work in it, which never falls. A new one is opened at the beginning of its first slice.
    pub session: u32,
    /// Its pass; `None` for a warm-up slice, which is not kept.
    pub pass: Option<u32>,
    /// How long after the switch operations do not count yet.
    pub settle: Duration,
    /// When it ends.
    pub end: SliceEnd,
}

/// What is known about a slice as soon as it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SliceResult {
    /// The specification that it followed.
    pub spec: SliceSpec,
    /// All operations, including those that do not count.
    pub operations: u64,
    /// The number of events, for a slice that ends with [`SliceEnd::Counted`]; otherwise 0.
    pub events: u64,
    /// From the switch to the last answer.
    pub time: Duration,
    /// See [`Slice::others_cpu_us`].
    pub others_cpu_us: Option<f64>,
    /// Whether its worker group has finished its step.
    pub is_last: bool,
}

/// Gives worker groups their turns. After each slice `next` says which one follows; it ends when `next` returns `None` or a limit is
/// reached. Closes the sessions. The outcomes are in the order of the runners; when one fails, all end.
///
/// The counters of an outcome span all turns: the host's counters include the work of all groups.
pub fn interleave(
    mut runners: Vec<Runner<'_>>,
    limits: &Limits<'_>,
    mut next: impl FnMut(Option<&SliceResult>) -> Option<SliceSpec>,
) -> Vec<StepOutcome> {
    let threads: Vec<_> =
        runners.iter_mut().map(|runner| std::mem::take(&mut runner.group.threads)).collect();
    let shared: Vec<Shared> =
        runners.iter().map(|runner| Shared::new(runner.group.flags, runner.group.kinds.len())).collect();
    thread::scope(|scope| {
        let parts = runners.iter().zip(&shared).zip(threads);
        let groups = parts.filter_map(|((runner, shared), threads)| {
            InterleavedGroup::start(scope, runner, shared, threads)
        });
        let groups: Vec<_> = groups.collect();
        let suspender = Suspender::default();
        let mut interleaver = Interleaver {
            groups,
            suspender,
            limits,
            started: Instant::now(),
            position: 0,
            first: None,
            canary: None,
        };
        let began = interleaver.started;
        let is_ready =
            (0..interleaver.groups.len()).all(|group| interleaver.wait(group, began, None).is_some());
        let servers: Vec<u32> = interleaver.groups.iter().filter_map(InterleavedGroup::to_suspend).collect();
        for server in servers {
            interleaver.suspender.suspend(server);
        }
        let mut result = None;
        while is_ready && let Some(spec) = next(result.as_ref()) {
            result = interleaver.give_turn(spec);
            if result.is_none() {
                break;
            }
        }
        interleaver.end()
    })
}

/// The state of one interleaved worker group.
struct InterleavedGroup<'a> {
    runner: &'a Runner<'a>,
    turns: TurnGiver<'a>,
    shared: &'a Shared,
    shutdown: Shutdown<'a>,
    finished: Receiver<ThreadMessage>,
    collector: Collector,
    clock: Option<ServerClock>,
    /// The pass of its last turn.
    pass: Option<u32>,
    /// Total time of its turns.
    had: Duration,
    /// How long basecase was not running during turns that are kept.
    missed: Duration,
    /// The same by pass, for turns in which it was long.
    missed_by_pass: BTreeMap<u32, Duration>,
    /// The session whose counters are being read, and those that are over.
    session: Option<OpenSession>,
    sessions: Vec<SessionRecord>,
    /// Whether its last turn was interrupted midway.
    is_cut: bool,
    /// What only the interleaver knows about its turns; `None` for those that are not kept.
    slices: Vec<Option<Slice>>,
    /// The counters before its first turn that is kept, and when that was.
    before: Option<(Snapshot, SystemTime, Instant)>,
}

impl<'env> InterleavedGroup<'env> {
    /// Spawns the threads of a group, which wait for its first turn.
    fn start<'scope>(
        scope: &'scope Scope<'scope, 'env>,
        runner: &'env Runner<'env>,
        shared: &'env Shared,
        threads: Vec<ClientThread>,
    ) -> Option<Self>
    where
        'env: 'scope,
    {
        let kind = if runner.chunks_of.is_some() { TurnKind::Chunks } else { TurnKind::Slices };
        let takers = threads.iter().filter(|thread| thread.takes_turns()).count();
        let schedule = shared.schedule.get_or_init(|| Schedule::in_turns(kind, takers));
        let turns = TurnGiver(schedule.turns()?);
        let group = &runner.group;
        let collector = group.collector(threads.len());
        Some(InterleavedGroup {
            runner,
            turns,
            shared,
            shutdown: Shutdown::new(&group.interrupters),
            finished: group.spawn(scope, threads, shared, move || schedule),
            collector,
            clock: runner.server.map(ServerClock::new),
            pass: None,
            had: Duration::ZERO,
            missed: Duration::ZERO,
            missed_by_pass: BTreeMap::new(),
            session: None,
            sessions: Vec::new(),
            is_cut: false,
            slices: Vec::new(),
            before: None,
        })
    }
}

impl InterleavedGroup<'_> {
    fn operations(&self) -> u64 {
        let progress = &self.runner.group.progress;
        match self.runner.chunks_of {
            Some(class) => progress.items(class),
            None => progress.roles.iter().map(RoleProgress::items).sum(),
        }
    }

    /// The server to suspend while others have their turns.
    fn to_suspend(&self) -> Option<u32> {
        self.runner.server.filter(|_| self.runner.stands_still)
    }

    /// Reads the counters where a session has its first pass, and those of the last one where that is over.
    fn look_at_session(&mut self, spec: &SliceSpec) {
        if self.session.as_ref().is_some_and(|session| session.number != spec.session) {
            self.end_session();
        }
        let Some(pass) = spec.pass.filter(|_| self.runner.chunks_of.is_none()) else { return };
        match &mut self.session {
            Some(session) => session.last_pass = pass,
            None => {
                self.session = Some(OpenSession {
                    number: spec.session,
                    first_pass: pass,
                    last_pass: pass,
                    before: self.runner.watch.snapshot(),
                    operations: self.operations(),
                });
            }
        }
    }

    fn end_session(&mut self) {
        let Some(OpenSession { number, first_pass, last_pass, before, operations }) = self.session.take()
        else {
            return;
        };
        let mut counters = Measures::new();
        let spent = self.runner.watch.snapshot().since(&before);
        spent
            .iter()
            .filter(|(name, _)| name.starts_with(names::SERVER_PREFIX))
            .for_each(|(name, value)| counters.set(name, value));
        self.sessions.push(SessionRecord {
            number,
            seed: self.runner.group.histories.map_or(0, |histories| histories.seed_of(number)),
            first_pass,
            passes: last_pass - first_pass + 1,
            operations: self.operations() - operations,
            counters,
        });
    }

    fn cpu(&self) -> Option<ServerCpu> {
        self.clock.as_ref().map(ServerClock::read)
    }
}

/// A session that has passes, and the readings before the first.
struct OpenSession {
    number: u32,
    first_pass: u32,
    last_pass: u32,
    before: Snapshot,
    operations: u64,
}

/// When a turn began, and the readings at that time.
struct TurnStart {
    began: Instant,
    /// From when on operations count.
    opens: Instant,
    /// When the turn is interrupted.
    until: Option<Instant>,
    operations: u64,
    cpu: Option<ServerCpu>,
    others: Option<OthersTime>,
}

struct Interleaver<'a> {
    groups: Vec<InterleavedGroup<'a>>,
    suspender: Suspender,
    limits: &'a Limits<'a>,
    started: Instant,
    /// Number of slices kept.
    position: u32,
    /// When the first slice began.
    first: Option<Instant>,
    /// The last pass and its [`Slice::canary_ns`].
    canary: Option<(u32, f64)>,
}

impl Interleaver<'_> {
    /// Lets the group of `spec` begin its turn; `None` when there is no such group.
    fn begin_turn(&mut self, spec: &SliceSpec) -> Option<TurnStart> {
        if let Some(pass) = spec.pass.filter(|pass| self.canary.is_none_or(|(last, _)| last != *pass)) {
            self.canary = Some((pass, canary_ns()));
        }
        let group = self.groups.get_mut(spec.runner)?;
        let server = group.to_suspend();
        if group.is_cut {
            group.turns.resume();
        }
        if let Some(server) = server {
            self.suspender.resume(server);
        }
        if group.before.is_none() && (spec.pass.is_some() || group.runner.chunks_of.is_some()) {
            group.before = Some((group.runner.watch.snapshot(), SystemTime::now(), Instant::now()));
        }
        if group.pass != spec.pass {
            group.pass = spec.pass;
            group.clock.as_mut().map(ServerClock::find_processes);
        }
        group.look_at_session(spec);
        let (operations, cpu, others) = (group.operations(), group.cpu(), OthersTime::now());
        let began = Instant::now();
        let opens = began + spec.settle;
        if !group.is_cut {
            group.turns.begin(spec.session, spec.pass.map(|_| opens), spec.end);
        }
        let until = match spec.end {
            SliceEnd::Cut(time) if server.is_some() => Some(began + time),
            _ => None,
        };
        group.collector.begin_turn();
        Some(TurnStart { began, opens, until, operations, cpu, others })
    }

    /// Runs one turn; `None` when the interleaving has to end.
    fn give_turn(&mut self, spec: SliceSpec) -> Option<SliceResult> {
        let TurnStart { began, opens, until, operations, cpu, others } = self.begin_turn(&spec)?;
        let (is_idle, missed) = self.wait(spec.runner, began, until)?;
        let first = *self.first.get_or_insert(began);
        let group = self.groups.get_mut(spec.runner)?;
        group.had += began.elapsed();
        if let Some(pass) = spec.pass {
            group.missed += missed;
            if missed >= STOPPED {
                *group.missed_by_pass.entry(pass).or_default() += missed;
            }
        }
        let is_last = group.turns.is_finished();
        if is_last && group.runner.chunks_of.is_none() {
            return None;
        }
        let time = group.turns.worked(began);
        let server_cpu_us = group.cpu().zip(cpu).map(|(after, before)| after.since_us(&before));
        let others = OthersTime::now().zip(others).map(|(after, before)| after.since(before));
        let others_cpu_us = others.map(|others| (others.busy_us - server_cpu_us.unwrap_or(0.0)).max(0.0));
        let stopped = group.to_suspend().map(|server| self.suspender.suspend(server));
        group.is_cut = !is_idle;
        if let Some(stopped) = stopped.filter(|_| group.is_cut) {
            group.turns.cut(stopped);
        }
        let done = group.operations() - operations;
        // An empty last turn, of a step that ended with the turn before.
        let is_empty = is_last && done == 0;
        group.slices.push(spec.pass.filter(|_| !is_empty).map(|pass| Slice {
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
        let events = if matches!(spec.end, SliceEnd::Counted(_)) { group.turns.counted() } else { 0 };
        Some(SliceResult { spec, operations: done, events, time, others_cpu_us, is_last })
    }

    /// Waits until all threads of a group, whose turn began at `began`, are at rest, or until `until`. Returns whether they are at rest,
    /// and how long basecase was not running meanwhile; `None` when the interleaving has to end. A time limit reached meanwhile is this
    /// group's, since the others had no turn.
    fn wait(&mut self, group: usize, began: Instant, until: Option<Instant>) -> Option<(bool, Duration)> {
        let mut heartbeat = Heartbeat::new(began);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let planned = left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL);
            let is_idle = self.groups.get(group)?.turns.is_idle(planned);
            heartbeat.beat(Instant::now(), planned);
            for group in &mut self.groups {
                while let Ok(message) = group.finished.try_recv() {
                    group.collector.take(message);
                }
            }
            let own = self.groups.get_mut(group)?;
            own.collector.look_at(self.limits, &own.runner.group.progress, own.had + began.elapsed());
            if self.groups.iter().any(|group| group.collector.failure.is_some()) {
                return None;
            }
            if is_idle || until.is_some_and(|until| Instant::now() >= until) {
                return Some((is_idle, heartbeat.missed()));
            }
        }
    }

    /// Ends all worker groups.
    fn end(mut self) -> Vec<StepOutcome> {
        drop(std::mem::take(&mut self.suspender));
        let has_failed = self.groups.iter().any(|group| group.collector.failure.is_some());
        self.groups.iter_mut().for_each(InterleavedGroup::end_session);
        let counters: Vec<Measures> =
            self.groups
                .iter()
                .map(|group| {
                    group.before.as_ref().map_or_else(Measures::new, |(before, ..)| {
                        group.runner.watch.snapshot().since(before)
                    })
                })
                .collect();
        self.groups.iter().for_each(|group| group.turns.end());
        for group in &mut self.groups {
            loop {
                if has_failed {
                    group.shutdown.hasten(group.shared);
                }
                match group.finished.recv_timeout(POLL_INTERVAL) {
                    // These failures only follow from the group that failed first.
                    Ok(ThreadMessage::Failed(_)) if has_failed => {}
                    Ok(message) => group.collector.take(message),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        }
        let started = self.started;
        let outcome = |(group, counters): (InterleavedGroup<'_>, Measures)| {
            let (_, started_at, opened) =
                group.before.map_or((None, SystemTime::now(), started), |(before, at, opened)| {
                    (Some(before), at, opened)
                });
            let kinds = group.runner.group.kinds.clone();
            let mut outcome = group.collector.outcome(kinds, started_at, opened, counters);
            let us = |time: Duration| time.as_secs_f64() * 1e6;
            outcome.client.set(names::CLIENT_STOPPED_US, us(group.missed));
            for (pass, missed) in group.missed_by_pass {
                outcome.client.set(&format!("{}{pass}", names::CLIENT_STOPPED_PASS), us(missed));
            }
            let whole = |(counted, known): (Slice, Option<Slice>)| {
                let Slice { length_us, operations, rate, warm_up_operations, .. } = counted;
                Some(Slice { length_us, operations, rate, warm_up_operations, ..known? })
            };
            outcome.sessions = group.sessions;
            outcome.slices = match group.runner.chunks_of {
                Some(_) => group.slices.into_iter().flatten().collect(),
                None => outcome.slices.into_iter().zip(group.slices).filter_map(whole).collect(),
            };
            outcome
        };
        self.groups.into_iter().zip(counters).map(outcome).collect()
    }
}
