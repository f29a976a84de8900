//! The shape of a step: its roles, what each does next, how they are paced, and when they stop.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use basecase_model::{Operation, OperationClass, ParameterType, Reply, StatementClass};

/// What a role does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Execute the operation; it is timed and counted.
    Execute,
    /// Execute the operation as an aside; it is timed and counted under this name only.
    Aside(&'static str),
    /// Send the operation down this statement queue.
    Send(usize),
    /// A round is complete: wait as the pacing requires.
    RoundEnd,
    /// Nothing is left to do.
    Finish,
}

/// The script of one role, which produces one operation after the other. It holds the role's state and no connection.
pub trait Script: Send {
    /// Fills `operation`, which is empty, and tells what to do with it.
    fn next(&mut self, operation: &mut Operation) -> Next;

    /// Receives the reply to the operation of the last [`Next::Execute`] or [`Next::Aside`].
    fn answer(&mut self, reply: &Reply);

    /// Tells what to retry after an operation failed with a retryable error.
    fn restart(&mut self) -> Restart {
        Restart::Operation
    }
}

/// What is retried after a retryable error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// The operation, unchanged.
    Operation,
    /// The whole event, with new values.
    Event {
        /// Whether its transaction is rolled back first.
        rolls_back: bool,
    },
}

/// Where a role's operations come from.
pub enum Work {
    /// The role's own script.
    Script(Box<dyn Script>),
    /// The operations that another role sends down this statement queue of the step.
    Queue(usize),
}

/// How fast rounds follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// Each as soon as the last is answered.
    Closed,
    /// The reference's burst rule: `rounds_per_second` rounds back to back, one such burst each second; lost time is not made up.
    Bursts {
        /// Rounds per burst.
        rounds_per_second: u32,
    },
    /// Rounds spread evenly over the second; up to one second of lost time is made up.
    Even {
        /// Rounds per second.
        rounds_per_second: u32,
    },
}

/// A flag that one role raises when it is done and another watches; flags of a step are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag(pub usize);

/// What a session needs before the clock starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetUp {
    /// Execute this text.
    Text(String),
    /// Prepare this statement; numbers follow the order of preparation.
    Prepare {
        /// The statement.
        sql: String,
        /// The types of its parameters, declared if the dbms supports it; if empty, the dbms infers them.
        types: Vec<ParameterType>,
    },
}

/// One kind of connection within a step, for one client.
pub struct RolePlan {
    /// The client, counted from 1.
    pub client: u32,
    /// The role's name.
    pub name: &'static str,
    /// What its statements do.
    pub class: OperationClass,
    /// What its session needs before the clock starts.
    pub set_up: Vec<SetUp>,
    /// Where its operations come from.
    pub work: Work,
    /// The statement queues that it sends operations to.
    pub feeds: Range<usize>,
    /// How fast its rounds follow each other.
    pub pacing: Pacing,
    /// It also stops when this flag is raised.
    pub until: Option<Flag>,
    /// It raises this flag when it is done.
    pub raises: Option<Flag>,
    /// Items that it will finish, if known; for showing progress.
    pub planned_items: Option<u64>,
}

impl RolePlan {
    /// A role that works as fast as replies come: without set-up, pacing or flags.
    pub fn new(client: u32, name: &'static str, class: OperationClass, work: Work) -> Self {
        RolePlan {
            client,
            name,
            class,
            set_up: Vec::new(),
            work,
            feeds: 0..0,
            pacing: Pacing::Closed,
            until: None,
            raises: None,
            planned_items: None,
        }
    }

    /// Whether it only follows a script, as fast as replies come, so that it can rest between any two events.
    pub fn only_follows_script(&self) -> bool {
        matches!(self.work, Work::Script(_))
            && self.pacing == Pacing::Closed
            && self.feeds.is_empty()
            && self.until.is_none()
            && self.raises.is_none()
            && self.planned_items.is_none()
    }
}

/// A kind of statement that is counted separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementKind {
    /// Its name in the workload file, or `begin` or `commit`.
    pub name: String,
    /// How its statements are counted.
    pub class: StatementClass,
    /// What they do to rows; `None` if they change none.
    pub change: Option<Change>,
    /// How many of them an event has.
    pub per_event: u64,
}

/// What a statement does to rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Adds rows.
    Insert,
    /// Changes rows in place.
    Update,
    /// Removes rows.
    Delete,
}

/// When the measured window opens, and when roles stop that would otherwise run forever. Both take effect between events.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Window {
    /// How long the roles work before it opens. That work is not part of the result.
    pub warm_up: Duration,
    /// How long it stays open. An event that has begun by then is finished, unless it takes much longer.
    pub time: Option<Duration>,
    /// The number of events of all roles together, from its opening on.
    pub events: Option<u64>,
    /// Events per second that all roles together begin, at random instants as independent users would; `None` means as many as possible.
    pub events_per_second: Option<f64>,
}

/// How a step that has an end of its own can be divided into chunks, with pauses in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk {
    /// It cannot pause by itself: its statements take seconds.
    Whole,
    /// This many rounds over all clients.
    Rounds(u64),
    /// By the clock, because its rounds follow a rate.
    Time,
}

/// What a control session does before the clock starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preparation {
    /// Drops the table of this name if it exists. It must be one that basecase created, which only the server can tell.
    Drop(String),
    /// Executes this statement.
    Execute(String),
}

impl Preparation {
    /// Drops the table of this name, and creates it anew with these statements, of which the first is CREATE TABLE.
    pub(crate) fn anew(table: String, statements: Vec<String>) -> Vec<Self> {
        std::iter::once(Preparation::Drop(table))
            .chain(statements.into_iter().map(Preparation::Execute))
            .collect()
    }
}

impl fmt::Display for Preparation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preparation::Drop(table) => write!(formatter, "DROP TABLE IF EXISTS {table}"),
            Preparation::Execute(statement) => formatter.write_str(statement),
        }
    }
}

/// One step on one candidate: what runs before the clock starts, and the roles that run while it does.
pub struct StepPlan {
    /// The step's name.
    pub name: String,
    /// What a control session does before the clock starts.
    pub before: Vec<Preparation>,
    /// The roles of all clients. Each has one session for the whole step.
    pub roles: Vec<RolePlan>,
    /// Number of statement queues.
    pub statement_queues: usize,
    /// Number of flags.
    pub flags: usize,
    /// The kinds of statements that operations refer to by number; empty if there is only one kind.
    pub kinds: Vec<StatementKind>,
    /// When the window opens, and when it ends if the work does not end first.
    pub window: Window,
    /// The chunks in which it can run; `None` if its events follow each other until the window closes.
    pub chunk: Option<Chunk>,
}

impl StepPlan {
    /// With this text behind each CREATE TABLE.
    #[must_use]
    pub fn with_table_options(mut self, options: Option<&str>) -> Self {
        let mut is_dropped = false;
        for preparation in &mut self.before {
            match (&mut *preparation, options) {
                (Preparation::Execute(create), Some(options)) if is_dropped => {
                    create.push(' ');
                    create.push_str(options);
                }
                _ => {}
            }
            is_dropped = matches!(preparation, Preparation::Drop(_));
        }
        self
    }

    /// Whether candidates can take turns at it: every role can rest between any two of its events.
    pub fn can_take_turns(&self) -> bool {
        self.window.events_per_second.is_none() && self.roles.iter().all(RolePlan::only_follows_script)
    }
}
