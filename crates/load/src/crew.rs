//! All roles of a step: made ready before the clock starts, then let go together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use basecase_client::{Endpoint, Error, Interrupter};
use basecase_model::{Measures, StatementCounts, StatementRecord, names};
use basecase_probe::{ProcessorSet, Watch};
use basecase_workload::{SetUp, StatementKind, StepPlan, Window, Work};

use crate::driver::Load;
use crate::lane::lane;
use crate::outcome::{AssembleError, Failure, Outcome};
use crate::progress::{Progress, RoleProgress};
use crate::recorder::Recording;
use crate::schedule::Schedule;
use crate::shared::Shared;
use crate::team::{News, Team, teams};
use crate::worker::Worker;

/// How often limits are looked at while the roles work.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long roles may take to end their current operation before it is broken off.
const GRACE: Duration = Duration::from_secs(2);

/// What ends a step besides its own work.
pub struct Limits<'a> {
    /// Raised when the user asks to stop.
    pub stop: &'a AtomicBool,
    /// The hard limit.
    pub time: Option<Duration>,
}

/// The roles of one step, each with an open session.
pub struct Crew {
    teams: Vec<Team>,
    interrupters: Vec<Interrupter>,
    flags: usize,
    kinds: Vec<StatementKind>,
    window: Window,
    processors: Option<ProcessorSet>,
    progress: Arc<Progress>,
}

impl Crew {
    /// Opens one session for each role and makes it ready. `plan.before` must have been executed.
    ///
    /// # Errors
    /// When a session cannot be opened or the dbms refuses its set-up.
    pub fn assemble(mut plan: StepPlan, endpoint: &Endpoint) -> Result<Crew, AssembleError> {
        let (mut senders, mut consumers): (Vec<_>, Vec<_>) =
            (0..plan.lanes).map(|_| lane()).map(|(sender, consumer)| (Some(sender), Some(consumer))).unzip();
        let roles = plan.roles.iter().map(|role| RoleProgress::new(role.class, role.planned_items));
        let progress = Progress::new(roles.collect());
        let mut workers = Vec::with_capacity(plan.roles.len());
        let mut interrupters = Vec::with_capacity(plan.roles.len());
        for role in std::mem::take(&mut plan.roles) {
            let failed = |source: Error| AssembleError { client: role.client, role: role.name, source };
            let mut session = endpoint.connect().map_err(failed)?;
            for set_up in &role.set_up {
                match set_up {
                    SetUp::Text(sql) => session.query(sql).map(drop).map_err(failed)?,
                    SetUp::Prepare { sql, types } => {
                        session.prepare_with_types(sql, types).map(drop).map_err(failed)?;
                    }
                }
            }
            interrupters.push(session.interrupter().map_err(failed)?);
            let consumer = match role.work {
                Work::Lane(lane) => consumers.get_mut(lane).and_then(Option::take),
                Work::Script(_) => None,
            };
            let senders = senders.get_mut(role.feeds.clone()).unwrap_or_default();
            let senders = senders.iter_mut().map(Option::take).collect();
            workers.push(Worker { plan: role, session, senders, consumer });
        }
        let teams = teams(workers)?;
        let StepPlan { flags, kinds, window, .. } = plan;
        Ok(Crew { teams, interrupters, flags, kinds, window, processors: None, progress: Arc::new(progress) })
    }

    /// Lets the threads of the roles run on these processors only.
    pub fn confined(self, processors: Option<ProcessorSet>) -> Crew {
        Crew { processors, ..self }
    }

    /// How far the step is, while it runs.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Lets all roles go together and waits until they are done or a limit is reached. Closes the sessions.
    pub fn run(self, watch: &Watch, limits: &Limits<'_>) -> Outcome {
        let Crew { teams, interrupters, flags, kinds, window, processors, progress } = self;
        let shared = Shared::new(flags, kinds.len());
        let gate = Barrier::new(teams.len() + 1);
        let (sender, finished) = channel();
        let (count, threads) = (progress.roles.len(), teams.len());
        let start = || Schedule::new(&window, Instant::now());

        thread::scope(|scope| {
            for team in teams {
                let (shared, gate, progress, sender) = (&shared, &gate, &progress, sender.clone());
                let processors = processors.as_ref();
                scope.spawn(move || {
                    let confined = processors.map_or(Ok(()), ProcessorSet::confine_thread);
                    gate.wait();
                    gate.wait();
                    if let Err(error) = confined {
                        let _ = sender.send(News::Failed(Failure::Client(error)));
                        return;
                    }
                    let schedule = shared.schedule.get_or_init(start);
                    team.work(shared, schedule, &progress.roles, &|news| {
                        // The receiver waits for every team.
                        let _ = sender.send(news);
                    });
                });
            }
            drop(sender);

            gate.wait();
            let mut before = watch.snapshot();
            let mut started_at = SystemTime::now();
            let origin = shared.schedule.get_or_init(start).origin;
            gate.wait();

            let mut is_open = window.warm_up.is_zero();
            let mut recordings: Vec<Option<Recording>> = (0..count).map(|_| None).collect();
            let mut sessions = Vec::with_capacity(count);
            let mut failure = None;
            let mut loads = Vec::new();
            let mut stopped_at: Option<Instant> = None;
            let mut interrupted = false;
            loop {
                let now = Instant::now();
                if !is_open && now >= origin {
                    is_open = true;
                    before = watch.snapshot();
                    started_at = SystemTime::now();
                }
                let until_open = if is_open { LOOK_EVERY } else { origin - now };
                match finished.recv_timeout(LOOK_EVERY.min(until_open)) {
                    Ok(News::Done(index, recording, session)) => {
                        recordings[index] = Some(*recording);
                        sessions.push(session);
                    }
                    // Errors after the first are its consequences.
                    Ok(News::Failed(error)) => failure = failure.or(Some(error)),
                    Ok(News::Load(load)) => loads.push(load),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if failure.is_none() {
                    failure = limit_reached(limits, origin);
                }
                if failure.is_some() {
                    let since = stopped_at.get_or_insert_with(|| {
                        shared.stop();
                        Instant::now()
                    });
                    if !interrupted && since.elapsed() > GRACE {
                        interrupters.iter().for_each(|interrupt| interrupt());
                        interrupted = true;
                    }
                }
            }
            let counters: Measures = watch.snapshot().since(&before);
            drop(sessions);
            let recordings: Vec<Recording> = recordings.into_iter().flatten().collect();
            let statements = statements(kinds, &recordings);
            let warm_up_events = recordings.iter().map(|recording| recording.warm_up_events).sum();
            let roles: Vec<_> = recordings.into_iter().map(|recording| recording.role).collect();
            let ended_us = roles.iter().map(|role| role.ended_us).max().unwrap_or(0);
            let (opened, seconds) = (origin, ended_us as f64 / 1e6);
            let client = client_measures(threads, &loads);
            Outcome {
                started_at,
                opened,
                seconds,
                roles,
                statements,
                warm_up_events,
                client,
                counters,
                failure,
            }
        })
    }
}

/// How busy the client's threads were.
fn client_measures(threads: usize, loads: &[Load]) -> Measures {
    let mut measures = Measures::new();
    measures.set(names::CLIENT_THREADS, threads as f64);
    if let Some(busiest) = loads.iter().map(|load| load.busy_share).reduce(f64::max) {
        measures.set(names::CLIENT_BUSY_SHARE, busiest);
        let replies: u64 = loads.iter().map(|load| load.replies).sum();
        let queued_s: f64 = loads.iter().map(|load| load.queued_s).sum();
        measures.set(names::CLIENT_QUEUE_US, queued_s * 1e6 / replies.max(1) as f64);
    }
    measures
}

/// Sums up each kind of statements over all roles.
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

fn limit_reached(limits: &Limits<'_>, origin: Instant) -> Option<Failure> {
    if limits.stop.load(Ordering::Relaxed) {
        return Some(Failure::Interrupted);
    }
    limits.time.filter(|limit| origin.elapsed() > *limit).map(Failure::TimeLimit)
}
