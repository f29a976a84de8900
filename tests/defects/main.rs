//! Defects that attacks and audits found. The number in a test's name is that of the defect; tests of a crate's inside stand in that crate,
//! so that `cargo test --workspace defect_` runs all of them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, and so may its helpers")]
#![expect(clippy::print_stderr, reason = "a test that cannot run here says so")]

mod folders;
mod inputs;
#[path = "../own_server.rs"]
mod own_server;
mod reports;
mod resumption;
mod rounds;
mod servers;
mod wire;
