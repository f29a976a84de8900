//! An experiment as the store holds it: everything that a report needs besides the trials.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BuildFacts, CandidateName, ConfigFacts, Engine, HostFacts, StepFacts};

/// One row of every table: a build with a config.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CandidateFacts {
    /// The printed name.
    pub name: CandidateName,
    /// The binary.
    pub build: BuildFacts,
    /// The storage engine, for a dbms that has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// The settings.
    pub config: ConfigFacts,
    /// Every setting of the server as it ran, by name; empty until it has run, and for a dbms without settings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub running: BTreeMap<String, String>,
    /// The limit on the memory of its server, in bytes, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
}

/// Candidates × workload × schedule, with the facts of the environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Hash of the plan: the same plan on the same host is the same experiment, and resumes.
    pub id: String,
    /// A short name for people.
    pub name: String,
    /// When it was first started, RFC 3339.
    pub created_at: String,
    /// The command line that started it. It never contains a password.
    pub command: String,
    /// The version of basecase that started it.
    pub basecase_version: String,
    /// [`crate::PROTOCOL_REVISION`] of that version.
    pub protocol_revision: u32,
    /// Name of the workload, e.g. `insert-benchmark`.
    pub workload: String,
    /// The workload's parameters in the order in which they are shown: `("clients", "1")`, `("rows", "20000")` …
    pub parameters: Vec<(String, String)>,
    /// Number of clients, the `N` of the Insert Benchmark.
    pub clients: u32,
    /// Rows that the load step puts into all tables together.
    pub loaded_rows: u64,
    /// Seed of every random stream.
    pub seed: u64,
    /// The machine.
    pub host: HostFacts,
    /// The candidates; the first is the base case.
    pub candidates: Vec<CandidateFacts>,
    /// The steps in the order in which they run.
    pub steps: Vec<StepFacts>,
    /// The groups of results, in the order in which they are shown; empty if the workload has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// How it is decided, if it is in rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// The smallest relative change of work that matters: 0.005 is 0.5 %. It is fixed before the first count; `None` if nothing is counted, or
    /// was by a version that did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_margin: Option<f64>,
    /// How much of its budget has passed, if its rounds began with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar_time: Option<CalendarTime>,
    /// Which node of a fleet measured it, if its rounds are a part of those of several machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<FleetNode>,
}

/// One of the machines that measure rounds of one experiment. What each of them measures is an experiment of its own in the store; those of one
/// fleet are judged together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetNode {
    /// What all nodes measure: a hash of the candidates and the workload, whatever the machine.
    pub fleet: String,
    /// The number of this node, from 1.
    pub number: u32,
    /// How many nodes it was started among. Others may join later.
    pub of: u32,
}

/// The calendar time of rounds that began with a budget: the clock by which the error of their interim analyses is spent. It does not look
/// at any result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CalendarTime {
    /// The budget that the experiment began with, in seconds. It is fixed before the first round.
    pub budget_seconds: f64,
    /// What has passed over all runs, in seconds. A run that ends because no further round fits into its budget has passed all of it.
    pub passed_seconds: f64,
}

/// The name of the Insert Benchmark on the command line, in files and in reports.
pub const INSERT_BENCHMARK: &str = "insert-benchmark";

impl Experiment {
    /// The parameter that marks experiments measured with shortened times.
    pub const TIMING: &str = "timing";

    /// The parameter that tells the limits on the memory of servers.
    pub const MEMORY: &str = "memory";

    /// The parameter that tells what limits the steps of a published size.
    pub const MEANT: &str = "meant to be";
    /// Its value for a size that is bound by input and output.
    pub const IO_BOUND: &str = "IO-bound";

    /// Whether its size was published as one that is bound by input and output.
    pub fn is_meant_io_bound(&self) -> bool {
        self.parameters.iter().any(|(name, value)| name == Self::MEANT && value == Self::IO_BOUND)
    }

    /// By how much its times were shortened, `1/50`; `None` if they were not. Such an experiment tests the program: its numbers say nothing
    /// about servers.
    pub fn short_timing(&self) -> Option<&str> {
        self.parameters.iter().find(|(name, _)| name == Self::TIMING).map(|(_, mark)| mark.as_str())
    }

    /// Whether each step starts from what the one before it left, so that a round consists of all of them.
    pub fn is_chain(&self) -> bool {
        self.workload == INSERT_BENCHMARK
    }

    /// Why no trial of `other` counts here, whatever was run: because it was measured with another protocol revision, with other times or
    /// on another host. Each text says how these differ, `niceness +5, here as usual`. Empty if they do not.
    pub fn kept_apart_by(&self, other: &Experiment) -> Vec<String> {
        let (there, here) = (other.protocol_revision, self.protocol_revision);
        let revision = (there != here).then(|| format!("protocol revision {there}, here {here}"));
        let (there, here) = (other.short_timing(), self.short_timing());
        let usual = |mark: Option<&str>| mark.unwrap_or("as usual").to_owned();
        let timing = (there != here).then(|| format!("timing {}, here {}", usual(there), usual(here)));
        revision.into_iter().chain(timing).chain(self.host.differences(&other.host)).collect()
    }
}

/// How an experiment in rounds is decided. It is fixed before the first round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Seed of every random order.
    pub seed: u64,
    /// The margin of steps that only read: relative changes up to it count as none. 0.02 is 2 %.
    pub read_margin: f64,
    /// The margin of steps that write.
    pub write_margin: f64,
    /// The numbers of rounds after which an interim analysis may decide a step. The last is the maximum number of rounds.
    #[serde(rename = "looks")]
    pub interim_analyses: Vec<u32>,
}

impl Schedule {
    /// The margin of a step.
    pub fn margin(&self, step: &StepFacts) -> f64 {
        if step.writes { self.write_margin } else { self.read_margin }
    }
}

/// Steps whose results are shown in one block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The block's title, e.g. `point queries`.
    pub name: String,
    /// Labels of its steps in the order in which they are shown, whether or not they were run.
    pub steps: Vec<String>,
}
