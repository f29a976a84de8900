//! One role at work in its own thread.

use std::time::Instant;

use basecase_client::{Error, Kind, Session};
use basecase_model::{Operation, Reply};
use basecase_probe::{process_cpu_ns, thread_cpu_ns};
use basecase_workload::{Next, RolePlan, Script, Work};

use crate::pacer::Pacer;
use crate::progress::RoleProgress;
use crate::recorder::{Recorder, Recording, Span};
use crate::retry::{EVENT_ATTEMPTS, Retry, retry_after};
use crate::schedule::{Admission, Schedule};
use crate::shared::Shared;
use crate::statement_queue::{Consumer, Sender};
use crate::turn_gate::{Turn, TurnKind};

/// How often an operation is repeated after a retryable error before the role gives up.
const ATTEMPTS: u32 = 10;

/// One role with its session and its ends of the statement queues.
pub(crate) struct Worker {
    pub(crate) plan: RolePlan,
    pub(crate) session: Box<dyn Session>,
    /// The statement queues that this role feeds, in their order.
    pub(crate) senders: Vec<Option<Sender>>,
    /// The statement queue that this role works off.
    pub(crate) consumer: Option<Consumer>,
}

/// What a role at work needs besides itself.
#[derive(Clone, Copy)]
pub(crate) struct RoleContext<'a> {
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

/// CPU time of a role in the window, ns.
struct CpuMeter {
    spent: CpuTime,
    /// When what is being counted began.
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

    /// Takes in what was spent since the opening.
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

/// What came of an operation.
enum Execution {
    Answered(Reply, Span),
    /// The event has to be begun anew, for this reason.
    Undone(Error),
}

impl Worker {
    /// Works until nothing is left or the step is stopped. Raises the role's flag in every case. The session is given back.
    pub(crate) fn work(mut self, context: RoleContext<'_>) -> (Recording, Option<Error>, Box<dyn Session>) {
        let mut recorder = Recorder::new(&self.plan, context.shared.kinds, context.schedule.origin);
        let mut cpu = CpuMeter::new(self.session.as_ref());
        let work = std::mem::replace(&mut self.plan.work, Work::Queue(usize::MAX));
        let result = match work {
            Work::Script(mut script) => self.follow(&mut *script, &mut recorder, context, &mut cpu),
            Work::Queue(_) => self.work_off(&mut recorder, context),
        };
        // In slices only what counts is counted.
        if context.schedule.turns().is_none_or(|turns| turns.kind == TurnKind::Portions) {
            cpu.close(self.session.as_ref());
        }
        if let Some(flag) = self.plan.raises {
            context.shared.raise(flag);
        }
        let microseconds = |time_ns: u64| time_ns as f64 / 1_000.0;
        let client_cpu_us = cpu.spent.client.map_or(0.0, microseconds);
        let recording = recorder.finish(client_cpu_us, cpu.spent.server.map(microseconds));
        (recording, result.err(), self.session)
    }

    fn is_done(&self, shared: &Shared) -> bool {
        shared.is_stopped() || self.plan.until.is_some_and(|flag| shared.is_raised(flag))
    }

    /// Follows the role's own script. CPU time counts from when the window opens, or in its turns.
    fn follow(
        &mut self,
        script: &mut dyn Script,
        recorder: &mut Recorder,
        context: RoleContext<'_>,
        cpu: &mut CpuMeter,
    ) -> Result<(), Error> {
        let RoleContext { shared, schedule, progress } = context;
        let mut pacer = Pacer::new(self.plan.pacing, schedule.origin);
        let mut operation = Operation::default();
        let mut now = Instant::now();
        let mut opens = Some(schedule.origin).filter(|origin| now < *origin);
        let mut turn = None;
        let (mut intended, mut attempts) = (None, 0);
        // When its next round is due, of a role that is paced.
        let mut due = None;
        let mut is_within_round = false;
        while !self.is_done(shared) {
            if !recorder.is_within_event() && !is_within_round {
                match schedule.admit(due.unwrap_or(now)) {
                    Admission::Now => {
                        if let Some(instant) = due.take() {
                            shared.wait_until(instant);
                            if shared.is_stopped() {
                                break;
                            }
                        }
                        recorder.admit(now);
                    }
                    Admission::At(instant) => {
                        recorder.admit(instant);
                        intended = Some(instant);
                        shared.wait_until(instant);
                        if shared.is_stopped() {
                            break;
                        }
                    }
                    Admission::Later => {
                        let Some(turns) = schedule.turns() else { break };
                        if turns.kind == TurnKind::Portions {
                            self.drain_queues();
                            let before = turns.paused();
                            turn = turns.wait(turn);
                            if turn.is_none() {
                                break;
                            }
                            let pause = turns.paused() - before;
                            recorder.stand_still(turns.paused());
                            pacer.put_off(pause);
                            due = due.map(|due| due + pause);
                            now = Instant::now();
                            continue;
                        }
                        if opens.is_none() && turn.is_some_and(|turn: Turn| turn.opens.is_some()) {
                            cpu.close(self.session.as_ref());
                        }
                        recorder.end_turn();
                        turn = turns.wait(turn);
                        let Some(turn) = turn else { break };
                        recorder.begin_turn(turn.opens);
                        opens = turn.opens;
                        now = Instant::now();
                        continue;
                    }
                    Admission::Closed => break,
                }
                if opens.is_some_and(|opens| Instant::now() >= opens) {
                    opens = None;
                    cpu.open(self.session.as_ref());
                }
            }
            operation.clear();
            match script.next(&mut operation) {
                Next::Execute => match self.execute(&operation, Some(&mut *script), recorder, shared)? {
                    Execution::Answered(reply, span) => {
                        recorder.count(&operation, &reply, span, intended);
                        progress.add(operation.items, span.answered - span.sent);
                        script.answer(&reply);
                        now = span.answered;
                        if operation.ends_event {
                            attempts = 0;
                        }
                    }
                    Execution::Undone(error) => {
                        attempts += 1;
                        if attempts == EVENT_ATTEMPTS {
                            return Err(error);
                        }
                    }
                },
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
                    if !sender.is_some_and(|sender| sender.send(&mut operation, pacer.intended())) {
                        return Ok(());
                    }
                }
                Next::RoundEnd => {
                    is_within_round = false;
                    now = Instant::now();
                    due = pacer.end_round(now);
                }
                Next::Finish => {
                    if schedule.portions().is_some() {
                        self.drain_queues();
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Waits until what was sent to other roles has been executed.
    fn drain_queues(&mut self) {
        self.senders.iter_mut().flatten().for_each(Sender::drain);
    }

    /// Works off a statement queue until its other end is done and it is empty.
    fn work_off(&mut self, recorder: &mut Recorder, context: RoleContext<'_>) -> Result<(), Error> {
        let Some(consumer) = self.consumer.take() else {
            return Ok(());
        };
        while !self.is_done(context.shared) {
            let Some(ticket) = consumer.next() else {
                break;
            };
            // No ticket is on its way while others have their turn.
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

    /// Executes one operation, repeated while a repetition can mend its error. Repetitions count into its time. A script may
    /// want to begin its event anew instead.
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
            let error = match self.session.execute(operation) {
                Ok(reply) => {
                    let answered = Instant::now();
                    let pause = shared.paused() - paused;
                    if !pause.is_zero() {
                        // Its server stood still in the midst of it.
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
            // Not `as_deref_mut`, whose result would live as long as the script.
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
        match self.session.query("ROLLBACK") {
            Err(error) if error.kind() == Kind::Disconnected => Err(error),
            _ => Ok(()),
        }
    }
}
