//! The program as its users run it, on real servers. One binary, so that tests which wait have others beside them; those that want the
//! machine for themselves have their own.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and so may its helpers"
)]
#![expect(clippy::print_stdout, reason = "a test that fails shows where it was")]

mod bad_count_input;
mod bad_explain_input;
mod bad_input;
mod bad_mysql_input;
mod bad_try_input;
mod bad_workload_input;
mod beginner;
mod commits;
mod counted_at_full_speed;
mod counts;
mod doctor;
mod dry_run;
mod lifecycle;
mod memory;
mod mixture;
mod own_server;
mod plan_kinds;
mod pull_request;
mod refusals;
mod rounds;
mod schedule;
#[path = "formats/schema.rs"]
#[expect(dead_code, reason = "other tests also ask which schemas there are")]
mod schema;
mod server_log;
mod sqlite_versions;
mod statements;
mod sysbench_statements;
mod worked_example;
mod workload_statements;
mod workloads;
