//! All roles of a step on one thread, one statement at a time: the same statements in the same order at each run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use basecase_client::{Endpoint, Error, Session};
use basecase_model::{Operation, OperationClass};
use basecase_probe::is_asleep;
use basecase_workload::{Next, RolePlan, Script, StepPlan, Work};

use crate::opening::{Connections, Opening};
use crate::outcome::{AssembleError, Failure};

/// Queries between two rounds of a writer that works in the background.
const QUERIES_PER_ROUND: u64 = 10;

/// How long a statement waits for a server that does not go to sleep.
const SLEEP_PATIENCE: Duration = Duration::from_secs(1);

/// The roles of one step, each with an open session.
pub struct SerialGroup {
    roles: Vec<SerialRole>,
    /// The role whose events are counted.
    main: usize,
    /// The role that makes statements for others in the background of the main one.
    background: Option<usize>,
    has_ended: bool,
}

struct SerialRole {
    client: u32,
    name: &'static str,
    class: OperationClass,
    script: Option<Box<dyn Script>>,
    /// The statement queue that it works off.
    queue: Option<usize>,
    session: Box<dyn Session>,
    /// The server's process or thread for the session, which each statement waits for: see [`SerialGroup::pace`].
    process: Option<u32>,
}

/// What a group did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SerialCounts {
    /// Events of the main role; rounds of one that makes statements for others.
    pub events: u64,
    /// Items of the class that was asked for.
    pub items: u64,
    /// Statements whose reply was not as expected.
    pub mismatches: u64,
}

impl SerialGroup {
    /// Opens a session for each role and sets it up. `plan.before` must have been executed.
    ///
    /// # Errors
    /// When a session cannot be opened or the dbms refuses its set-up.
    pub fn assemble(plan: StepPlan, endpoint: &Endpoint) -> Result<SerialGroup, AssembleError> {
        let roles = plan.roles.into_iter().map(|role| SerialRole::open(role, endpoint));
        let roles = roles.collect::<Result<Vec<_>, _>>()?;
        let scripted = |class: Option<OperationClass>| {
            roles
                .iter()
                .position(|role| role.script.is_some() && class.is_none_or(|class| role.class == class))
        };
        let main = scripted(Some(OperationClass::Query)).or_else(|| scripted(None)).unwrap_or(0);
        let background = scripted(Some(OperationClass::Build)).filter(|role| *role != main);
        Ok(SerialGroup { roles, main, background, has_ended: false })
    }

    /// The class and the session of each role, in the order in which the sessions began.
    pub fn sessions(&mut self) -> impl Iterator<Item = (OperationClass, &mut (dyn Session + 'static))> {
        self.roles.iter_mut().map(|role| (role.class, role.session.as_mut()))
    }

    /// Lets each statement of a role wait until the server's process, or thread, for its session sleeps. The server then takes the same way through
    /// its wait for each statement, however loaded the machine is.
    pub fn pace(&mut self, role: usize, process: u32) {
        if let Some(role) = self.roles.get_mut(role) {
            role.process = Some(process);
        }
    }

    /// Waits until the server's processes for the sessions sleep, as far as [`SerialGroup::pace`] named them.
    pub fn await_sleep(&self) {
        self.roles.iter().filter_map(|role| role.process).for_each(await_sleep);
    }

    /// Executes this many events of the main role, or fewer if it ends first. Every tenth is preceded by a round of the role in the
    /// background. Counts the items of `class`.
    ///
    /// # Errors
    /// When a statement fails, or the user wants to stop.
    pub fn run(
        &mut self,
        events: u64,
        class: OperationClass,
        stop: &AtomicBool,
    ) -> Result<SerialCounts, Failure> {
        let mut counts = SerialCounts::default();
        for event in 0..events {
            if self.has_ended {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            if let Some(background) = self.background.filter(|_| event % QUERIES_PER_ROUND == 0) {
                self.event(background, class, &mut counts)?;
            }
            if self.event(self.main, class, &mut counts)? {
                counts.events += 1;
            }
        }
        Ok(counts)
    }

    /// One event or round of a role; `false` if it had none left.
    fn event(
        &mut self,
        number: usize,
        class: OperationClass,
        counts: &mut SerialCounts,
    ) -> Result<bool, Failure> {
        let Some(mut script) = self.roles[number].script.take() else { return Ok(false) };
        let done = self.follow(number, script.as_mut(), class, counts);
        self.roles[number].script = Some(script);
        done
    }

    fn follow(
        &mut self,
        number: usize,
        script: &mut dyn Script,
        class: OperationClass,
        counts: &mut SerialCounts,
    ) -> Result<bool, Failure> {
        let mut operation = Operation::default();
        let mut is_begun = false;
        loop {
            operation.clear();
            let next = script.next(&mut operation);
            let consumer = match next {
                Next::Execute | Next::Aside(_) => number,
                Next::Send(queue) => {
                    let consumer = self.roles.iter().position(|role| role.queue == Some(queue));
                    let Some(consumer) = consumer else { continue };
                    consumer
                }
                Next::RoundEnd => return Ok(true),
                Next::Finish => {
                    self.has_ended |= number == self.main;
                    return Ok(is_begun);
                }
            };
            is_begun = true;
            let role = &mut self.roles[consumer];
            role.process.into_iter().for_each(await_sleep);
            let reply = role.session.execute(&operation).map_err(|source| role.failed(source))?;
            if !matches!(next, Next::Aside(_)) {
                counts.mismatches += u64::from(!operation.expectation.is_met_by(&reply));
                if role.class == class {
                    counts.items += u64::from(operation.items);
                }
            }
            if !matches!(next, Next::Send(_)) {
                script.answer(&reply);
            }
            // An indexer goes on with its asides until it has nothing left.
            let is_event = next == Next::Execute && self.roles[number].class == OperationClass::Query;
            if is_event && operation.ends_event {
                return Ok(true);
            }
        }
    }
}

/// Waits until a process sleeps, is gone, or works for long.
fn await_sleep(process: u32) {
    let until = Instant::now() + SLEEP_PATIENCE;
    while is_asleep(process) == Some(false) && Instant::now() < until {
        std::thread::yield_now();
    }
}

impl SerialRole {
    fn open(plan: RolePlan, endpoint: &Endpoint) -> Result<SerialRole, AssembleError> {
        let session = Opening::of(&plan, endpoint, None, &Connections::default()).open(0)?;
        let (client, name, class) = (plan.client, plan.name, plan.class);
        let (script, queue) = match plan.work {
            Work::Script(script) => (Some(script), None),
            Work::Queue(queue) => (None, Some(queue)),
        };
        Ok(SerialRole { client, name, class, script, queue, session, process: None })
    }

    fn failed(&self, source: Error) -> Failure {
        Failure::Session { client: self.client, role: self.name, source }
    }
}
