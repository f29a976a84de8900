//! What to execute: table schemas per dialect, statements, random streams, roles and steps.
//!
//! Deterministic from a seed. Opens no connection and starts no thread: a role is a [`Script`] that says what comes
//! next, and is told what was answered.

mod builtin;
mod compilation;
mod definition;
mod description;
mod dialect;
pub mod distribution;
mod event_script;
mod generator;
pub mod insert_benchmark;
mod load_script;
mod parameters;
mod random;
mod script;
mod statement_kind;
mod steps;
mod table_sql;
mod timing;
mod workload_plan;

pub use definition::{Duration, OptionDefinition, Setting, Workload, WorkloadError};
pub use dialect::Dialect;
pub use generator::Generator;
pub use parameters::{Maintenance, Mode, Parameters};
pub use random::{Stream, stream};
pub use script::{
    Change, Flag, Next, Pacing, Portion, Preparation, Restart, RolePlan, Script, SetUp, StatementKind,
    StepPlan, Window, Work,
};
pub use steps::Step;
pub use timing::Timing;
pub use workload_plan::{LOAD, LoadedTable};
