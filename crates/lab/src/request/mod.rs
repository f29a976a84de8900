//! What the user asks for: on the command line, or in an experiment file.

mod candidate_entry;
mod candidate_list;
mod candidate_spec;
mod counts_engine;
pub mod experiment_file;
mod memory;
mod missing;
mod node;
mod pin;
mod protocol;
mod replicate;
mod scale;
mod schedule;
mod selection;
mod settle_limit;
mod sizes;
mod timing;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use basecase_model::{Commit, FleetNode};
use basecase_server::{Settle, SettleLimit, Transport};
use serde::{Deserialize, Serialize};

pub use self::candidate_spec::{CandidateError, CandidateSpec, Compiling, Origin, may_hold_password};
pub use self::counts_engine::CountsEngine;
pub use self::memory::{MemoryRequest, MemorySize};
pub use self::missing::Missing;
pub(crate) use self::missing::{LeftOut, available};
pub(crate) use self::node::rounds_of_node;
pub use self::node::{Node, Share};
pub(crate) use self::pin::Placement;
pub use self::pin::{Pin, PinError, PinRequest};
pub use self::protocol::{Protocol, Rounds, read_change, read_change_of_work, read_time};
pub use self::replicate::Replicate;
pub(crate) use self::replicate::replicates;
pub use self::scale::Scale;
pub use self::settle_limit::read_settle_limit;
pub use self::sizes::Sizes;
pub use self::timing::Timing;
use crate::workload::Workload;

/// What the user asks for.
#[derive(Debug, Clone)]
pub struct Request {
    /// A short name for people.
    pub name: String,
    /// The candidates; the first is the base case.
    pub candidates: Vec<CandidateSpec>,
    /// The workload with its sizes and options.
    pub workload: Arc<dyn Workload>,
    /// How debt is settled before the read-write steps.
    pub settle: Settle,
    /// How long that may take, unless the mode is the formula.
    pub settle_limit: Option<SettleLimit>,
    /// How thoroughly tables are checked.
    pub verify: Verify,
    /// Hard limit of each step in seconds; by default five times a read-write step's nominal time and ten minutes, and none
    /// for the others.
    pub step_limit_seconds: Option<u64>,
    /// Which processors the client and the servers run on.
    pub pin: PinRequest,
    /// Settings for every server that basecase starts, on top of its config.
    pub extra_settings: Vec<(String, String)>,
    /// Limit on the memory of each server, unless a candidate has its own.
    pub memory: Option<MemorySize>,
    /// Whether its size was published as one that is bound by input and output.
    pub meant_io_bound: bool,
    /// How often and in which order candidates are measured.
    pub protocol: Protocol,
    /// The replicates, one for each candidate; missing ones are none.
    pub replicates: Vec<Replicate>,
    /// What becomes of candidates whose builds cannot be had.
    pub missing: Missing,
    /// Which of several machines this is, if each of them measures a part of one experiment: see [`Request::on_node`].
    pub node: Option<FleetNode>,
}

impl Request {
    /// The default name of an experiment: its candidates.
    pub fn named_after(candidates: &[CandidateSpec]) -> String {
        candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    /// The limit on the memory of a candidate's server.
    pub fn memory_of(&self, spec: &CandidateSpec) -> Option<MemorySize> {
        spec.memory.or(self.memory)
    }

    /// Where base case and contender are commits of one repository, compares with the newest commit that both have in common, as a pull
    /// request is read, and with the base case again, so that the noise of this machine is in the same run. Returns what the user should know.
    ///
    /// # Errors
    /// When both have no commit in common.
    pub fn take_merge_base(&mut self) -> Result<Option<String>> {
        let [base, contender, ..] = &self.candidates[..] else { return Ok(None) };
        let Some((from, to)) = base.commit().zip(contender.commit()) else { return Ok(None) };
        if from.repository != to.repository {
            return Ok(None);
        }
        let Some(common) = from.merge_base(to)? else {
            bail!(
                "{from} and {to} have no common ancestor\nhint: name two commits of one history; a shallow clone may lack it: git fetch --unshallow"
            );
        };
        let is_ahead = common != from.commit;
        let short = common.get(..Commit::DIGITS).unwrap_or(&common).to_owned();
        let note = format!("{from} has commits that {to} has not: compared is with {short}, where they part");
        let base = base.of_commit(if is_ahead { from.at(&common) } else { from.clone() });
        self.candidates[0] = base.clone();
        self.candidates.push(base);
        self.name = Request::named_after(&self.candidates);
        Ok(is_ahead.then_some(note))
    }

    /// Refuses options that contradict each other.
    ///
    /// # Errors
    /// Which option to leave out.
    pub fn check(&self) -> Result<()> {
        if self.settle_limit.is_some() && matches!(self.settle, Settle::Formula | Settle::Off) {
            bail!(
                "a settling limit applies to the settle modes condition and purged, but the mode is {}\nhint: leave out the limit, or choose another mode",
                format!("{:?}", self.settle).to_lowercase()
            );
        }
        self.protocol.check(self)
    }
}

/// Where things are on this machine, and how servers are reached.
#[derive(Debug, Clone)]
pub struct Places {
    /// Home of downloaded builds.
    pub home: PathBuf,
    /// Folder of data directories.
    pub data: PathBuf,
    /// How clients reach a server that basecase starts; `None` as in published results: see [`Transport::published`].
    pub transport: Option<Transport>,
    /// How long warm-ups, slices, pauses and polls last.
    pub timing: Timing,
    /// The program that serves sessions with SQLite in processes of their own, by [`crate::serve_sqlite_session`] after
    /// [`crate::SQLITE_SESSION`]: basecase itself.
    pub program: PathBuf,
}

/// How thoroughly tables are compared with the model after each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Fully up to a million rows, by bounds above.
    #[default]
    Auto,
    /// Count every row, and search for the smallest id from the beginning.
    Full,
    /// Compare the smallest and largest id, the server's counters and the rows that statements affected. Reads nothing that
    /// would change the caches for the next step.
    Bounds,
}
