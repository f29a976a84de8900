//! Runs one step: roles on sessions, pacing, stopping, recording.
//!
//! Each role has a session of its own, and a thread of its own unless there are many that do nothing but follow a script: then a few
//! threads drive several each. Pacing, stopping and recording are three values that a role is
//! given, whatever the workload. While the clock runs nothing is connected, prepared or, once buffers have grown,
//! allocated.

mod arrivals;
mod crew;
mod driver;
mod heartbeat;
mod interleaving;
mod lane;
mod mending;
mod outcome;
mod pacer;
mod progress;
mod recorder;
mod schedule;
mod shared;
mod silence;
mod team;
mod turn;
mod worker;

pub use crew::{Crew, Limits};
pub use interleaving::{Runner, SliceResult, SliceSpec, interleave};
pub use outcome::{AssembleError, Failure, Outcome};
pub use progress::{LatencyCounts, Progress, RoleProgress, end_of, latency_between};
pub use silence::Silence;
pub use turn::SliceEnd;
