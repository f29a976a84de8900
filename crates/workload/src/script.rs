//! The form of a step: roles, what each does next, how they are paced and when they stop.

use std::ops::Range;

use basecase_model::{Operation, OperationClass, ParameterType, Reply};

/// What a role does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Execute the operation; it is timed and counted.
    Execute,
    /// Execute the operation beside the main ones; it is timed and counted under this name only.
    Aside(&'static str),
    /// Hand the operation to the role that works off this lane of the step.
    Send(usize),
    /// A round is complete: wait as the pacing says.
    RoundEnd,
    /// Nothing is left to do.
    Finish,
}

/// What one role says, one operation after the other. Holds the role's state and no connection.
pub trait Script: Send {
    /// Fills `operation`, which is empty, and says what to do with it.
    fn next(&mut self, operation: &mut Operation) -> Next;

    /// Takes the answer to the operation of the last [`Next::Execute`] or [`Next::Aside`].
    fn answer(&mut self, reply: &Reply);

    /// Begins the current event anew: its last operation failed in a way that ended its transaction.
    fn restart(&mut self) {}
}

/// Where a role's operations come from.
pub enum Work {
    /// The role's own script.
    Script(Box<dyn Script>),
    /// The operations that another role sends down this lane of the step.
    Lane(usize),
}

/// How fast rounds follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// As fast as answers come.
    Closed,
    /// The reference's burst rule: groups of `rounds_per_second` rounds back to back, one group each second, time lost
    /// is not made up.
    Bursts {
        /// Rounds in a group.
        rounds_per_second: u32,
    },
    /// Rounds spread evenly over the second; up to one second of lost time is made up.
    Even {
        /// Rounds in a second.
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
        /// Types of its parameters, declared where the dbms takes that; empty leaves them to the dbms.
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
    /// The lanes that it sends operations to.
    pub feeds: Range<usize>,
    /// How fast its rounds follow each other.
    pub pacing: Pacing,
    /// Stops when this flag is raised, besides when its work ends.
    pub until: Option<Flag>,
    /// Raises this flag when it is done.
    pub raises: Option<Flag>,
    /// Items that it will finish, when that is known; for progress.
    pub planned_items: Option<u64>,
}

/// A kind of statements that is counted apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementKind {
    /// Its name in the workload file, or `begin` or `commit`.
    pub name: String,
    /// How its statements are counted.
    pub class: StatementClass,
}

/// How a statement is counted, as sysbench does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementClass {
    /// Returns rows, or could.
    Read,
    /// Changes rows; counted as [`StatementClass::Other`] when it changed none.
    Write,
    /// Neither, such as BEGIN.
    Other,
}

/// One step on one candidate: what runs before the clock starts, and the roles that run while it does.
pub struct StepPlan {
    /// The step's name.
    pub name: String,
    /// Statements of a control session before the clock starts.
    pub before: Vec<String>,
    /// The roles of all clients. Each has one session for the whole step.
    pub roles: Vec<RolePlan>,
    /// Number of lanes.
    pub lanes: usize,
    /// Number of flags.
    pub flags: usize,
    /// The kinds of statements that operations number; empty when they are of one kind.
    pub kinds: Vec<StatementKind>,
}
