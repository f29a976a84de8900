//! Every step of the built-in workloads on every dialect: statements, order and counts, without a server.

use basecase_workload::{Dialect, Workload};

#[test]
fn built_in_files_are_right() {
    for family in Workload::families() {
        if let Err(error) = Workload::builtin(family).unwrap() {
            panic!("{error}")
        }
    }
}
