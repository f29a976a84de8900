//! Tests of what was measured, on a machine that has neighbours.

use std::io::{Write as _, stderr};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a test whose assertions rest on times. If it fails it is run once more, and that run counts: a neighbour disturbs one measurement
/// now and then, and a defect disturbs both.
///
/// # Panics
/// As the second run does.
pub fn measured_again_if_disturbed(test: impl Fn()) {
    if catch_unwind(AssertUnwindSafe(&test)).is_err() {
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        // Not by a macro, whose text the harness keeps for tests that fail. Whoever reads the log is to see it.
        let _ = writeln!(stderr(), "{name} failed and is measured once more");
        test();
    }
}
