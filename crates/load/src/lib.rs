//! Runs one step: roles on sessions, pacing, stopping, recording.
//!
//! Each role has a session of its own. It also has a thread of its own, unless there are many roles that only follow a script: then a few
//! threads drive several roles each. Pacing, stopping and recording are three values that a role is given, whatever the workload. While the
//! clock runs, nothing is connected or prepared, and nothing is allocated once buffers have grown.

mod arrivals;
mod client_thread;
mod driver;
mod heartbeat;
mod interleaving;
mod opening;
mod outcome;
mod pacer;
mod progress;
mod recorder;
mod retry;
mod role_sessions;
mod schedule;
mod serial;
mod session_history;
mod shared;
mod stall;
mod statement_queue;
mod turn_gate;
mod worker;
mod worker_group;

pub use interleaving::{Runner, SliceResult, SliceSpec, interleave};
pub use outcome::{AssembleError, Failure, SessionPlanUses, StepOutcome};
pub use progress::{LatencyCounts, Progress, RoleProgress, end_of, latency_between};
pub use serial::{SerialCounts, SerialGroup};
pub use session_history::{Guest, SessionHistories, SessionHistory};
pub use stall::Stall;
pub use turn_gate::SliceEnd;
pub use worker_group::{Limits, WorkerGroup};
