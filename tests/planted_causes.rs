//! Causes that are planted by a setting, and what `explain` says of them first. Apart from other tests, which would have the processors.

use std::fs;

use basecase_tests::Sandbox;
use basecase_tests::causes::{assert_first, causes, causes_on_postgres};
use basecase_tests::disturbance::measured_again_if_disturbed;

#[test]
fn a_smaller_cache() {
    measured_again_if_disturbed(|| {
        let workload =
            ["--workload", "oltp_point_select", "--rows", "30000", "--threads", "1", "--seconds", "3"];
        let causes = causes_on_postgres(
            "shared_buffers = 128MB",
            "shared_buffers = 1MB",
            "oltp_point_select",
            &workload,
        );
        assert_first(&causes, "more pages that the server's cache lacked", "shared_buffers 128MB → 1MB");
    });
}

#[test]
fn another_plan() {
    measured_again_if_disturbed(|| {
        let planner = "enable_indexscan = off\nenable_bitmapscan = off\nenable_indexonlyscan = off";
        let workload =
            ["--workload", "oltp_point_select", "--rows", "5000", "--threads", "1", "--seconds", "3"];
        let causes = causes_on_postgres("", planner, "oltp_point_select", &workload);
        assert_first(
            &causes,
            "different plan for point_select: Index Scan",
            "Seq Scan on sbtest#; enable_bitmapscan on → off",
        );
    });
}

#[test]
fn more_context_switches() {
    measured_again_if_disturbed(|| {
        // A scan through a cache that is too small reads ahead: by itself, or by asking another process.
        let small = |method: &str| format!("shared_buffers = 8MB\nio_method = {method}");
        let workload = [
            "--workload",
            "microbenchmarks",
            "--list",
            "scan",
            "--rows",
            "75000",
            "--tables",
            "1",
            "--seconds",
            "4",
            "--warm-up-seconds",
            "1",
        ];
        let causes = causes_on_postgres(&small("sync"), &small("worker"), "scan_range=100", &workload);
        assert_first(&causes, "more context switches", "io_method sync → worker");
    });
}

#[test]
fn a_default_that_a_version_changed_is_to_be_tried() {
    measured_again_if_disturbed(|| {
        let sandbox = Sandbox::new();
        fs::write(sandbox.path().join("my.conf"), "innodb_buffer_pool_size = 128M\n").unwrap();
        let workload = ["--workload", "oltp_insert", "--rows", "5000", "--threads", "1", "--seconds", "4"];
        let causes =
            causes(&sandbox, &["mysql:5.7.22@my.conf", "mysql:8.0.31@my.conf"], "oltp_insert", &workload);
        assert!(
            causes.iter().any(|cause| cause.starts_with("more "))
                && causes.iter().all(|cause| !cause.contains("log_bin")),
            "{causes:#?}"
        );
        let output = sandbox.output(&["explain", "s.sqlite", "oltp_insert"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, to_try) = text.split_once("Candidates to try").unwrap();
        let (to_try, _) = to_try.split_once("\n\n").unwrap();
        let is_log_bin = |line: &str| {
            line.split_whitespace().take(3).eq(["log_bin", "OFF", "ON"]) && line.ends_with("log, syncs")
        };
        assert!(to_try.lines().any(is_log_bin), "{text}");
    });
}
