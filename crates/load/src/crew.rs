//! All roles of a step: made ready before the clock starts, then let go together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use basecase_client::{Endpoint, Error, Interrupter};
use basecase_model::{Measures, RoleRecord};
use basecase_probe::Watch;
use basecase_workload::{SetUp, StepPlan, Work};

use crate::lane::lane;
use crate::outcome::{AssembleError, Failure, Outcome};
use crate::progress::{Progress, RoleProgress};
use crate::worker::{Shared, Worker};

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
    workers: Vec<Worker>,
    interrupters: Vec<Interrupter>,
    flags: usize,
    progress: Arc<Progress>,
}

impl Crew {
    /// Opens one session for each role and makes it ready. `plan.before` must have been executed.
    ///
    /// # Errors
    /// When a session cannot be opened or the dbms refuses its set-up.
    pub fn assemble(plan: StepPlan, endpoint: &Endpoint) -> Result<Crew, AssembleError> {
        let (mut senders, mut consumers): (Vec<_>, Vec<_>) =
            (0..plan.lanes).map(|_| lane()).map(|(sender, consumer)| (Some(sender), Some(consumer))).unzip();
        let progress = Progress {
            roles: plan
                .roles
                .iter()
                .map(|role| RoleProgress {
                    class: role.class,
                    planned_items: role.planned_items,
                    items: AtomicU64::new(0),
                })
                .collect(),
        };
        let mut workers = Vec::with_capacity(plan.roles.len());
        let mut interrupters = Vec::with_capacity(plan.roles.len());
        for role in plan.roles {
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
        Ok(Crew { workers, interrupters, flags: plan.flags, progress: Arc::new(progress) })
    }

    /// How far the step is, while it runs.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Lets all roles go together and waits until they are done or a limit is reached. Closes the sessions.
    pub fn run(self, watch: &Watch, limits: &Limits<'_>) -> Outcome {
        let Crew { workers, interrupters, flags, progress } = self;
        let shared = Shared::new(flags);
        let gate = Barrier::new(workers.len() + 1);
        let (sender, finished) = channel();
        let count = workers.len();

        thread::scope(|scope| {
            for (index, worker) in workers.into_iter().enumerate() {
                let (shared, gate, progress, sender) = (&shared, &gate, &progress, sender.clone());
                scope.spawn(move || {
                    gate.wait();
                    gate.wait();
                    let origin = *shared.origin.get_or_init(Instant::now);
                    let (client, role) = (worker.plan.client, worker.plan.name);
                    let (record, error) = worker.work(shared, &progress.roles[index], origin);
                    let failure = error.map(|source| Failure::Session { client, role, source });
                    // The receiver waits for every role.
                    let _ = sender.send((index, record, failure));
                });
            }
            drop(sender);

            gate.wait();
            let before = watch.snapshot();
            let started_at = SystemTime::now();
            let origin = *shared.origin.get_or_init(Instant::now);
            gate.wait();

            let mut records: Vec<Option<RoleRecord>> = (0..count).map(|_| None).collect();
            let mut failure = None;
            let mut stopped_at: Option<Instant> = None;
            let mut interrupted = false;
            loop {
                match finished.recv_timeout(LOOK_EVERY) {
                    Ok((index, record, error)) => {
                        records[index] = Some(record);
                        // Errors after the first are its consequences.
                        if failure.is_none() {
                            failure = error;
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if records.iter().all(Option::is_some) {
                    break;
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
            let roles: Vec<RoleRecord> = records.into_iter().flatten().collect();
            let ended_us = roles.iter().map(|role| role.ended_us).max().unwrap_or(0);
            Outcome { started_at, seconds: ended_us as f64 / 1e6, roles, counters, failure }
        })
    }
}

fn limit_reached(limits: &Limits<'_>, origin: Instant) -> Option<Failure> {
    if limits.stop.load(Ordering::Relaxed) {
        return Some(Failure::Interrupted);
    }
    limits.time.filter(|limit| origin.elapsed() > *limit).map(Failure::TimeLimit)
}
