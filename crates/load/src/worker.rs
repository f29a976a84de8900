//! One role running in its own thread.

use std::time::Instant;

use basecase_client::{Error, Kind, Session};
use basecase_model::{Operation, Reply};
use basecase_probe::{process_cpu_ns, thread_cpu_ns};
use basecase_workload::{Next, Restart, RolePlan, Script, Work};

use crate::pacer::Pacer;
use crate::progress::RoleProgress;
use crate::recorder::{Recorder, Recording, Span};
use crate::retry::{EVENT_ATTEMPTS, Retry, retry_after};
use crate::role_sessions::{NumberedSession, RoleSessions};
use crate::schedule::{Admission, Schedule};
use crate::shared::Shared;
use crate::statement_queue::{Consumer, Sender};
use crate::turn_gate::{Turn, TurnGate, TurnKind};

/// How often an operation is attempted before a retryable error fails the role.
const ATTEMPTS: u32 = 10;

/// One role with its session and its ends of statement queues.
pub(crate) struct Worker {
    pub(crate) plan: RolePlan,
    pub(crate) sessions: RoleSessions,
    /// The statement queues that this role feeds, in their order.
    pub(crate) senders: Vec<Option<Sender>>,
    /// The statement queue that this role works off.
    pub(crate) consumer: Option<Consumer>,
}

/// What a running role needs besides itself.
#[derive(Clone, Copy)]
pub(crate) struct RoleContext<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) schedule: &'a Schedule,
    pub(crate) progress: &'a RoleProgress,
}

/// CPU time so far in ns: of the client's thread, and of the server process behind the session.
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

/// A role's CPU time in the window, ns.
struct CpuMeter {
    spent: CpuTime,
    /// The readings at the start of the current interval.
    since: CpuTime,
}

impl CpuMeter {
    fn new(session: &dyn Session) -> Self {
        CpuMeter { spent: CpuTime { client: Some(0), server: Some(0) }, since: CpuTime::now(session) }
    }

    /// Counts from now on.
    fn open(&mut self, session: &dyn Session) {
        self.since = CpuTime::now(session);
    }

    /// Adds what was spent since `open`.
    fn close(&mut self, session: &dyn Session) {
        let now = CpuTime::now(session);
        let add = |spent: Option<u64>, since: Option<u64>, now: Option<u64>| {
            Some(spent? + now?.saturating_sub(since?))
        };
        self.spent = CpuTime {
            client: add(self.spent.client, self.since.client, now.client),
            server: add(self.spent.server, self.since.server, now.server),
        };
    }
}

/// Where a role that follows a script stands in its schedule.
struct Place {
    now: Instant,
    pacer: Pacer,
    /// When its CPU time begins to count; `None` once it does.
    opens: Option<Instant>,
    turn: Option<Turn>,
    /// When the event was meant to begin, if it has a rate.
    intended: Option<Instant>,
    /// How often in a row the event was undone.
    attempts: u32,
    /// When the next round of a paced role is due.
    due: Option<Instant>,
}

impl Place {
    fn beginning(plan: &RolePlan, schedule: &Schedule) -> Self {
        let now = Instant::now();
        Place {
            now,
            pacer: Pacer::new(plan.pacing, schedule.origin),
            opens: Some(schedule.origin).filter(|origin| now < *origin),
            turn: None,
            intended: None,
            attempts: 0,
            due: None,
        }
    }

    fn end_round(&mut self) {
        self.now = Instant::now();
        self.due = self.pacer.end_round(self.now);
    }
}

/// Whether an event may begin.
enum Admitted {
    Now,
    /// A turn has begun, whose schedule has to be asked.
    AskAgain,
    NoMore,
}

/// The result of executing an operation.
enum Execution {
    Answered(Reply, Span),
    /// The event has to be restarted, because of this error.
    Undone(Error),
}

impl Worker {
    /// Works until nothing is left or the step is stopped. Always raises the role's flag. Returns the sessions.
    pub(crate) fn work(
        mut self,
        context: RoleContext<'_>,
    ) -> (Recording, Option<Error>, Vec<NumberedSession>) {
        let mut recorder = Recorder::new(&self.plan, context.shared.kinds, context.schedule.origin);
        let mut cpu = CpuMeter::new(self.sessions.present.as_ref());
        let work = std::mem::replace(&mut self.plan.work, Work::Queue(usize::MAX));
        let result = match work {
            Work::Script(mut script) => self.follow(&mut *script, &mut recorder, context, &mut cpu),
            Work::Queue(_) => self.work_off(&mut recorder, context),
        };
        // In slices, only the time that counts is measured.
        if context.schedule.turns().is_none_or(|turns| turns.kind == TurnKind::Chunks) {
            cpu.close(self.sessions.present.as_ref());
        }
        if let Some(flag) = self.plan.raises {
            context.shared.raise(flag);
        }
        let microseconds = |time_ns: u64| time_ns as f64 / 1_000.0;
        let client_cpu_us = cpu.spent.client.map_or(0.0, microseconds);
        let recording = recorder.finish(client_cpu_us, cpu.spent.server.map(microseconds));
        (recording, result.err(), self.sessions.into_open())
    }

    fn is_done(&self, shared: &Shared) -> bool {
        shared.is_stopped() || self.plan.until.is_some_and(|flag| shared.is_raised(flag))
    }

    /// Follows the role's own script. CPU time is measured from the opening of the window, or during its turns.
    fn follow(
        &mut self,
        script: &mut dyn Script,
        recorder: &mut Recorder,
        context: RoleContext<'_>,
        cpu: &mut CpuMeter,
    ) -> Result<(), Error> {
        let RoleContext { shared, schedule, .. } = context;
        let mut place = Place::beginning(&self.plan, schedule);
        let mut operation = Operation::default();
        let mut is_within_round = false;
        while !self.is_done(shared) {
            if recorder.is_within_event()
                && schedule.is_overdue(place.now)
                && let Restart::Event { rolls_back } = script.restart()
            {
                if rolls_back {
                    self.roll_back()?;
                }
                recorder.break_off(rolls_back);
                break;
            }
            if !recorder.is_within_event() && !is_within_round {
                match self.admit(&mut place, recorder, context, cpu)? {
                    Admitted::Now => {}
                    Admitted::AskAgain => continue,
                    Admitted::NoMore => break,
                }
            }
            operation.clear();
            match script.next(&mut operation) {
                Next::Execute => self.advance(&operation, script, &mut place, recorder, context)?,
                Next::Aside(name) => match self.execute(&operation, None, recorder, shared)? {
                    Execution::Answered(reply, span) => {
                        recorder.count_aside(name, span);
                        script.answer(&reply);
                    }
                    Execution::Undone(error) => return Err(error),
                },
                Next::Send(queue) => {
                    is_within_round = true;
                    let sender = self.senders.get_mut(queue - self.plan.feeds.start).and_then(Option::as_mut);
                    if !sender.is_some_and(|sender| sender.send(&mut operation, place.pacer.intended())) {
                        return Ok(());
                    }
                }
                Next::RoundEnd => {
                    is_within_round = false;
                    place.end_round();
                }
                Next::Finish => {
                    if schedule.chunks().is_some() {
                        self.drain_queues();
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Waits until the next event may begin.
    #[inline]
    fn admit(
        &mut self,
        place: &mut Place,
        recorder: &mut Recorder,
        context: RoleContext<'_>,
        cpu: &mut CpuMeter,
    ) -> Result<Admitted, Error> {
        let RoleContext { shared, schedule, .. } = context;
        match schedule.admit(place.due.unwrap_or(place.now)) {
            Admission::Now => {
                if let Some(instant) = place.due.take() {
                    shared.wait_until(instant);
                    if shared.is_stopped() {
                        return Ok(Admitted::NoMore);
                    }
                }
                recorder.admit(place.now);
            }
            Admission::At(instant) => {
                recorder.admit(instant);
                place.intended = Some(instant);
                shared.wait_until(instant);
                if shared.is_stopped() {
                    return Ok(Admitted::NoMore);
                }
            }
            Admission::Later => {
                let Some(turns) = schedule.turns() else { return Ok(Admitted::NoMore) };
                return self.rest(turns, place, recorder, cpu);
            }
            Admission::Closed => return Ok(Admitted::NoMore),
        }
        if place.opens.is_some_and(|opens| Instant::now() >= opens) {
            place.opens = None;
            cpu.open(self.sessions.present.as_ref());
        }
        Ok(Admitted::Now)
    }

    /// Waits for the worker group's next turn.
    fn rest(
        &mut self,
        turns: &TurnGate,
        place: &mut Place,
        recorder: &mut Recorder,
        cpu: &mut CpuMeter,
    ) -> Result<Admitted, Error> {
        if turns.kind == TurnKind::Chunks {
            self.drain_queues();
            let before = turns.paused();
            place.turn = turns.wait(place.turn);
            if place.turn.is_none() {
                return Ok(Admitted::NoMore);
            }
            let pause = turns.paused() - before;
            recorder.stand_still(turns.paused());
            place.pacer.put_off(pause);
            place.due = place.due.map(|due| due + pause);
        } else {
            if place.opens.is_none() && place.turn.is_some_and(|turn| turn.opens.is_some()) {
                cpu.close(self.sessions.present.as_ref());
            }
            recorder.end_turn();
            place.turn = turns.wait(place.turn);
            let Some(turn) = place.turn else { return Ok(Admitted::NoMore) };
            self.sessions.go_to(turn.session)?;
            recorder.begin_turn(turn.opens);
            place.opens = turn.opens;
        }
        place.now = Instant::now();
        Ok(Admitted::AskAgain)
    }

    /// Executes the next statement of an event. Where that undoes the event, it begins anew.
    #[inline]
    fn advance(
        &mut self,
        operation: &Operation,
        script: &mut dyn Script,
        place: &mut Place,
        recorder: &mut Recorder,
        context: RoleContext<'_>,
    ) -> Result<(), Error> {
        match self.execute(operation, Some(&mut *script), recorder, context.shared)? {
            Execution::Answered(reply, span) => {
                recorder.count(operation, &reply, span, place.intended);
                context.progress.add(operation.items, span.answered - span.sent);
                script.answer(&reply);
                place.now = span.answered;
                if operation.ends_event {
                    place.attempts = 0;
                }
            }
            Execution::Undone(error) => {
                place.attempts += 1;
                if place.attempts == EVENT_ATTEMPTS {
                    return Err(error);
                }
                place.now = Instant::now();
            }
        }
        Ok(())
    }

    /// Waits until everything sent to other roles has been executed.
    fn drain_queues(&mut self) {
        self.senders.iter_mut().flatten().for_each(Sender::drain);
    }

    /// Executes a statement queue until its other end is done and it is empty.
    fn work_off(&mut self, recorder: &mut Recorder, context: RoleContext<'_>) -> Result<(), Error> {
        let Some(consumer) = self.consumer.take() else {
            return Ok(());
        };
        while !self.is_done(context.shared) {
            let Some(ticket) = consumer.next() else {
                break;
            };
            // The queue is empty while others have their turn.
            recorder.stand_still(context.shared.paused());
            match self.execute(&ticket.operation, None, recorder, context.shared)? {
                Execution::Answered(reply, span) => {
                    recorder.count(&ticket.operation, &reply, span, ticket.intended);
                    context.progress.add(ticket.operation.items, span.answered - span.sent);
                    consumer.give_back(ticket.operation);
                }
                Execution::Undone(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Executes one operation, and retries it where that can help. Retries count towards its time. A script may prefer to restart its event
    /// instead.
    #[inline]
    fn execute(
        &mut self,
        operation: &Operation,
        mut script: Option<&mut dyn Script>,
        recorder: &mut Recorder,
        shared: &Shared,
    ) -> Result<Execution, Error> {
        let mut sent = Instant::now();
        let paused = shared.paused();
        let mut attempt = 1;
        loop {
            let error = match self.sessions.present.execute(operation) {
                Ok(reply) => {
                    let answered = Instant::now();
                    let pause = shared.paused() - paused;
                    if !pause.is_zero() {
                        // The server was suspended in the meantime.
                        recorder.stand_still(paused + pause);
                        sent += pause;
                    }
                    return Ok(Execution::Answered(reply, Span { sent, answered }));
                }
                Err(error) => error,
            };
            if shared.is_stopped() {
                return Err(error);
            }
            // Not `as_deref_mut`: its result would borrow for the script's whole lifetime.
            let own: Option<&mut dyn Script> = match &mut script {
                Some(script) => Some(&mut **script),
                None => None,
            };
            match retry_after(&error, own) {
                Retry::Operation if attempt < ATTEMPTS => {
                    attempt += 1;
                    recorder.count_repetition();
                }
                Retry::Event { rolls_back } => {
                    if rolls_back {
                        self.roll_back()?;
                    }
                    recorder.begin_anew(rolls_back, sent);
                    return Ok(Execution::Undone(error));
                }
                Retry::Operation | Retry::Never => return Err(error),
            }
        }
    }

    /// Rolls back a transaction that the dbms may have rolled back already, or that never began.
    #[cold]
    fn roll_back(&mut self) -> Result<(), Error> {
        match self.sessions.present.query("ROLLBACK") {
            Err(error) if error.kind() == Kind::Disconnected => Err(error),
            _ => Ok(()),
        }
    }
}
