//! What to execute: table schemas per dialect, statements, random streams, roles and steps.
//!
//! Deterministic from a seed. Opens no connection and starts no thread: a role is a [`Script`] that says what comes
//! next, and is told what was answered.

mod dialect;
pub mod distribution;
mod generator;
pub mod insert_benchmark;
mod random;
mod script;

pub use dialect::Dialect;
pub use generator::Generator;
pub use random::{Stream, stream};
pub use script::{Flag, Next, Pacing, RolePlan, Script, SetUp, StepPlan, Work};
