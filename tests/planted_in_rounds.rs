//! Causes that are planted by a setting, and what `explain` says of them first: in rounds, in which servers that take turns are disturbed alike.

use basecase_tests::causes::{assert_first, causes_on_postgres};
use basecase_tests::disturbance::measured_again_if_disturbed;
use basecase_tests::running::{ONE_LOAD, SHORT_ROUNDS_OF_SERVERS};

/// The causes on a mix with so many rows, by rounds of one thread.
fn causes_of_rounds(base: &str, candidate: &str, mix: &str, rows: &str) -> Vec<String> {
    let rounds = ["--threads", "1", "--detect", "10%", "--rounds", "5"];
    let workload = ["--workload", mix, "--rows", rows];
    causes_on_postgres(
        base,
        candidate,
        mix,
        &[&workload[..], &rounds, &ONE_LOAD, &SHORT_ROUNDS_OF_SERVERS].concat(),
    )
}

#[test]
fn a_slower_path_of_the_processor() {
    measured_again_if_disturbed(|| {
        // Neighbours can take a quarter of a processor's speed for seconds: only servers that take turns are disturbed alike.
        let causes =
            causes_of_rounds("", "plan_cache_mode = force_custom_plan", "oltp_point_select", "20000");
        assert_first(&causes, "different kind of plan for ", "plan_cache_mode auto → force_custom_plan");
        // In user mode, if that is known.
        let beginnings = ["more server CPU, user", "more CPU time of the server"];
        assert!(beginnings.iter().any(|beginning| causes[1].starts_with(beginning)), "{causes:#?}");
    });
}

#[test]
fn more_writes() {
    measured_again_if_disturbed(|| {
        // The first change of a page after a checkpoint puts the whole page into the log. In a round, which begins after one, most changes
        // are the first of their page. In rounds, since one run in a row of tests can have a third of the other's processor.
        let pages = "shared_buffers = 512MB";
        let without = format!("{pages}\nfull_page_writes = off");
        let causes = causes_of_rounds(&without, pages, "oltp_update_non_index", "200000");
        assert_first(&causes, "more ", "full_page_writes off → on");
        let is_of_log =
            |cause: &String| cause.starts_with("more log written") && cause.contains("full_page_writes");
        assert!(causes.iter().any(is_of_log), "{causes:#?}");
    });
}
