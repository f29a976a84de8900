//! The outcome of running a step.

use std::time::{Duration, Instant, SystemTime};

use basecase_client::Error;
use basecase_model::{Measures, PlanUses, RoleRecord, SessionRecord, Slice, StatementRecord};
use thiserror::Error;

use crate::stall::Stall;

/// Why a step's sessions could not be set up.
#[derive(Debug, Error)]
#[error("{role} of client {client}: {source}")]
pub struct AssembleError {
    /// The client, counted from 1.
    pub client: u32,
    /// The role.
    pub role: &'static str,
    /// What went wrong.
    pub source: Error,
}

/// Why a step ended before its work was done.
#[derive(Debug, Error)]
pub enum Failure {
    /// A role's session failed.
    #[error("{role} of client {client} failed: {source}")]
    Session {
        /// The client, counted from 1.
        client: u32,
        /// The role.
        role: &'static str,
        /// What went wrong.
        source: Error,
    },
    /// The client itself failed.
    #[error("the client cannot drive its connections: {0}")]
    Client(std::io::Error),
    /// A thread of basecase that worked on the step panicked.
    #[error(
        "a thread of basecase panicked: {0}\nhint: this is a defect of basecase: report it with this text"
    )]
    Panic(String),
    /// The hard limit was reached.
    #[error(
        "the step was stopped at its time limit of {:.0} s{}\nhint: {}; raise --step-limit to let it go on",
        .limit.as_secs_f64(),
        .stall.as_ref().map_or_else(String::new, |stall| format!(": {stall}")),
        if stall.is_some() { "see what the server waits for" } else { "the server does not sustain the rate" }
    )]
    TimeLimit {
        /// The limit.
        limit: Duration,
        /// The role that had been stalled longest when the limit was reached, if one had stalled for long.
        stall: Option<Stall>,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// How a session executed one prepared statement, as it told after its last statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPlanUses {
    /// The session's number in its role.
    pub session: u32,
    /// The statement's text, or its name if it was prepared by SQL.
    pub statement: String,
    /// How often it was executed with which kind of plan.
    pub uses: PlanUses,
}

/// The outcome of running a step.
#[derive(Debug)]
pub struct StepOutcome {
    /// When the window opened.
    pub started_at: SystemTime,
    /// The same on the monotonic clock, which the samples use.
    pub opened: Instant,
    /// Length of the window, from its opening to the end of the last statement, in seconds. For a group that took turns, the time that it
    /// worked.
    pub seconds: f64,
    /// Its slices, if it took turns with others.
    pub slices: Vec<Slice>,
    /// The sessions that these belong to.
    pub sessions: Vec<SessionRecord>,
    /// What its sessions tell of the plans of prepared statements; nothing if it ended early.
    pub plan_uses: Vec<SessionPlanUses>,
    /// Connections that were made for it, also those that came and went before the clock started.
    pub connections: u64,
    /// What each role did, in the order of the plan.
    pub roles: Vec<RoleRecord>,
    /// Counts by kind of statement, over all roles.
    pub statements: Vec<StatementRecord>,
    /// Events that began before the window opened.
    pub warm_up_events: u64,
    /// Events that had not ended long after the window had closed, and were not gone on with. Their statements count.
    pub broken_off: u64,
    /// How busy the client was, under the names in [`basecase_model::names`] that begin with `client.`.
    pub client: Measures,
    /// The machine's counters over the window.
    pub counters: Measures,
    /// Why the step ended early, if it did.
    pub failure: Option<Failure>,
}
