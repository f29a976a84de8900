//! Runs one step: roles on sessions, pacing, stopping, recording.
//!
//! Each role is a thread with a session of its own. Pacing, stopping and recording are three values that a role is
//! given, whatever the workload. While the clock runs nothing is connected, prepared or, once buffers have grown,
//! allocated.

mod arrivals;
mod crew;
mod lane;
mod outcome;
mod pacer;
mod progress;
mod recorder;
mod schedule;
mod shared;
mod worker;

pub use crew::{Crew, Limits};
pub use outcome::{AssembleError, Failure, Outcome};
pub use progress::{Progress, RoleProgress};
