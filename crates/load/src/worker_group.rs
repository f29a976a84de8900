//! All roles of a step: set up before the clock starts, then started together.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime};

use basecase_client::Endpoint;
use basecase_model::{Measures, Slice, StatementCounts, StatementRecord, names};
use basecase_probe::{ProcessorSet, Watch, panic_message};
use basecase_workload::{StatementKind, StepPlan, Window, Work};

use crate::client_thread::{ClientThread, ThreadMessage, divide};
use crate::driver::DriverLoad;
use crate::heartbeat::Heartbeat;
use crate::opening::{Connections, Interrupters, Opening};
use crate::outcome::{AssembleError, Failure, SessionPlanUses, StepOutcome};
use crate::progress::{Progress, RoleProgress};
use crate::recorder::Recording;
use crate::role_sessions::{NumberedSession, RoleSessions};
use crate::schedule::Schedule;
use crate::session_history::SessionHistories;
use crate::shared::Shared;
use crate::stall::Stalls;
use crate::statement_queue::statement_queue;
use crate::worker::Worker;

/// How often limits are checked while the roles work.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long roles may take to finish their current operation before it is interrupted.
const GRACE: Duration = Duration::from_secs(2);

/// What ends a step besides its own work.
pub struct Limits<'a> {
    /// Set when the user asks to stop.
    pub stop: &'a AtomicBool,
    /// The hard limit; for groups that take turns, it applies to each group's own turns.
    pub time: Option<Duration>,
}

/// The roles of one step, each with an open session.
pub struct WorkerGroup {
    pub(crate) threads: Vec<ClientThread>,
    pub(crate) interrupters: Interrupters,
    pub(crate) flags: usize,
    pub(crate) kinds: Vec<StatementKind>,
    window: Window,
    processors: Option<ProcessorSet>,
    pub(crate) histories: Option<SessionHistories>,
    connections: Connections,
    pub(crate) progress: Arc<Progress>,
}

impl WorkerGroup {
    /// Opens a session for each role and sets it up, after a history of its own if there are histories. `plan.before` must have been
    /// executed.
    ///
    /// # Errors
    /// When a session cannot be opened or the dbms refuses its set-up.
    pub fn assemble(
        mut plan: StepPlan,
        endpoint: &Endpoint,
        histories: Option<SessionHistories>,
    ) -> Result<WorkerGroup, AssembleError> {
        let (mut senders, mut consumers): (Vec<_>, Vec<_>) = (0..plan.statement_queues)
            .map(|_| statement_queue())
            .map(|(sender, consumer)| (Some(sender), Some(consumer)))
            .unzip();
        let roles = plan
            .roles
            .iter()
            .map(|role| RoleProgress::new(role.client, role.name, role.class, role.planned_items));
        let progress = Progress::new(roles.collect());
        let mut workers = Vec::with_capacity(plan.roles.len());
        let (interrupters, connections) = (Interrupters::default(), Connections::default());
        for role in std::mem::take(&mut plan.roles) {
            let opening = Opening::of(&role, endpoint, histories, &connections);
            let session = opening.open(0)?;
            interrupters.add(session.interrupter().map_err(|error| opening.failed(error))?);
            let consumer = match role.work {
                Work::Queue(queue) => consumers.get_mut(queue).and_then(Option::take),
                Work::Script(_) => None,
            };
            let senders = senders.get_mut(role.feeds.clone()).unwrap_or_default();
            let senders = senders.iter_mut().map(Option::take).collect();
            let sessions = RoleSessions::beginning(session, opening, interrupters.clone(), workers.len());
            workers.push(Worker { plan: role, sessions, senders, consumer });
        }
        let threads = divide(workers)?;
        let StepPlan { flags, kinds, window, .. } = plan;
        Ok(WorkerGroup {
            threads,
            interrupters,
            flags,
            kinds,
            window,
            processors: None,
            histories,
            connections,
            progress: Arc::new(progress),
        })
    }

    /// Restricts the roles' threads to these processors.
    pub fn confined(self, processors: Option<ProcessorSet>) -> WorkerGroup {
        WorkerGroup { processors, ..self }
    }

    /// The step's progress, while it runs.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// What collects the reports of so many threads.
    pub(crate) fn collector(&self, threads: usize) -> Collector {
        Collector::new(self.progress.roles.len(), threads, self.connections.clone())
    }

    /// Starts all roles together, and waits until they are done or a limit is reached. Closes the sessions.
    pub fn run(mut self, watch: &Watch, limits: &Limits<'_>) -> StepOutcome {
        let shared = Shared::new(self.flags, self.kinds.len());
        let threads = std::mem::take(&mut self.threads);
        let gate = Barrier::new(threads.len() + 1);
        let mut collector = self.collector(threads.len());
        let window = std::mem::take(&mut self.window);
        let start = || Schedule::new(&window, Instant::now());

        thread::scope(|scope| {
            let finished = self.spawn(scope, threads, &shared, || {
                gate.wait();
                gate.wait();
                shared.schedule.get_or_init(start)
            });
            gate.wait();
            let mut before = watch.snapshot();
            let mut started_at = SystemTime::now();
            let origin = shared.schedule.get_or_init(start).origin;
            gate.wait();

            let mut is_open = window.warm_up.is_zero();
            if is_open {
                self.progress.open();
            }
            let mut shutdown = Shutdown::new(&self.interrupters);
            let mut heartbeat = Heartbeat::new(origin);
            loop {
                let now = Instant::now();
                if !is_open && now >= origin {
                    is_open = true;
                    before = watch.snapshot();
                    started_at = SystemTime::now();
                    self.progress.open();
                }
                let until_open = if is_open { POLL_INTERVAL } else { origin.saturating_duration_since(now) };
                let planned = POLL_INTERVAL.min(until_open);
                let message = finished.recv_timeout(planned);
                if is_open {
                    heartbeat.beat(Instant::now(), planned);
                }
                match message {
                    Ok(message) => collector.take(message),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                collector.look_at(limits, &self.progress, origin.elapsed());
                if collector.failure.is_some() {
                    shutdown.hasten(&shared);
                }
            }
            let counters: Measures = watch.snapshot().since(&before);
            let mut outcome = collector.outcome(self.kinds, started_at, origin, counters);
            outcome.client.set(names::CLIENT_STOPPED_US, heartbeat.missed().as_secs_f64() * 1e6);
            outcome
        })
    }

    /// Spawns the threads, each of which waits in `schedule` until it may begin.
    pub(crate) fn spawn<'scope, 'env: 'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        threads: Vec<ClientThread>,
        shared: &'env Shared,
        schedule: impl Fn() -> &'env Schedule + Clone + Send + 'scope,
    ) -> Receiver<ThreadMessage> {
        let (sender, finished) = channel();
        for thread in threads {
            let (progress, sender) = (Arc::clone(&self.progress), sender.clone());
            let (processors, schedule) = (self.processors.clone(), schedule.clone());
            scope.spawn(move || {
                let confined = processors.as_ref().map_or(Ok(()), ProcessorSet::confine_thread);
                let schedule = schedule();
                // The receiver outlives every thread.
                let tell = |message| drop(sender.send(message));
                if let Err(error) = confined {
                    tell(ThreadMessage::Failed(Failure::Client(error)));
                    return;
                }
                // Otherwise the others would wait for this thread forever, or the result would silently lack its part.
                let worked = catch_unwind(AssertUnwindSafe(|| {
                    thread.work(shared, schedule, &progress.roles, &tell);
                }));
                if let Err(payload) = worked {
                    tell(ThreadMessage::Failed(Failure::Panic(panic_message(&*payload))));
                }
            });
        }
        finished
    }
}

/// Collects what the threads of a worker group report.
pub(crate) struct Collector {
    threads: usize,
    connections: Connections,
    recordings: Vec<Option<Recording>>,
    /// Closed only once the counters have been read: the counts of a server process are lost when it exits.
    sessions: Vec<NumberedSession>,
    loads: Vec<DriverLoad>,
    stalls: Stalls,
    /// Why the step ends early.
    pub(crate) failure: Option<Failure>,
}

impl Collector {
    fn new(roles: usize, threads: usize, connections: Connections) -> Self {
        Collector {
            threads,
            connections,
            recordings: (0..roles).map(|_| None).collect(),
            sessions: Vec::with_capacity(roles),
            loads: Vec::new(),
            stalls: Stalls::default(),
            failure: None,
        }
    }

    pub(crate) fn take(&mut self, message: ThreadMessage) {
        match message {
            ThreadMessage::Done(index, recording, sessions) => {
                self.recordings[index] = Some(*recording);
                self.sessions.extend(sessions);
            }
            // Errors after the first are its consequences.
            ThreadMessage::Failed(error) => self.failure = self.failure.take().or(Some(error)),
            ThreadMessage::Load(load) => self.loads.push(load),
        }
    }

    /// Records that a turn begins: before it, the group could not complete anything.
    pub(crate) fn begin_turn(&mut self) {
        self.stalls.forget();
    }

    /// Checks whether the group, which has worked for `had`, has reached a limit.
    pub(crate) fn look_at(&mut self, limits: &Limits<'_>, progress: &Progress, had: Duration) {
        if self.failure.is_some() {
            return;
        }
        let now = Instant::now();
        self.stalls.look(progress, now);
        if limits.stop.load(Ordering::Relaxed) {
            self.failure = Some(Failure::Interrupted);
        } else if let Some(limit) = limits.time.filter(|limit| had > *limit) {
            let is_done = |role: usize| self.recordings.get(role).is_some_and(Option::is_some);
            let stall = self.stalls.longest(progress, now, is_done);
            self.failure = Some(Failure::TimeLimit { limit, stall });
        }
    }

    /// Turns everything collected into the outcome. Asks the sessions for their plans, now that the clock stands, and closes them.
    pub(crate) fn outcome(
        mut self,
        kinds: Vec<StatementKind>,
        started_at: SystemTime,
        opened: Instant,
        counters: Measures,
    ) -> StepOutcome {
        let plan_uses = if self.failure.is_none() { plan_uses(&mut self.sessions) } else { Vec::new() };
        drop(self.sessions);
        let recordings: Vec<Recording> = self.recordings.into_iter().flatten().collect();
        let statements = statements(kinds, &recordings);
        let warm_up_events = recordings.iter().map(|recording| recording.warm_up_events).sum();
        let broken_off = recordings.iter().map(|recording| recording.broken_off).sum();
        let slices = slices(&recordings);
        let roles: Vec<_> = recordings.into_iter().map(|recording| recording.role).collect();
        let ended_us = roles.iter().map(|role| role.ended_us).max().unwrap_or(0);
        StepOutcome {
            started_at,
            opened,
            seconds: ended_us as f64 / 1e6,
            slices,
            sessions: Vec::new(),
            plan_uses,
            connections: self.connections.count(),
            roles,
            statements,
            warm_up_events,
            broken_off,
            client: client_measures(self.threads, &self.loads),
            counters,
            failure: self.failure,
        }
    }
}

/// Ends roles that were told to stop.
pub(crate) struct Shutdown<'a> {
    interrupters: &'a Interrupters,
    since: Option<Instant>,
    is_interrupted: bool,
}

impl<'a> Shutdown<'a> {
    pub(crate) fn new(interrupters: &'a Interrupters) -> Self {
        Shutdown { interrupters, since: None, is_interrupted: false }
    }

    /// Stops the roles, and interrupts operations that are still running after a grace period. May be called repeatedly.
    pub(crate) fn hasten(&mut self, shared: &Shared) {
        let since = self.since.get_or_insert_with(|| {
            shared.stop();
            Instant::now()
        });
        if !self.is_interrupted && since.elapsed() > GRACE {
            self.interrupters.interrupt();
            self.is_interrupted = true;
        }
    }
}

/// The group's turns as slices, without what only the interleaver knows.
fn slices(recordings: &[Recording]) -> Vec<Slice> {
    let turns = recordings.iter().map(|recording| recording.slices.len()).min().unwrap_or(0);
    let of_turn = |turn: usize| {
        let mut slice = Slice::default();
        for role in recordings.iter().filter_map(|recording| recording.slices.get(turn)) {
            slice.operations += role.items;
            slice.warm_up_operations += role.warm_up_items;
            if !role.time.is_zero() {
                slice.rate += role.items as f64 / role.time.as_secs_f64();
            }
            slice.length_us = slice.length_us.max(role.time.as_secs_f64() * 1e6);
        }
        slice
    };
    (0..turns).map(of_turn).collect()
}

/// What the sessions tell of the plans of their prepared statements.
fn plan_uses(sessions: &mut [NumberedSession]) -> Vec<SessionPlanUses> {
    let of_session = |session: &mut NumberedSession| {
        let number = session.number;
        let told = session.plan_uses().into_iter();
        told.map(move |(statement, uses)| SessionPlanUses { session: number, statement, uses })
    };
    sessions.iter_mut().flat_map(of_session).collect()
}

/// How busy the client's threads were.
fn client_measures(threads: usize, loads: &[DriverLoad]) -> Measures {
    let mut measures = Measures::new();
    measures.set(names::CLIENT_THREADS, threads as f64);
    // A thread without any reply, as there may be when events arrive at a low rate, was no limit.
    let at_work = loads.iter().filter(|load| load.replies > 0);
    if let Some(busiest) = at_work.map(|load| load.busy_share).reduce(f64::max) {
        measures.set(names::CLIENT_BUSY_SHARE, busiest);
        let replies: u64 = loads.iter().map(|load| load.replies).sum();
        let queued_s: f64 = loads.iter().map(|load| load.queued_s).sum();
        measures.set(names::CLIENT_QUEUE_US, queued_s * 1e6 / replies.max(1) as f64);
    }
    measures
}

/// Sums each kind of statement over all roles.
fn statements(kinds: Vec<StatementKind>, recordings: &[Recording]) -> Vec<StatementRecord> {
    let sum = |of: fn(&Recording) -> &[StatementCounts], kind: usize| {
        let mut sum = StatementCounts::default();
        recordings.iter().filter_map(|recording| of(recording).get(kind)).for_each(|counts| sum.add(counts));
        sum
    };
    let record = |(number, StatementKind { name, class, .. })| StatementRecord {
        name,
        class,
        window: sum(|recording| &recording.window, number),
        warm_up: sum(|recording| &recording.warm_up, number),
    };
    kinds.into_iter().enumerate().map(record).collect()
}
