//! Experiments: plan, run trials, resume.

mod calibration;
mod candidate;
mod candidate_facts;
mod checks;
mod connections;

mod cpu_stressors;
mod disk;
pub mod file;
mod forecast;
mod message;
mod observer;
mod open_comparisons;
mod pin;
mod plan;
mod protocol;
mod replicate;
mod run;
mod scale;
mod search;
mod settling;
mod site;
mod sizes;
mod slowdown;
mod timing;
mod workload;

pub use calibration::Calibration;
pub use candidate::{CandidateError, CandidateSpec, Origin, may_hold_password};
pub use cpu_stressors::CpuStressors;
pub use message::explain;
pub use observer::{Count, Event, Observer, Phase, Reason};
pub use pin::{Pin, PinError, PinRequest};
pub use plan::{Candidate, Places, Plan, Request, Verify};
pub use protocol::{Protocol, Rounds, read_change, read_time};
pub use replicate::Replicate;
pub use run::{ProfileOrder, RunOptions, Summary, run};
pub use scale::Scale;
pub use search::{Probe, Search};
pub use settling::read_settle_limit;
pub use sizes::Sizes;
pub use slowdown::Slowdown;

pub use timing::Timing;
pub use workload::{InsertBenchmark, Workload, WorkloadFile, builtin as builtin_workloads};

/// The version of SQLite that is embedded.
pub fn sqlite_version() -> &'static str {
    basecase_client::sqlite::SqliteSession::version()
}
