//! One thread that drives many sessions: while one waits for its server, the others go on.
//!
//! With a thread per session, every statement costs two context switches. Here a statement costs one only when there is nothing else to do,
//! so the client takes less of a machine that it shares with the server.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::time::{Duration, Instant};

use basecase_client::{Error, Kind, Session};
use basecase_model::{Operation, Reply};
use basecase_probe::thread_cpu_ns;
use basecase_workload::{Next, Restart, RolePlan, Script};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::progress::RoleProgress;
use crate::recorder::{Recorder, Recording, Span};
use crate::retry::{EVENT_ATTEMPTS, Retry, retry_after};
use crate::schedule::{Admission, Schedule};
use crate::shared::Shared;
use crate::turn_gate::Turn;

/// How often the thread checks whether the step was stopped while no reply arrives.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The most replies taken in per wake-up.
const EVENTS: usize = 256;

/// A role that follows a script of events over a non-blocking session.
pub(crate) struct DrivenRole {
    /// Its number among the roles of the step.
    pub(crate) index: usize,
    pub(crate) plan: RolePlan,
    pub(crate) session: Box<dyn Session>,
    pub(crate) script: Box<dyn Script>,
}

/// How busy a driver was while the window was open.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DriverLoad {
    /// Share of the time in which it did not wait for a reply, 0 to 1. Near 1, the client is the bottleneck.
    pub(crate) busy_share: f64,
    /// Total time that replies waited behind others that had arrived with them, in seconds.
    pub(crate) queued_s: f64,
    /// Number of replies.
    pub(crate) replies: u64,
}

/// Drives its roles until all are done or the step is stopped.
pub(crate) struct Driver<'a> {
    shared: &'a Shared,
    schedule: &'a Schedule,
    progress: &'a [RoleProgress],
    epoll: Epoll,
    connections: Vec<Connection>,
    /// Connections that wait for their next scheduled event.
    timers: BinaryHeap<Reverse<(Instant, usize)>>,
    active: usize,
    /// Connections that wait for the worker group's next turn.
    resting: Vec<usize>,
    failures: Vec<(usize, Error)>,
}

/// A role that is done.
pub(crate) struct Finished {
    /// The number of its role.
    pub(crate) index: usize,
    pub(crate) recording: Recording,
    pub(crate) session: Box<dyn Session>,
}

/// One connection and the state of its role.
struct Connection {
    member: DrivenRole,
    recorder: Recorder,
    operation: Operation,
    sent: Instant,
    intended: Option<Instant>,
    /// How often in a row its event was restarted.
    attempts: u32,
    is_rolling_back: bool,
    waits_to_write: bool,
    is_done: bool,
}

/// How busy the thread is while windows are open.
struct Meter {
    /// When the next window opens, if it is not open yet.
    opens: Option<Instant>,
    /// When the current window opened, and the thread's CPU time at that point, ns.
    opened: Option<(Instant, Option<u64>)>,
    /// Total time that windows were open.
    time: Duration,
    idle: Duration,
    cpu_ns: u64,
    replies: u64,
    queued: Duration,
}

impl Meter {
    fn new(opens: Instant) -> Self {
        Meter {
            opens: Some(opens),
            opened: None,
            time: Duration::ZERO,
            idle: Duration::ZERO,
            cpu_ns: 0,
            replies: 0,
            queued: Duration::ZERO,
        }
    }

    /// Opens the window when it is time.
    fn open(&mut self, now: Instant) {
        if self.opens.is_some_and(|opens| now >= opens) {
            self.opens = None;
            self.opened = Some((now, thread_cpu_ns()));
        }
    }

    /// Records that the thread waited for replies.
    fn wait(&mut self, from: Instant, woke: Instant) {
        if self.opened.is_some() {
            self.idle += woke - from;
        }
        self.open(woke);
    }

    /// Records a reply that had arrived when the thread woke.
    fn count(&mut self, woke: Instant, now: Instant) {
        if self.opened.is_some() {
            self.replies += 1;
            self.queued += now - woke;
        }
    }

    fn close(&mut self, now: Instant) {
        if let Some((opened, cpu_before)) = self.opened.take() {
            self.time += now.saturating_duration_since(opened);
            let spent = thread_cpu_ns().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
            self.cpu_ns += spent.unwrap_or(0);
        }
    }

    /// The load, and the CPU time in µs.
    fn read(&self) -> (DriverLoad, f64) {
        let open_s = self.time.as_secs_f64();
        let idle_share = (self.idle.as_secs_f64() / open_s).min(1.0);
        let load = DriverLoad {
            busy_share: if open_s > 0.0 { 1.0 - idle_share } else { 0.0 },
            queued_s: self.queued.as_secs_f64(),
            replies: self.replies,
        };
        (load, self.cpu_ns as f64 / 1_000.0)
    }
}

impl<'a> Driver<'a> {
    /// # Errors
    /// When the operating system cannot watch the sessions' sockets.
    pub(crate) fn new(
        members: Vec<DrivenRole>,
        shared: &'a Shared,
        schedule: &'a Schedule,
        progress: &'a [RoleProgress],
    ) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (connection, member) in members.iter().enumerate() {
            let socket = member.session.socket().ok_or(io::ErrorKind::Unsupported)?;
            epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, connection as u64))?;
        }
        let connection = |member: DrivenRole| Connection {
            recorder: Recorder::new(&member.plan, shared.kinds, schedule.origin),
            member,
            operation: Operation::default(),
            sent: schedule.origin,
            intended: None,
            attempts: 0,
            is_rolling_back: false,
            waits_to_write: false,
            is_done: false,
        };
        let connections: Vec<Connection> = members.into_iter().map(connection).collect();
        let active = connections.len();
        let (timers, resting, failures) = (BinaryHeap::new(), Vec::new(), Vec::new());
        Ok(Driver { shared, schedule, progress, epoll, connections, timers, active, resting, failures })
    }

    /// Drives until all roles are done or the step is stopped. Calls `on_failure` as soon as a role fails.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub(crate) fn drive(
        mut self,
        mut on_failure: impl FnMut(usize, Error),
    ) -> io::Result<(Vec<Finished>, DriverLoad)> {
        let mut events = [EpollEvent::empty(); EVENTS];
        let mut meter = Meter::new(self.schedule.origin);
        let mut turn = None;
        let mut now = Instant::now();
        meter.open(now);
        for connection in 0..self.connections.len() {
            now = Instant::now();
            self.begin(connection, now);
        }
        while self.active > 0 && !self.shared.is_stopped() {
            if self.resting.len() == self.active {
                meter.close(now);
                turn = self.rest(turn);
                let Some(turn) = turn else { break };
                meter.opens = turn.opens;
                for connection in std::mem::take(&mut self.resting) {
                    now = Instant::now();
                    self.begin(connection, now);
                }
                continue;
            }
            let count = match self.epoll.wait(&mut events, self.timeout(now)) {
                Ok(count) => count,
                Err(Errno::EINTR) => 0,
                Err(error) => return Err(error.into()),
            };
            let woke = Instant::now();
            meter.wait(now, woke);
            now = woke;
            for event in events.iter().take(count) {
                if let Some(received) = self.receive(event.data() as usize, woke, &mut meter) {
                    now = received;
                }
            }
            while let Some(Reverse((instant, connection))) = self.timers.peek().copied()
                && instant <= now
            {
                self.timers.pop();
                self.execute_next(connection);
            }
            self.failures.drain(..).for_each(|(index, error)| on_failure(index, error));
        }
        meter.close(now);
        let (load, cpu_us) = meter.read();
        Ok((self.finish(cpu_us), load))
    }

    /// Takes in what has arrived on a connection: when a statement was answered or failed, `None` while neither is known.
    #[inline]
    fn receive(&mut self, connection: usize, woke: Instant, meter: &mut Meter) -> Option<Instant> {
        match self.connections.get_mut(connection)?.member.session.receive() {
            Ok(None) => {
                self.watch(connection);
                None
            }
            Ok(Some(reply)) => {
                let now = Instant::now();
                meter.count(woke, now);
                self.answered(connection, &reply, now);
                Some(now)
            }
            Err(error) => {
                let now = Instant::now();
                self.failed(connection, error, now);
                Some(now)
            }
        }
    }

    /// Waits for the worker group's next turn; `None` when there is none.
    fn rest(&mut self, last: Option<Turn>) -> Option<Turn> {
        self.resting.iter().for_each(|connection| self.connections[*connection].recorder.end_turn());
        let turn = self.schedule.turns()?.wait(last)?;
        self.resting
            .iter()
            .for_each(|connection| self.connections[*connection].recorder.begin_turn(turn.opens));
        Some(turn)
    }

    /// What each role did. The thread's CPU time is divided among them in proportion to their statements.
    fn finish(self, cpu_us: f64) -> Vec<Finished> {
        let statements: u64 =
            self.connections.iter().map(|connection| connection.recorder.statements()).sum();
        let share =
            |connection: &Connection| connection.recorder.statements() as f64 / statements.max(1) as f64;
        let recording = |connection: Connection| {
            let own_us = cpu_us * share(&connection);
            let DrivenRole { index, session, .. } = connection.member;
            Finished { index, recording: connection.recorder.finish(own_us, None), session }
        };
        self.connections.into_iter().map(recording).collect()
    }

    /// How long to wait at most. An event that is due in less than a millisecond is awaited by polling.
    fn timeout(&self, now: Instant) -> EpollTimeout {
        let next = self.timers.peek().map(|Reverse((instant, _))| instant.saturating_duration_since(now));
        let wait = next.map_or(POLL_INTERVAL, |next| next.min(POLL_INTERVAL));
        EpollTimeout::from(wait.as_millis() as u8)
    }

    /// Asks for the connection's next event.
    fn begin(&mut self, connection: usize, now: Instant) {
        match self.schedule.admit(now) {
            Admission::Now => {
                self.connections[connection].recorder.admit(now);
                self.execute_next(connection);
            }
            Admission::At(instant) => {
                self.connections[connection].recorder.admit(instant);
                self.connections[connection].intended = Some(instant);
                self.timers.push(Reverse((instant, connection)));
            }
            Admission::Later => self.resting.push(connection),
            Admission::Closed => self.leave(connection),
        }
    }

    /// Sends the next operation of the connection's event.
    fn execute_next(&mut self, connection: usize) {
        let own = &mut self.connections[connection];
        // Its session may have ended while it waited for its schedule.
        if own.is_done {
            return;
        }
        own.operation.clear();
        // Driven scripts only execute or finish.
        if own.member.script.next(&mut own.operation) == Next::Execute {
            self.send(connection);
        } else {
            self.leave(connection);
        }
    }

    /// Sends the operation. Its time begins here, as a worker's does: since the thread last woke, it may have sent other operations.
    /// Reading the clock costs about 25 ns.
    fn send(&mut self, connection: usize) {
        let own = &mut self.connections[connection];
        let now = Instant::now();
        own.sent = now;
        match own.member.session.send(&own.operation) {
            Ok(()) => self.watch(connection),
            Err(error) => self.failed(connection, error, now),
        }
    }

    /// While part of the operation is still unsent, also waits until the socket is writable.
    fn watch(&mut self, connection: usize) {
        let own = &mut self.connections[connection];
        let has_unsent = own.member.session.has_unsent();
        if own.waits_to_write == has_unsent {
            return;
        }
        own.waits_to_write = has_unsent;
        let mut flags = EpollFlags::EPOLLIN;
        flags.set(EpollFlags::EPOLLOUT, has_unsent);
        let mut event = EpollEvent::new(flags, connection as u64);
        let changed = own.member.session.socket().map(|socket| self.epoll.modify(socket, &mut event));
        if let Some(Err(errno)) = changed {
            self.fail(connection, Error::of_waiting(errno.into()));
        }
    }

    fn answered(&mut self, connection: usize, reply: &Reply, now: Instant) {
        let own = &mut self.connections[connection];
        if std::mem::take(&mut own.is_rolling_back) {
            self.rolled_back(connection, now);
            return;
        }
        let span = Span { sent: own.sent, answered: now };
        own.recorder.count(&own.operation, reply, span, own.intended);
        own.member.script.answer(reply);
        if let Some(progress) = self.progress.get(own.member.index) {
            progress.add(own.operation.items, span.answered - span.sent);
        }
        if own.recorder.is_within_event() {
            self.go_on(connection, now);
        } else {
            own.attempts = 0;
            self.begin(connection, now);
        }
    }

    /// Goes on with the connection's event, unless the window closed long ago.
    #[inline]
    fn go_on(&mut self, connection: usize, now: Instant) {
        if self.schedule.is_overdue(now) { self.break_off(connection) } else { self.execute_next(connection) }
    }

    /// Ends the connection's event where it is. Where operations stand by themselves, there is no event to end.
    #[cold]
    fn break_off(&mut self, connection: usize) {
        let own = &mut self.connections[connection];
        match own.member.script.restart() {
            Restart::Operation => self.execute_next(connection),
            Restart::Event { rolls_back } => {
                own.recorder.break_off(rolls_back);
                if rolls_back { self.roll_back(connection) } else { self.leave(connection) }
            }
        }
    }

    fn roll_back(&mut self, connection: usize) {
        let own = &mut self.connections[connection];
        own.is_rolling_back = true;
        own.operation.clear();
        own.operation.text.push_str("ROLLBACK");
        self.send(connection);
    }

    /// Begins the connection's event anew, if it was not broken off.
    fn rolled_back(&mut self, connection: usize, now: Instant) {
        if self.connections[connection].recorder.is_within_event() {
            self.go_on(connection, now);
        } else {
            self.leave(connection);
        }
    }

    #[cold]
    fn failed(&mut self, connection: usize, error: Error, now: Instant) {
        let own = &mut self.connections[connection];
        if std::mem::take(&mut own.is_rolling_back) && error.kind() != Kind::Disconnected {
            // The dbms had rolled back already.
            self.rolled_back(connection, now);
            return;
        }
        match retry_after(&error, Some(own.member.script.as_mut())) {
            Retry::Event { rolls_back } if own.attempts < EVENT_ATTEMPTS => {
                own.attempts += 1;
                own.recorder.begin_anew(rolls_back, own.sent);
                if rolls_back { self.roll_back(connection) } else { self.go_on(connection, now) }
            }
            _ => self.fail(connection, error),
        }
    }

    fn fail(&mut self, connection: usize, error: Error) {
        self.failures.push((self.connections[connection].member.index, error));
        self.leave(connection);
    }

    /// Retires the connection. Its session stays open until all are done.
    fn leave(&mut self, connection: usize) {
        self.active -= 1;
        let own = &mut self.connections[connection];
        own.is_done = true;
        if let Some(socket) = own.member.session.socket() {
            // A socket that cannot be removed only causes spurious wake-ups.
            let _ = self.epoll.delete(socket);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::{AsFd as _, BorrowedFd};
    use std::os::unix::net::UnixStream;

    use basecase_client::Interrupter;
    use basecase_model::{OperationClass, ParameterType, Value};
    use basecase_workload::{Window, Work};

    use super::*;

    const SENDING: Duration = Duration::from_millis(10);

    /// Takes long to send, and has its answer at once.
    struct SlowSender {
        ours: UnixStream,
        theirs: UnixStream,
    }

    impl Session for SlowSender {
        fn prepare_with_types(&mut self, _: &str, _: &[ParameterType]) -> Result<usize, Error> {
            Ok(0)
        }

        fn arrange(&mut self, _: &[usize]) {}

        fn send(&mut self, _: &Operation) -> Result<(), Error> {
            let begun = Instant::now();
            while begun.elapsed() < SENDING {
                std::hint::spin_loop();
            }
            self.theirs.write_all(b"x").map_err(Error::of_waiting)
        }

        fn receive(&mut self) -> Result<Option<Reply>, Error> {
            Ok(Some(Reply::default()))
        }

        fn has_unsent(&self) -> bool {
            false
        }

        fn socket(&self) -> Option<BorrowedFd<'_>> {
            Some(self.ours.as_fd())
        }

        fn set_blocking(&mut self, _: bool) -> Result<(), Error> {
            Ok(())
        }

        fn query(&mut self, _: &str) -> Result<Vec<Vec<Value>>, Error> {
            Ok(Vec::new())
        }

        fn server_pid(&self) -> Option<u32> {
            None
        }

        fn interrupter(&self) -> Result<Interrupter, Error> {
            Ok(Box::new(|| {}))
        }
    }

    struct OneEvent(bool);

    impl Script for OneEvent {
        fn next(&mut self, operation: &mut Operation) -> Next {
            operation.ends_event = true;
            if std::mem::replace(&mut self.0, true) { Next::Finish } else { Next::Execute }
        }

        fn answer(&mut self, _: &Reply) {}
    }

    /// An event that never ends.
    struct Endless {
        rolls_back: bool,
    }

    impl Script for Endless {
        fn next(&mut self, operation: &mut Operation) -> Next {
            operation.text.push_str("DO 1");
            operation.ends_event = false;
            Next::Execute
        }

        fn answer(&mut self, _: &Reply) {}

        fn restart(&mut self) -> Restart {
            Restart::Event { rolls_back: self.rolls_back }
        }
    }

    #[test]
    fn events_that_do_not_end_are_broken_off() {
        let member = |index, rolls_back| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            DrivenRole {
                index,
                plan: RolePlan::new(1, "client", OperationClass::Query, Work::Queue(0)),
                session: Box::new(SlowSender { ours, theirs }),
                script: Box::new(Endless { rolls_back }),
            }
        };
        let shared = Shared::new(0, 1);
        let began = Instant::now();
        let window = Window { time: Some(10 * SENDING), ..Window::default() };
        let schedule = Schedule::new(&window, began);
        let members = vec![member(0, false), member(1, true)];
        let driver = Driver::new(members, &shared, &schedule, &[]).unwrap();
        let (finished, _) = driver.drive(|_, error| panic!("{error}")).unwrap();
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        for Finished { recording, .. } in finished {
            let record = &recording.role;
            assert_eq!((recording.broken_off, record.events, record.retries), (1, 0, 0));
            assert!(record.statements > 50 && record.ended_us >= 2_050_000, "{record:?}");
        }
    }

    #[test]
    fn defect_29_each_operation_is_timed_from_its_own_start() {
        let member = |index| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let plan = RolePlan::new(1, "client", OperationClass::Query, Work::Queue(0));
            DrivenRole {
                index,
                plan,
                session: Box::new(SlowSender { ours, theirs }),
                script: Box::new(OneEvent(false)),
            }
        };
        let shared = Shared::new(0, 1);
        let schedule = Schedule::new(&Window::default(), Instant::now());
        let driver = Driver::new((0..4).map(member).collect(), &shared, &schedule, &[]).unwrap();
        let (finished, _) = driver.drive(|_, error| panic!("{error}")).unwrap();
        let starts: Vec<u64> = finished.iter().map(|one| one.recording.role.started_us).collect();
        let is_apart = |pair: &[u64]| pair[1] >= pair[0] + SENDING.as_micros() as u64;
        assert!(starts.len() == 4 && starts.windows(2).all(is_apart), "{starts:?}");
    }
}
