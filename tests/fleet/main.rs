//! Fleets: manifests held against the schemas of those who read them, and a real Slurm of two nodes on this machine.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test that skips says why")]

mod cluster;
mod history;
mod manifests;
mod measured;
#[path = "../formats/schema.rs"]
#[expect(dead_code, reason = "the tests of formats ask more of schemas")]
mod schema;
mod slurm;
