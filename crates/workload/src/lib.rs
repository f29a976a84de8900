//! What to execute: table schemas per dialect, statements, random streams, roles and steps.
//!
//! It is deterministic given a seed. It opens no connection and starts no thread: a role is a [`Script`] that tells what comes next, and is
//! told what was answered.

mod builtin;
mod compilation;
mod definition;
mod description;
mod dialect;
pub mod distribution;
mod event_script;
mod file_parameters;
mod file_steps;
mod generator;
pub mod insert_benchmark;
mod load_script;
mod random;
mod script;
mod statement_kind;
mod table_sql;
mod timing;
mod workload_plan;

pub use definition::{OptionDefinition, Setting, Workload, WorkloadError};
pub use dialect::Dialect;
pub use file_parameters::{FileParameters, Maintenance, Mode};
pub use file_steps::{FileStep, UNLISTED};
pub use generator::Generator;
pub use random::{Stream, stream};
pub use script::{
    Change, Chunk, Flag, Next, Pacing, Preparation, Restart, RolePlan, Script, SetUp, StatementKind,
    StepPlan, Window, Work,
};
pub use timing::{StepDuration, Timing};
pub use workload_plan::{LOAD, LoadedTable};
