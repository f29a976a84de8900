//! The Insert Benchmark: a queue-like fact table that grows at one end and shrinks at the other, while range and
//! point queries run.
//!
//! Ten steps run in a fixed order against the same tables, as in the reference implementation (<https://github.com/mdcallag/mytools>,
//! `bench/ibench`, as of June 2026), but with its measurement faults fixed; `docs/method.md` lists what is kept and what differs.

mod description;
mod model;
mod parameters;
mod plan;
mod queries;
mod rows;
mod statements;
mod steps;
mod writers;

pub use description::describe;
pub use model::{Model, TableModel};
pub use parameters::{DEFAULT_SEED, InsertBenchmarkParameters, PRESETS, Pace, ParametersError, Preset};
pub use plan::{InsertBenchmark, Purpose};
pub use queries::expected_rows_per_range_query;
pub use steps::{InsertBenchmarkStep, StepKind};

pub use basecase_model::INSERT_BENCHMARK as NAME;
/// Rows that a range query requests, and ids that a point query looks up.
pub const ROWS_PER_QUERY: u64 = 10;
/// The maximum number of roles of a client in a step: builder, inserter, deleter and querier.
pub const MOST_ROLES_PER_CLIENT: u32 = 4;
/// Ids that a Postgres session reserves from the sequence at once.
pub const SEQUENCE_CACHE: i64 = 1000;

/// Name of a client's table; clients count from 1.
pub fn table_name(client: u32) -> String {
    format!("pi{client}")
}
