//! One role at work in its own thread.

use std::time::Instant;

use basecase_client::{Error, Kind, Session};
use basecase_model::{Operation, Reply};
use basecase_probe::{process_cpu_ns, thread_cpu_ns};
use basecase_workload::{Next, RolePlan, Script, Work};

use crate::lane::{Consumer, Sender};
use crate::mending::{EVENT_ATTEMPTS, Mending, mending};
use crate::pacer::Pacer;
use crate::progress::RoleProgress;
use crate::recorder::{Recorder, Recording, Span};
use crate::schedule::{Admission, Schedule};
use crate::shared::Shared;

/// How often an operation is repeated after a retryable error before the role gives up.
const ATTEMPTS: u32 = 10;

/// One role with its session and its ends of the lanes.
pub(crate) struct Worker {
    pub(crate) plan: RolePlan,
    pub(crate) session: Box<dyn Session>,
    /// The lanes that this role feeds, in their order.
    pub(crate) senders: Vec<Option<Sender>>,
    /// The lane that this role works off.
    pub(crate) consumer: Option<Consumer>,
}

/// What a role at work needs besides itself.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) schedule: &'a Schedule,
    pub(crate) progress: &'a RoleProgress,
}

/// CPU time so far in ns: of the client's thread, and of the session's process of the server.
#[derive(Clone, Copy)]
struct CpuTime {
    client: Option<u64>,
    server: Option<u64>,
}

impl CpuTime {
    fn now(session: &dyn Session) -> Self {
        CpuTime { client: thread_cpu_ns(), server: session.server_pid().and_then(process_cpu_ns) }
    }
}

/// What came of an operation.
enum Outcome {
    Answered(Reply, Span),
    /// The event has to be begun anew, for this reason.
    Undone(Error),
}

impl Worker {
    /// Works until nothing is left or the step is stopped. Raises the role's flag in every case. The session is given back.
    pub(crate) fn work(mut self, site: Site<'_>) -> (Recording, Option<Error>, Box<dyn Session>) {
        let mut recorder = Recorder::new(&self.plan, site.shared.kinds, site.schedule.origin);
        let mut before = CpuTime::now(self.session.as_ref());
        let work = std::mem::replace(&mut self.plan.work, Work::Lane(usize::MAX));
        let result = match work {
            Work::Script(mut script) => self.follow(&mut *script, &mut recorder, site, &mut before),
            Work::Lane(_) => self.work_off(&mut recorder, site),
        };
        if let Some(flag) = self.plan.raises {
            site.shared.raise(flag);
        }
        let after = CpuTime::now(self.session.as_ref());
        let since =
            |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?) as f64 / 1_000.0);
        let client_cpu_us = since(before.client, after.client).unwrap_or(0.0);
        let recording = recorder.finish(client_cpu_us, since(before.server, after.server));
        (recording, result.err(), self.session)
    }

    fn is_done(&self, shared: &Shared) -> bool {
        shared.is_stopped() || self.plan.until.is_some_and(|flag| shared.is_raised(flag))
    }

    /// Follows the role's own script. `before` is read again when the window opens.
    fn follow(
        &mut self,
        script: &mut dyn Script,
        recorder: &mut Recorder,
        site: Site<'_>,
        before: &mut CpuTime,
    ) -> Result<(), Error> {
        let Site { shared, schedule, progress } = site;
        let mut pacer = Pacer::new(self.plan.pacing, schedule.origin);
        let mut operation = Operation::default();
        let mut now = Instant::now();
        let mut is_warming_up = now < schedule.origin;
        let (mut intended, mut attempts) = (None, 0);
        while !self.is_done(shared) {
            if !recorder.is_within_event() {
                match schedule.admit(now) {
                    Admission::Now => recorder.admit(now),
                    Admission::At(instant) => {
                        recorder.admit(instant);
                        intended = Some(instant);
                        shared.wait_until(instant);
                        if shared.is_stopped() {
                            break;
                        }
                    }
                    Admission::Closed => break,
                }
                if is_warming_up && Instant::now() >= schedule.origin {
                    is_warming_up = false;
                    *before = CpuTime::now(self.session.as_ref());
                }
            }
            operation.clear();
            match script.next(&mut operation) {
                Next::Execute => match self.execute(&operation, Some(&mut *script), recorder, shared)? {
                    Outcome::Answered(reply, span) => {
                        recorder.count(&operation, &reply, span, intended);
                        progress.add(operation.items, span.answered - span.sent);
                        script.answer(&reply);
                        now = span.answered;
                        if operation.ends_event {
                            attempts = 0;
                        }
                    }
                    Outcome::Undone(error) => {
                        attempts += 1;
                        if attempts == EVENT_ATTEMPTS {
                            return Err(error);
                        }
                    }
                },
                Next::Aside(name) => match self.execute(&operation, None, recorder, shared)? {
                    Outcome::Answered(reply, span) => {
                        recorder.count_aside(name, span);
                        script.answer(&reply);
                    }
                    Outcome::Undone(error) => return Err(error),
                },
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
    fn work_off(&mut self, recorder: &mut Recorder, site: Site<'_>) -> Result<(), Error> {
        let Some(consumer) = self.consumer.take() else {
            return Ok(());
        };
        while !self.is_done(site.shared) {
            let Some(ticket) = consumer.next() else {
                break;
            };
            match self.execute(&ticket.operation, None, recorder, site.shared)? {
                Outcome::Answered(reply, span) => {
                    recorder.count(&ticket.operation, &reply, span, ticket.intended);
                    site.progress.add(ticket.operation.items, span.answered - span.sent);
                    consumer.give_back(ticket.operation);
                }
                Outcome::Undone(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Executes one operation, repeated while a repetition can mend its error. Repetitions count into its time. A script may
    /// want to begin its event anew instead.
    #[inline]
    fn execute(
        &mut self,
        operation: &Operation,
        mut script: Option<&mut dyn Script>,
        recorder: &mut Recorder,
        shared: &Shared,
    ) -> Result<Outcome, Error> {
        let sent = Instant::now();
        let mut attempt = 1;
        loop {
            let error = match self.session.execute(operation) {
                Ok(reply) => {
                    return Ok(Outcome::Answered(reply, Span { sent, answered: Instant::now() }));
                }
                Err(error) => error,
            };
            if shared.is_stopped() {
                return Err(error);
            }
            // Not `as_deref_mut`, whose result would live as long as the script.
            let own: Option<&mut dyn Script> = match &mut script {
                Some(script) => Some(&mut **script),
                None => None,
            };
            match mending(&error, own) {
                Mending::Again if attempt < ATTEMPTS => {
                    attempt += 1;
                    recorder.count_repetition();
                }
                Mending::Undo { rolls_back } => {
                    if rolls_back {
                        self.roll_back()?;
                    }
                    recorder.begin_anew(rolls_back, sent);
                    return Ok(Outcome::Undone(error));
                }
                Mending::Again | Mending::Nothing => return Err(error),
            }
        }
    }

    /// Rolls back a transaction that the dbms may have rolled back already, or that never began.
    #[cold]
    fn roll_back(&mut self) -> Result<(), Error> {
        match self.session.query("ROLLBACK") {
            Err(error) if error.kind() == Kind::Disconnected => Err(error),
            _ => Ok(()),
        }
    }
}
