//! The events of a run, and the observer that receives them.

use std::borrow::Cow;
use std::sync::Arc;

use basecase_load::Progress;
use basecase_model::{Experiment, StepCount, StepFacts, Trial};
use basecase_server::Settle;

/// Work other than measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase<'a> {
    /// Builds are obtained and configs checked, with a description.
    Prepare(&'a str),
    /// A data directory is made, and its server started.
    InitialiseServer,
    /// The file of an embedded database is made.
    InitialiseDatabase,
    /// A server of the user is connected to.
    Connect,
    /// A server is started on data that is there.
    Start,
    /// The data that an interrupted run left is inspected.
    Inspect,
    /// That data cannot be used.
    Rebuild(Reason),
    /// A step is run again for the rows that it leaves, with its name.
    RebuildStep(&'a str),
    /// The tables are reloaded for a step that needs them as they were.
    Reload,
    /// Tables are loaded for sessions whose instructions are counted.
    MakeImages,
    /// Debt is paid.
    Settle(Settle),
    /// A server is stopped after the user interrupted the run.
    Stop,
    /// A server is stopped, and its data kept for the rounds that follow.
    Keep,
    /// A server is stopped, and its data removed.
    RemoveServer,
    /// The file of an embedded database is removed.
    RemoveDatabase,
    /// The tables are dropped from a server of the user.
    DropTables,
}

/// Why existing data cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The user wants it rebuilt.
    Asked,
    /// The interrupted step changes rows in place, which the tables do not show.
    ChangesRows,
    /// The tables do not hold what the finished steps leave.
    HadBegun,
}

impl Reason {
    /// Its name for programs.
    pub fn id(self) -> &'static str {
        match self {
            Reason::Asked => "asked",
            Reason::ChangesRows => "changes_rows",
            Reason::HadBegun => "had_begun",
        }
    }
}

impl<'a> Phase<'a> {
    /// Its name for programs, which stays the same when the words for people change.
    pub fn id(self) -> &'static str {
        match self {
            Phase::Prepare(_) => "prepare",
            Phase::InitialiseServer | Phase::InitialiseDatabase => "initialise",
            Phase::Connect => "connect",
            Phase::Start => "start",
            Phase::Inspect => "inspect",
            Phase::Rebuild(_) => "rebuild",
            Phase::RebuildStep(_) => "rebuild_step",
            Phase::Reload => "reload",
            Phase::MakeImages => "make_images",
            Phase::Settle(_) => "settle",
            Phase::Stop => "stop",
            Phase::Keep => "keep",
            Phase::RemoveServer | Phase::RemoveDatabase | Phase::DropTables => "remove",
        }
    }

    /// The words for people.
    pub fn words(self) -> Cow<'a, str> {
        Cow::Borrowed(match self {
            Phase::Prepare(words) => words,
            Phase::InitialiseServer => "initialising and starting the server",
            Phase::InitialiseDatabase => "initialising the database",
            Phase::Connect => "connecting to the server",
            Phase::Start => "starting the server",
            Phase::Inspect => "inspecting what an earlier run left",
            Phase::Rebuild(Reason::Asked) => "rebuilding the database, as --rebuild says",
            Phase::Rebuild(Reason::ChangesRows) => {
                "the interrupted step changes rows: rebuilding the database"
            }
            Phase::Rebuild(Reason::HadBegun) => "the interrupted step had begun: rebuilding the database",
            Phase::RebuildStep(step) => return Cow::Owned(format!("rebuilding: {step}")),
            Phase::Reload => "loading the tables anew",
            Phase::MakeImages => "loading the tables at full speed",
            Phase::Settle(Settle::Condition) => "settling: paying the debt and waiting until it is at rest",
            Phase::Settle(Settle::Purged) => {
                "settling: paying the debt and waiting until nothing is left to purge"
            }
            Phase::Settle(Settle::Formula) => {
                "settling: paying the debt and waiting as long as the formula says"
            }
            Phase::Settle(Settle::Off) => "not settling",
            Phase::Stop => "stopping the server; Ctrl-C again ends it without waiting",
            Phase::Keep => "stopping the server and keeping its data",
            Phase::RemoveServer => "stopping the server and removing its data",
            Phase::RemoveDatabase => "removing the database",
            Phase::DropTables => "dropping the tables",
        })
    }
}

/// Something that happened in a run.
pub enum Event<'a> {
    /// An experiment begins or continues.
    ExperimentBegins {
        /// What is measured.
        experiment: &'a Experiment,
        /// Trials that are known in advance: in rounds only the loads.
        trials: usize,
    },
    /// Something besides measuring begins.
    Phase {
        /// The candidate's printed name; `None` before the first.
        candidate: Option<&'a str>,
        /// What is done.
        phase: Phase<'a>,
    },
    /// A step of one candidate begins.
    StepBegins {
        /// The candidate's printed name.
        candidate: &'a str,
        /// The step.
        step: &'a StepFacts,
        /// The round that it belongs to, from 0; 0 where there are no rounds.
        round: u32,
        /// How far it is, while it runs.
        progress: Arc<Progress>,
        /// Its place among the trials of the experiment, from 1.
        number: usize,
        /// Trials of the whole experiment.
        all: usize,
        /// Seconds that the step will probably take.
        seconds: f64,
        /// Seconds that the rest of the experiment will probably take after it.
        seconds_after: f64,
    },
    /// A step begins in which candidates take turns.
    TurnsBegin {
        /// The round, from 0.
        round: u32,
        /// The step.
        step: &'a StepFacts,
        /// The candidates' printed names.
        candidates: Vec<&'a str>,
        /// How far each of them is, while it runs.
        progress: Vec<Arc<Progress>>,
    },
    /// A trial is stored, now or since an earlier run.
    TrialStored {
        /// The trial.
        trial: &'a Trial,
        /// Its step.
        step: &'a StepFacts,
        /// Whether an earlier run measured it.
        was_found: bool,
        /// How many there are; `None` for turns, whose number is not known in advance.
        count: Option<Count>,
    },
    /// The instructions of a step were counted in one start of a candidate's server.
    CountStored {
        /// The count.
        count: &'a StepCount,
        /// Its step.
        step: &'a StepFacts,
    },
    /// A round begins.
    RoundBegins {
        /// The round, from 0.
        round: u32,
        /// The labels of its steps.
        steps: Vec<&'a str>,
        /// Where the rounds before it stand.
        standing: Standing,
    },
    /// A round is over.
    RoundEnds {
        /// The round, from 0.
        round: u32,
        /// How long it took.
        seconds: f64,
        /// Steps that it decided.
        decided: usize,
        /// Steps that are not decided yet.
        open: usize,
        /// Where all rounds stand with it.
        standing: Standing,
    },
    /// Something that the user should know.
    Note(&'a str),
}

/// Where an experiment in rounds stands: how many comparisons of a candidate and the base case, in one step, have which verdict, and how
/// much is probably left.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Standing {
    /// Improvements.
    pub faster: usize,
    /// Regressions.
    pub slower: usize,
    /// No change beyond the margin.
    pub unchanged: usize,
    /// Without a verdict yet.
    pub open: usize,
    /// How many rounds there will be in all, about; `None` while nothing tells.
    pub rounds: Option<u32>,
    /// How long they will take from here, about, at most what is left of the budget; `None` while nothing tells.
    pub seconds_left: Option<f64>,
}

/// How many trials there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Trials stored or found in the store so far.
    pub done: usize,
    /// Trials of the whole experiment.
    pub all: usize,
}

/// Who watches a run.
pub trait Observer {
    /// Takes notice of an event.
    fn notice(&mut self, event: Event<'_>);
}
