//! Experiments: plan, run trials, resume.

mod campaign;
mod checks;
mod message;
mod observer;
mod plan;
mod request;
mod run;
mod workload;

pub use campaign::{
    AskedSetting, BuildAhead, BuildTally, Calibration, CommitRange, CpuStressors, Probe, RangeOrder, Search,
    SearchOptions, Slowdown, attempt, luck_request, outlook,
};
pub use message::explain;
pub use observer::{Count, Event, Observer, Phase, Reason, Standing};
pub use plan::{Candidate, Plan, check_counts_engine};
pub use request::{
    CandidateError, CandidateSpec, Compiling, CountsEngine, MemoryRequest, MemorySize, Missing, Node, Origin,
    Pin, PinError, PinRequest, Places, Protocol, Replicate, Request, Rounds, Scale, Share, Sizes, Timing,
    Verify, experiment_file, may_hold_password, read_change, read_change_of_work, read_settle_limit,
    read_time,
};
pub use run::{
    DecidedSteps, LOADS, ProfileOrder, RunOptions, SQLITE_SESSION, Summary, run, serve_sqlite_session,
};
pub use workload::{InsertBenchmark, Workload, WorkloadFile, builtin as builtin_workloads};

/// The version of SQLite that is part of this program.
pub fn sqlite_version() -> String {
    basecase_client::sqlite::Library::bundled().version().to_owned()
}
