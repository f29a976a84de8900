//! Experiments: plan, run trials, resume.

mod campaign;
mod checks;
mod message;
mod observer;
mod plan;
mod request;
mod run;
mod workload;

pub use campaign::{Calibration, CpuStressors, Probe, Search, Slowdown};
pub use message::explain;
pub use observer::{Count, Event, Observer, Phase, Reason};
pub use plan::{Candidate, Plan};
pub use request::{
    CandidateError, CandidateSpec, MemoryRequest, MemorySize, Missing, Origin, Pin, PinError, PinRequest,
    Places, Protocol, Replicate, Request, Rounds, Scale, Sizes, Timing, Verify, experiment_file,
    may_hold_password, read_change, read_change_of_work, read_settle_limit, read_time,
};
pub use run::{ProfileOrder, RunOptions, Summary, count, run};
pub use workload::{InsertBenchmark, Workload, WorkloadFile, builtin as builtin_workloads};

/// The version of SQLite that is embedded.
pub fn sqlite_version() -> &'static str {
    basecase_client::sqlite::SqliteSession::version()
}
