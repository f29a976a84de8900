//! Assigns roles to threads.

use std::num::NonZero;
use std::thread;

use basecase_workload::{RolePlan, Work};

use crate::driver::{DrivenRole, Driver, DriverLoad, Finished};
use crate::outcome::{AssembleError, Failure};
use crate::progress::RoleProgress;
use crate::recorder::Recording;
use crate::role_sessions::NumberedSession;
use crate::schedule::Schedule;
use crate::shared::Shared;
use crate::worker::{RoleContext, Worker};

/// From this many sessions on, a thread drives several of them. docs/performance.md has the measurement.
const DRIVEN_FROM: usize = 32;
/// With fewer sessions per thread than this, a further thread would be idle.
const SESSIONS_PER_DRIVER: usize = 16;
/// Processors per driver thread on large machines: for a statement, the server needs more processor time than the client.
const CORES_PER_DRIVER: usize = 4;
/// The least number of driver threads, for small machines: two threads outperformed one, even on two processors.
const FEWEST_DRIVERS: usize = 2;

/// The roles of one thread.
pub(crate) enum ClientThread {
    /// One role, whose thread waits for its session.
    Worker(usize, Box<Worker>),
    /// Several roles, multiplexed on one thread.
    Driver(Vec<DrivenRole>),
}

/// What a thread reports while it works.
pub(crate) enum ThreadMessage {
    /// A role's number, its recording and its sessions. They stay open until the counters have been read, because the counts of a server
    /// process are lost when it exits.
    Done(usize, Box<Recording>, Vec<NumberedSession>),
    /// The step cannot go on.
    Failed(Failure),
    /// How busy the driver was.
    Load(DriverLoad),
}

/// Whether a thread can drive this role along with others.
fn is_drivable(worker: &Worker) -> bool {
    worker.plan.only_follows_script() && worker.sessions.present.socket().is_some()
}

/// Divides roles among threads.
pub(crate) fn divide(workers: Vec<Worker>) -> Result<Vec<ClientThread>, AssembleError> {
    if workers.len() < DRIVEN_FROM || !workers.iter().all(is_drivable) {
        let alone = |(index, worker)| ClientThread::Worker(index, Box::new(worker));
        return Ok(workers.into_iter().enumerate().map(alone).collect());
    }
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let count = cores.div_ceil(CORES_PER_DRIVER).max(FEWEST_DRIVERS).min(workers.len() / SESSIONS_PER_DRIVER);
    let mut drivers: Vec<Vec<DrivenRole>> = (0..count).map(|_| Vec::new()).collect();
    for (index, worker) in workers.into_iter().enumerate() {
        let Worker { mut plan, sessions, .. } = worker;
        let mut session = sessions.present;
        session.set_blocking(false).map_err(|source| AssembleError {
            client: plan.client,
            role: plan.name,
            source,
        })?;
        if let Work::Script(script) = std::mem::replace(&mut plan.work, Work::Queue(usize::MAX)) {
            drivers[index % count].push(DrivenRole { index, plan, session, script });
        }
    }
    Ok(drivers.into_iter().map(ClientThread::Driver).collect())
}

impl ClientThread {
    /// Works until all roles are done or the step is stopped.
    pub(crate) fn work(
        self,
        shared: &Shared,
        schedule: &Schedule,
        progress: &[RoleProgress],
        tell: &dyn Fn(ThreadMessage),
    ) {
        let takes_turns = self.takes_turns();
        match self {
            ClientThread::Worker(index, worker) => {
                let Some(progress) = progress.get(index) else { return };
                let failed = failure_of(&worker.plan);
                let (recording, error, sessions) = worker.work(RoleContext { shared, schedule, progress });
                if let Some(error) = error {
                    tell(ThreadMessage::Failed(failed(error)));
                }
                tell(ThreadMessage::Done(index, Box::new(recording), sessions));
            }
            ClientThread::Driver(members) => {
                let failed: Vec<_> =
                    members.iter().map(|member| (member.index, failure_of(&member.plan))).collect();
                let driven = Driver::new(members, shared, schedule, progress).and_then(|driver| {
                    driver.drive(|index, error| {
                        if let Some((_, failed)) = failed.iter().find(|(own, _)| *own == index) {
                            tell(ThreadMessage::Failed(failed(error)));
                        }
                    })
                });
                match driven {
                    Ok((finished, load)) => {
                        for Finished { index, recording, session } in finished {
                            let session = NumberedSession { number: 0, session };
                            tell(ThreadMessage::Done(index, Box::new(recording), vec![session]));
                        }
                        tell(ThreadMessage::Load(load));
                    }
                    Err(error) => tell(ThreadMessage::Failed(Failure::Client(error))),
                }
            }
        }
        // This comes last, so that whoever sees all threads at rest also sees why.
        if let Some(turns) = schedule.turns().filter(|_| takes_turns) {
            turns.leave();
        }
    }

    /// Whether the thread itself waits for turns. A consumer of a statement queue rests as soon as nothing is sent to it.
    pub(crate) fn takes_turns(&self) -> bool {
        match self {
            ClientThread::Worker(_, worker) => matches!(worker.plan.work, Work::Script(_)),
            ClientThread::Driver(_) => true,
        }
    }
}

/// Turns a role's session error into a failure of the step.
fn failure_of(plan: &RolePlan) -> impl Fn(basecase_client::Error) -> Failure + use<> {
    let (client, role) = (plan.client, plan.name);
    move |source| Failure::Session { client, role, source }
}
