//! Defects that attacks and audits found. The number in a test's name is that of the defect; tests of a crate's inside stand in that crate,
//! so that `cargo test --workspace defect_` runs all of them.
#![expect(clippy::print_stderr, reason = "a test that cannot run here says so")]

mod folders;
mod inputs;
mod reports;
mod resumption;
mod rounds;
mod servers;
mod wire;
