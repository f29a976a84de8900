//! One step on one candidate in one round: the unit that is stored.

use serde::{Deserialize, Serialize};

use crate::{
    Check, Headline, Measures, Observation, PackedHistogram, Profile, Series, ServerReadings, SessionRecord,
    Slice, State, StatementPlan, StatementRecord, StepFacts, Track,
};

/// What a role's statements do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationClass {
    /// Adds rows; its items are rows.
    Insert,
    /// Removes rows; its items are rows.
    Delete,
    /// Reads, or executes any statements of a workload file; its items are queries.
    Query,
    /// Makes the statements that other roles execute; has no items of its own.
    Build,
}

impl OperationClass {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            OperationClass::Insert => "insert",
            OperationClass::Delete => "delete",
            OperationClass::Query => "query",
            OperationClass::Build => "build",
        }
    }
}

/// Statements that a role runs besides its main ones, e.g. reading the smallest id: counted, but never in its histogram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    /// What they do, e.g. `min_id`.
    pub name: String,
    /// Number of executions.
    pub count: u64,
    /// Their total time, µs.
    pub total_us: u64,
    /// The longest, µs.
    pub max_us: u64,
}

/// What one role of one client did in the measured window.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleRecord {
    /// The client, counted from 1.
    pub client: u32,
    /// The role's name, e.g. `inserter`.
    pub role: String,
    /// What its statements do.
    pub class: OperationClass,
    /// Statements executed.
    pub statements: u64,
    /// Items finished, in the unit of the class: rows requested, or queries.
    pub items: u64,
    /// Events: the units that are restarted as a whole. A transaction of a workload file; everywhere else each statement.
    pub events: u64,
    /// Rows affected, as the server counted them.
    pub affected: u64,
    /// Rows fetched.
    pub fetched: u64,
    /// Statements retried after a retryable error.
    pub retries: u64,
    /// Statements whose reply was not as expected.
    pub mismatches: u64,
    /// When its first statement was sent, µs after the window opened.
    pub started_us: u64,
    /// When its last statement was answered, µs after the window opened.
    pub ended_us: u64,
    /// CPU time of the client's thread for this role, µs.
    pub client_cpu_us: f64,
    /// CPU time of the server's process for this role's session, µs, if the dbms has one process per session.
    pub server_cpu_us: Option<f64>,
    /// Service times: of each event, from just before its first statement was sent until the last row of its last one was fetched.
    pub service: PackedHistogram,
    /// Response times: from the instant at which the schedule meant the event to start; only for paced roles.
    pub response: Option<PackedHistogram>,
    /// Per-second items and largest service times.
    pub series: Series,
    /// Statements besides the main ones.
    pub asides: Vec<Aside>,
}

impl RoleRecord {
    /// A role that has done nothing yet, with samples of this length.
    pub fn idle(client: u32, role: &str, class: OperationClass, interval_ms: u32) -> Self {
        RoleRecord {
            client,
            role: role.to_owned(),
            class,
            statements: 0,
            items: 0,
            events: 0,
            affected: 0,
            fetched: 0,
            retries: 0,
            mismatches: 0,
            started_us: 0,
            ended_us: 0,
            client_cpu_us: 0.0,
            server_cpu_us: None,
            service: PackedHistogram::default(),
            response: None,
            series: Series { interval_ms, samples: Vec::new() },
            asides: Vec::new(),
        }
    }
}

/// Where in the schedule a trial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Round, from 0.
    pub round: u32,
    /// Pass within the round, from 0.
    pub pass: u32,
    /// Position within the pass, from 0.
    pub position: u32,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum TrialStatus {
    /// Every check passed.
    Complete,
    /// Something failed; nothing that was measured may be compared.
    Failed {
        /// What failed, in one line or a few.
        reason: String,
        /// The last lines of the server's log.
        log_tail: String,
    },
}

/// One step on one candidate in one round.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Key of the cell.
    pub cell: String,
    /// The step's name.
    pub step: String,
    /// The candidate's printed name.
    pub candidate: String,
    /// Id of the experiment that measured it; empty before it is stored. Rounds of different experiments are never compared with each
    /// other.
    pub measured_by: String,
    /// Where in the schedule it is.
    pub place: Place,
    /// How client and server were placed on cores, e.g. `unpinned`.
    pub placement: String,
    /// When the window opened, RFC 3339.
    pub started_at: String,
    /// Length of the measured window, first statement to last, seconds.
    pub seconds: f64,
    /// How it ended.
    pub status: TrialStatus,
    /// How closely it was observed.
    pub observation: Observation,
    /// What each role of each client did.
    pub roles: Vec<RoleRecord>,
    /// Its slices, if candidates took turns.
    pub slices: Vec<Slice>,
    /// The sessions that its slices belong to; empty if they were not told apart.
    pub sessions: Vec<SessionRecord>,
    /// Counts by kind of statement, if the step has several.
    pub statements: Vec<StatementRecord>,
    /// What the host, the client and the server used, over exactly the window.
    pub counters: Measures,
    /// Levels at the end of the step.
    pub gauges: Measures,
    /// What the server reported before and after it; empty from the second round on, and in stores of versions before 10.
    pub server_readings: ServerReadings,
    /// Counters and levels over the window.
    pub tracks: Vec<Track>,
    /// How the server executes the step's statements.
    pub plans: Vec<StatementPlan>,
    /// Where the server's time went, if the trial was profiled.
    pub profiles: Vec<Profile>,
    /// What the tables held after the step.
    pub state: State,
    /// Every comparison made, passed or not.
    pub checks: Vec<Check>,
    /// Advice for the reader that does not make the trial fail, e.g. `client was the limit`.
    pub warnings: Vec<String>,
}

impl Trial {
    /// Its round and the experiment that measured it: trials of a step with the same values were measured together.
    pub fn round(&self) -> (u32, &str) {
        (self.place.round, &self.measured_by)
    }

    /// A complete trial in which nothing was done or counted.
    pub fn empty(cell: String, step: &str, candidate: &str, place: Place, started_at: String) -> Self {
        Trial {
            cell,
            step: step.to_owned(),
            candidate: candidate.to_owned(),
            measured_by: String::new(),
            place,
            placement: "unpinned".to_owned(),
            started_at,
            seconds: 0.0,
            status: TrialStatus::Complete,
            observation: Observation::default(),
            roles: Vec::new(),
            slices: Vec::new(),
            sessions: Vec::new(),
            statements: Vec::new(),
            counters: Measures::new(),
            gauges: Measures::new(),
            server_readings: ServerReadings::default(),
            tracks: Vec::new(),
            plans: Vec::new(),
            profiles: Vec::new(),
            state: State::default(),
            checks: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Whether every check passed.
    pub fn is_complete(&self) -> bool {
        self.status == TrialStatus::Complete
    }

    /// The roles of one class over all clients.
    pub fn roles_of(&self, class: OperationClass) -> impl Iterator<Item = &RoleRecord> {
        self.roles.iter().filter(move |role| role.class == class)
    }

    /// Items of one class over all clients.
    pub fn items(&self, class: OperationClass) -> u64 {
        self.roles_of(class).map(|role| role.items).sum()
    }

    /// The number that is reported for `step`, in its unit: rows inserted or indexed per second, or queries per second. `None` if no time
    /// passed.
    pub fn headline(&self, step: &StepFacts) -> Option<f64> {
        match (step.headline, step.headline_items) {
            (Headline::Indexed, Some(items)) => self.per_second_of_step(items),
            (headline, _) => self.per_second(headline.class()),
        }
    }

    /// Items of one class per second, as in every table and message. For queries, the sum over the roles of what each finished per second
    /// of its own window, from its first statement to its last. For all others, and for queries of events that arrive at a rate, what all
    /// roles finished per second of the step. `None` if no time passed.
    pub fn per_second(&self, class: OperationClass) -> Option<f64> {
        if class != OperationClass::Query || self.has_arrivals(class) {
            return self.per_second_of_step(self.items(class));
        }
        let at_work = self.roles_of(class).filter(|role| role.ended_us > role.started_us);
        let rates = at_work.map(|role| role.items as f64 * 1e6 / (role.ended_us - role.started_us) as f64);
        // The sum over no roles is -0, which would be printed as such.
        Some(rates.sum::<f64>() + 0.0)
    }

    /// Whether this class's events arrived at a rate. Its roles wait for them, so that their own windows say nothing.
    pub fn has_arrivals(&self, class: OperationClass) -> bool {
        self.roles_of(class).any(|role| role.response.is_some())
    }

    /// This many items per second of the step.
    pub fn per_second_of_step(&self, items: u64) -> Option<f64> {
        Some(items as f64 / self.seconds).filter(|rate| rate.is_finite())
    }
}
