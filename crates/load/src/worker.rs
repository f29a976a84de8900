//! One role at work in its own thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use basecase_client::{Error, Kind, Session};
use basecase_model::{Operation, Reply, RoleRecord};
use basecase_probe::{process_cpu_ns, thread_cpu_ns};
use basecase_workload::{Next, RolePlan, Script, Work};

use crate::lane::{Consumer, Sender};
use crate::pacer::Pacer;
use crate::progress::RoleProgress;
use crate::recorder::{Recorder, Span};

/// How often an operation is repeated after a retryable error before the role gives up.
const ATTEMPTS: u32 = 10;

/// What all roles of a step see.
pub(crate) struct Shared {
    /// When the window opened.
    pub(crate) origin: OnceLock<Instant>,
    /// Every role stops after its current operation.
    pub(crate) abort: AtomicBool,
    /// Flags that roles raise for each other.
    pub(crate) flags: Vec<AtomicBool>,
    pause: Mutex<()>,
    wake: Condvar,
}

impl Shared {
    pub(crate) fn new(flags: usize) -> Self {
        Shared {
            origin: OnceLock::new(),
            abort: AtomicBool::new(false),
            flags: (0..flags).map(|_| AtomicBool::new(false)).collect(),
            pause: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Stops every role and wakes those that wait for their schedule.
    pub(crate) fn stop(&self) {
        self.abort.store(true, Ordering::Release);
        let _guard = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        self.wake.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }

    /// Waits until `instant`, or until the step is stopped.
    fn wait_until(&self, instant: Instant) {
        let mut guard = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = instant.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_stopped() {
                return;
            }
            guard = self.wake.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// One role with its session and its ends of the lanes.
pub(crate) struct Worker {
    pub(crate) plan: RolePlan,
    pub(crate) session: Box<dyn Session>,
    /// The lanes that this role feeds, in their order.
    pub(crate) senders: Vec<Option<Sender>>,
    /// The lane that this role works off.
    pub(crate) consumer: Option<Consumer>,
}

impl Worker {
    /// Works until nothing is left or the step is stopped. Raises the role's flag in every case.
    pub(crate) fn work(
        mut self,
        shared: &Shared,
        progress: &RoleProgress,
        origin: Instant,
    ) -> (RoleRecord, Option<Error>) {
        let mut recorder = Recorder::new(&self.plan, origin);
        let pid = self.session.server_pid();
        let server_before = pid.and_then(process_cpu_ns);
        let client_before = thread_cpu_ns();
        let work = std::mem::replace(&mut self.plan.work, Work::Lane(usize::MAX));
        let result = match work {
            Work::Script(mut script) => self.follow(&mut *script, &mut recorder, shared, progress, origin),
            Work::Lane(_) => self.work_off(&mut recorder, shared, progress),
        };
        if let Some(flag) = self.plan.raises {
            shared.flags[flag.0].store(true, Ordering::Release);
        }
        let since =
            |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?) as f64 / 1_000.0);
        let client_cpu_us = since(client_before, thread_cpu_ns()).unwrap_or(0.0);
        let server_cpu_us = since(server_before, pid.and_then(process_cpu_ns));
        (recorder.finish(client_cpu_us, server_cpu_us), result.err())
    }

    fn is_done(&self, shared: &Shared) -> bool {
        shared.is_stopped()
            || self.plan.until.is_some_and(|flag| shared.flags[flag.0].load(Ordering::Acquire))
    }

    /// Follows the role's own script.
    fn follow(
        &mut self,
        script: &mut dyn Script,
        recorder: &mut Recorder,
        shared: &Shared,
        progress: &RoleProgress,
        origin: Instant,
    ) -> Result<(), Error> {
        let mut pacer = Pacer::new(self.plan.pacing, origin);
        let mut operation = Operation::default();
        while !self.is_done(shared) {
            operation.clear();
            match script.next(&mut operation) {
                Next::Execute => {
                    let (reply, span) = self.execute(&operation, recorder, shared)?;
                    recorder.count(&operation, &reply, span, None);
                    progress.items.fetch_add(u64::from(operation.items), Ordering::Relaxed);
                    script.answer(&reply);
                }
                Next::Aside(name) => {
                    let (reply, span) = self.execute(&operation, recorder, shared)?;
                    recorder.count_aside(name, span);
                    script.answer(&reply);
                }
                Next::Send(lane) => {
                    let sender = self.senders.get(lane - self.plan.feeds.start).and_then(Option::as_ref);
                    if !sender.is_some_and(|sender| sender.send(&mut operation, pacer.intended())) {
                        return Ok(());
                    }
                }
                Next::RoundEnd => {
                    if let Some(instant) = pacer.end_round(Instant::now()) {
                        shared.wait_until(instant);
                    }
                }
                Next::Finish => return Ok(()),
            }
        }
        Ok(())
    }

    /// Works off a lane until its other end is done and it is empty.
    fn work_off(
        &mut self,
        recorder: &mut Recorder,
        shared: &Shared,
        progress: &RoleProgress,
    ) -> Result<(), Error> {
        let Some(consumer) = self.consumer.take() else {
            return Ok(());
        };
        while !self.is_done(shared) {
            let Some(ticket) = consumer.next() else {
                break;
            };
            let (reply, span) = self.execute(&ticket.operation, recorder, shared)?;
            recorder.count(&ticket.operation, &reply, span, ticket.intended);
            progress.items.fetch_add(u64::from(ticket.operation.items), Ordering::Relaxed);
            consumer.give_back(ticket.operation);
        }
        Ok(())
    }

    /// Executes one operation, repeated while a repetition can mend its error. Repetitions count into its time.
    #[inline]
    fn execute(
        &mut self,
        operation: &Operation,
        recorder: &mut Recorder,
        shared: &Shared,
    ) -> Result<(Reply, Span), Error> {
        let sent = Instant::now();
        let mut attempt = 1;
        loop {
            match self.session.execute(operation) {
                Ok(reply) => return Ok((reply, Span { sent, answered: Instant::now() })),
                Err(error)
                    if error.kind() == Kind::Retryable && attempt < ATTEMPTS && !shared.is_stopped() =>
                {
                    attempt += 1;
                    recorder.count_retry();
                }
                Err(error) => return Err(error),
            }
        }
    }
}
