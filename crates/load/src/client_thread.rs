//! Which thread drives which roles.

use std::num::NonZero;
use std::thread;

use basecase_client::Session;
use basecase_workload::{RolePlan, Work};

use crate::driver::{DrivenRole, Driver, DriverLoad, Finished};
use crate::outcome::{AssembleError, Failure};
use crate::progress::RoleProgress;
use crate::recorder::Recording;
use crate::schedule::Schedule;
use crate::shared::Shared;
use crate::worker::{RoleContext, Worker};

/// From how many sessions on threads drive several each; docs/performance.md has the measurement.
const DRIVEN_FROM: usize = 32;
/// Sessions below which another thread has nothing to do.
const SESSIONS_PER_DRIVER: usize = 16;
/// Processors for each of these threads, where there are many: the server needs more for a statement than the client.
const CORES_PER_DRIVER: usize = 4;
/// These threads where there are few processors: two reached more than one, also on two.
const FEWEST_DRIVERS: usize = 2;

/// The roles of one thread.
pub(crate) enum ClientThread {
    /// One that waits for its session.
    Worker(usize, Box<Worker>),
    /// Several, none of which waits for its session alone.
    Driver(Vec<DrivenRole>),
}

/// What a thread tells while it works.
pub(crate) enum ThreadMessage {
    /// What a role did, by its number, with its session, which stays open until the counters have been read: what a process
    /// of the server had counted is gone with it.
    Done(usize, Box<Recording>, Box<dyn Session>),
    /// The step cannot go on.
    Failed(Failure),
    /// How busy the thread was.
    Load(DriverLoad),
}

/// Whether a thread can drive others beside it.
fn is_drivable(worker: &Worker) -> bool {
    worker.plan.only_follows_script() && worker.session.socket().is_some()
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
        let Worker { mut plan, mut session, .. } = worker;
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
                let (recording, error, session) = worker.work(RoleContext { shared, schedule, progress });
                if let Some(error) = error {
                    tell(ThreadMessage::Failed(failed(error)));
                }
                tell(ThreadMessage::Done(index, Box::new(recording), session));
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
                            tell(ThreadMessage::Done(index, Box::new(recording), session));
                        }
                        tell(ThreadMessage::Load(load));
                    }
                    Err(error) => tell(ThreadMessage::Failed(Failure::Client(error))),
                }
            }
        }
        // Only now: whoever sees that all threads are at rest also sees why.
        if let Some(turns) = schedule.turns().filter(|_| takes_turns) {
            turns.leave();
        }
    }

    /// Whether it waits for the turns of its worker group by itself: what works off a statement queue rests when nothing is sent.
    pub(crate) fn takes_turns(&self) -> bool {
        match self {
            ClientThread::Worker(_, worker) => matches!(worker.plan.work, Work::Script(_)),
            ClientThread::Driver(_) => true,
        }
    }
}

/// How the failure of a role is told.
fn failure_of(plan: &RolePlan) -> impl Fn(basecase_client::Error) -> Failure + use<> {
    let (client, role) = (plan.client, plan.name);
    move |source| Failure::Session { client, role, source }
}
