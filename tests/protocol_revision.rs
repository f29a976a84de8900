//! Pins the sources that decide how a step is measured, so that whoever changes them decides on `PROTOCOL_REVISION`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use basecase_model::PROTOCOL_REVISION;
use basecase_tests::workspace;
use sha2::{Digest, Sha256};

/// What decides how a step is measured: files and folders, with all below them.
const MEASURING: &[&str] = &[
    "crates/client/src",
    "crates/lab/src/request/pin.rs",
    "crates/lab/src/request/timing.rs",
    "crates/lab/src/run",
    "crates/lab/src/workload",
    "crates/load/src",
    "crates/model/src/histogram.rs",
    "crates/model/src/measures.rs",
    "crates/model/src/series.rs",
    "crates/model/src/slice.rs",
    "crates/probe/src/canary.rs",
    "crates/probe/src/clock.rs",
    "crates/probe/src/device.rs",
    "crates/probe/src/level.rs",
    "crates/probe/src/memory.rs",
    "crates/probe/src/pressure.rs",
    "crates/probe/src/process.rs",
    "crates/probe/src/processor.rs",
    "crates/probe/src/processor_set.rs",
    "crates/probe/src/server_group.rs",
    "crates/probe/src/watch.rs",
    "crates/process/src/control_group",
    "crates/process/src/page_cache.rs",
    "crates/process/src/suspender.rs",
    "crates/process/src/tree_copy.rs",
    "crates/server/src/dbms.rs",
    "crates/server/src/instance/adapter.rs",
    "crates/server/src/instance/counting.rs",
    "crates/server/src/instance/image.rs",
    "crates/server/src/instance/memory.rs",
    "crates/server/src/instance/mod.rs",
    "crates/server/src/instance/start.rs",
    "crates/server/src/mysql/adapter.rs",
    "crates/server/src/mysql/innodb.rs",
    "crates/server/src/mysql/option_file.rs",
    "crates/server/src/mysql/plan.rs",
    "crates/server/src/mysql/rocksdb.rs",
    "crates/server/src/mysql/server.rs",
    "crates/server/src/mysql/status.rs",
    "crates/server/src/mysql/telemetry.rs",
    "crates/server/src/postgres/adapter.rs",
    "crates/server/src/postgres/server.rs",
    "crates/server/src/postgres/telemetry.rs",
    "crates/server/src/served/mod.rs",
    "crates/server/src/served/settle.rs",
    "crates/server/src/served/side_by_side.rs",
    "crates/server/src/served/telemetry.rs",
    "crates/server/src/sqlite/server.rs",
    "crates/stats/src/allocation.rs",
    "crates/stats/src/luck.rs",
    "crates/stats/src/orders.rs",
    "crates/workload/src",
    "workloads",
];

/// What does not, by reason. Of a file that lies below entries of both lists, the longer entry holds.
const BESIDE: &[(&str, &[&str])] = &[
    (
        "it holds what was measured, judges it or shows it",
        &[
            "crates/analysis/src",
            "crates/cli/src",
            "crates/model/src/candidate.rs",
            "crates/model/src/cell.rs",
            "crates/model/src/commit.rs",
            "crates/model/src/experiment.rs",
            "crates/model/src/facts.rs",
            "crates/model/src/hexadecimal.rs",
            "crates/model/src/lib.rs",
            "crates/model/src/name.rs",
            "crates/model/src/operation.rs",
            "crates/model/src/packed_histogram.rs",
            "crates/model/src/plan.rs",
            "crates/model/src/printable.rs",
            "crates/model/src/profile.rs",
            "crates/model/src/server_readings.rs",
            "crates/model/src/session_record.rs",
            "crates/model/src/state.rs",
            "crates/model/src/statement.rs",
            "crates/model/src/step.rs",
            "crates/model/src/step_count.rs",
            "crates/model/src/track.rs",
            "crates/model/src/trial.rs",
            "crates/model/src/tried_setting.rs",
            "crates/model/src/version.rs",
            "crates/fleet/src",
            "crates/report/src",
            "crates/stats/src/anytime.rs",
            "crates/stats/src/autocorrelation.rs",
            "crates/stats/src/bisection",
            "crates/stats/src/boundary.rs",
            "crates/stats/src/change_point",
            "crates/stats/src/comparison.rs",
            "crates/stats/src/debt.rs",
            "crates/stats/src/decision.rs",
            "crates/stats/src/discovery.rs",
            "crates/stats/src/distribution.rs",
            "crates/stats/src/fleet",
            "crates/stats/src/fleet_judgement.rs",
            "crates/stats/src/interim_data.rs",
            "crates/stats/src/judge.rs",
            "crates/stats/src/judgement.rs",
            "crates/stats/src/lib.rs",
            "crates/stats/src/interim_analyses.rs",
            "crates/stats/src/interval.rs",
            "crates/stats/src/layers.rs",
            "crates/stats/src/load_correlation.rs",
            "crates/stats/src/missed_rate.rs",
            "crates/stats/src/modes.rs",
            "crates/stats/src/pair.rs",
            "crates/stats/src/signed_rank.rs",
            "crates/stats/src/round_conditions.rs",
            "crates/stats/src/variance.rs",
            "crates/stats/src/analysis_plan.rs",
            "crates/stats/src/quadrature.rs",
            "crates/stats/src/reading.rs",
            "crates/stats/src/recovery.rs",
            "crates/stats/src/run_noise.rs",
            "crates/stats/src/sample.rs",
            "crates/stats/src/scatter.rs",
            "crates/stats/src/scheduled.rs",
            "crates/stats/src/sessions",
            "crates/stats/src/suite.rs",
            "crates/stats/src/tests",
            "crates/stats/src/trend.rs",
            "crates/stats/src/verdict.rs",
            "crates/stats/src/work",
            "crates/store/src",
        ],
    ),
    (
        "it decides what is measured, which the cell tells, and compares what came of it",
        &[
            "crates/lab/src/campaign",
            "crates/lab/src/checks.rs",
            "crates/lab/src/lib.rs",
            "crates/lab/src/message.rs",
            "crates/lab/src/observer.rs",
            "crates/lab/src/plan",
            "crates/lab/src/request",
            "crates/lab/src/run/classic/forecast.rs",
            "crates/lab/src/run/rounds/calendar.rs",
            "crates/lab/src/run/rounds/open_comparisons.rs",
            "crates/lab/src/run/rounds/standing.rs",
        ],
    ),
    (
        "it has its say before a step or after it: the trial tells of a database that was built again",
        &[
            "crates/lab/src/run/measure/neighbours.rs",
            "crates/lab/src/run/measure/plans.rs",
            "crates/lab/src/run/resume",
        ],
    ),
    (
        "it tests schedules, without servers",
        &["crates/lab/src/run/fake.rs", "crates/lab/src/run/tests", "crates/lab/src/run/tests.rs"],
    ),
    (
        "profiled trials are kept apart, and so are counts",
        &[
            "crates/probe/src/callgrind",
            "crates/lab/src/run/measure/profiling.rs",
            "crates/probe/src/hardware.rs",
            "crates/probe/src/instruction_counter.rs",
            "crates/probe/src/perf.rs",
            "crates/probe/src/profiler",
            "crates/probe/src/profiler.rs",
        ],
    ),
    (
        "facts of the host, which the cell tells, and what it lets a process do",
        &[
            "crates/doctor/src",
            "crates/probe/src/confinement.rs",
            "crates/probe/src/host.rs",
            "crates/probe/src/io_uring.rs",
            "crates/probe/src/lib.rs",
            "crates/probe/src/memory_kills.rs",
            "crates/probe/src/open_files.rs",
            "crates/probe/src/panic.rs",
            "crates/probe/src/regular_file.rs",
        ],
    ),
    (
        "the build and its config, which the cell tells",
        &[
            "crates/builds/src",
            "crates/repository/src",
            "crates/server/src/check.rs",
            "crates/server/src/config",
            "crates/server/src/instance/plant.rs",
            "crates/server/src/mysql/check.rs",
            "crates/server/src/mysql/counting.rs",
            "crates/server/src/mysql/rules.rs",
            "crates/server/src/postgres/check.rs",
            "crates/server/src/postgres/rules.rs",
            "crates/server/src/sqlite/rules.rs",
        ],
    ),
    (
        "who may use a directory, and what becomes of its processes",
        &[
            "crates/process/src/account.rs",
            "crates/process/src/guard.rs",
            "crates/process/src/keeper.rs",
            "crates/process/src/lib.rs",
            "crates/process/src/lock.rs",
            "crates/process/src/log.rs",
            "crates/process/src/private_folder.rs",
            "crates/process/src/process.rs",
            "crates/process/src/scratch.rs",
            "crates/process/src/trust.rs",
            "crates/process/src/watchdog.rs",
            "crates/server/src/disk.rs",
            "crates/server/src/instance/error.rs",
            "crates/server/src/instance/secret.rs",
            "crates/server/src/instance/shortage.rs",
            "crates/server/src/lib.rs",
            "crates/server/src/mysql/mod.rs",
            "crates/server/src/postgres/mod.rs",
            "crates/server/src/served/table_name.rs",
            "crates/server/src/sqlite/mod.rs",
            "crates/stop/src",
        ],
    ),
];

/// Whether a file is the entry of a list, or below it.
fn is_below(file: &str, entry: &str) -> bool {
    file.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a source file decides how a step is measured; `None` where nobody has said so.
fn is_measuring(file: &str) -> Option<bool> {
    let longest = |entries: &mut dyn Iterator<Item = &'static str>| {
        entries.filter(|entry| is_below(file, entry)).map(str::len).max()
    };
    let beside = longest(&mut BESIDE.iter().flat_map(|(_, entries)| entries.iter().copied()));
    let measuring = longest(&mut MEASURING.iter().copied());
    (measuring != beside).then_some(measuring > beside)
}

/// Where the hash is kept.
const PINNED: &str = "tests/protocol_revision.txt";
/// Set to write the present hash.
const ACCEPT: &str = "BASECASE_ACCEPT_PROTOCOL";

fn collect(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| collect(&entry.unwrap().path(), found));
    } else {
        assert!(path.is_file(), "{} is gone; correct the list in this test", path.display());
        found.push(path.to_path_buf());
    }
}

/// The code without comments, blanks and tests, none of which measures anything.
fn essence(source: &str) -> String {
    let mut essence = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            // rustfmt closes an item at the indentation at which it began.
            let end = line.replace("#[cfg(test)]", "}");
            lines.by_ref().find(|line| *line == end || line.ends_with(';') && !line.starts_with(' '));
            continue;
        }
        // `//` within a string has an odd number of quotes before it.
        let comment = line.match_indices("//").find(|(at, _)| line[..*at].matches('"').count() % 2 == 0);
        let code = comment.map_or(line, |(at, _)| &line[..at]);
        essence.extend(code.split_whitespace());
    }
    essence
}

fn hash() -> String {
    let mut files = Vec::new();
    MEASURING.iter().for_each(|path| collect(&workspace().join(path), &mut files));
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        hasher.update(file.strip_prefix(workspace()).unwrap().to_str().unwrap());
        hasher.update("\n");
        hasher.update(essence(&fs::read_to_string(&file).unwrap()));
        hasher.update("\n");
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_change_of_the_measuring_code_is_a_decision() {
    let present = format!("protocol revision {PROTOCOL_REVISION}\nsha256 {}\n", hash());
    let path = workspace().join(PINNED);
    if std::env::var_os(ACCEPT).is_some_and(|value| value == "1") {
        fs::write(&path, present).unwrap();
        return;
    }
    let pinned = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        pinned == present,
        "The code that measures a step differs from what {PINNED} pins.\n\
         Did the way a step is measured change, so that a number may differ from one measured before?\n\
         - yes: raise PROTOCOL_REVISION in crates/model/src/cell.rs. Stored results keep their cells, and no \
         result of the new way shares one with them.\n\
         - no (moved, renamed, made clearer): leave PROTOCOL_REVISION as it is.\n\
         Then write the new hash: {ACCEPT}=1 cargo test -p basecase-tests --test protocol_revision\n\
         \n\
         pinned:\n{pinned}\npresent:\n{present}"
    );
}

#[test]
fn defect_13_of_every_source_file_it_is_said_whether_it_measures() {
    let mut files = Vec::new();
    for folder in fs::read_dir(workspace().join("crates")).unwrap() {
        collect(&folder.unwrap().path().join("src"), &mut files);
    }
    let name = |file: &PathBuf| file.strip_prefix(workspace()).unwrap().to_str().unwrap().to_owned();
    let names: Vec<String> = files.iter().map(name).filter(|file| file.ends_with(".rs")).collect();
    let unknown: Vec<&String> = names.iter().filter(|file| is_measuring(file).is_none()).collect();
    assert!(unknown.is_empty(), "in neither list of {}: {unknown:?}", file!());
    // A folder of its own reason takes in what is new in it: where some files measure and others do not, each is named.
    for named in [
        "crates/lab/src/",
        "crates/model/src/",
        "crates/probe/src/",
        "crates/process/src/",
        "crates/server/src/",
        "crates/stats/src/",
    ] {
        let entries = || MEASURING.iter().chain(BESIDE.iter().flat_map(|(_, entries)| *entries));
        let is_named =
            |file: &&String| entries().any(|entry| entry.starts_with(named) && is_below(file, entry));
        let of_folder = names.iter().filter(|file| file.starts_with(named));
        let forgotten: Vec<&String> = of_folder.filter(|file| !is_named(file)).collect();
        assert!(forgotten.is_empty(), "in neither list of {}: {forgotten:?}", file!());
    }
    for (_, entries) in BESIDE {
        for entry in *entries {
            assert!(workspace().join(entry).exists(), "{entry} is gone; correct the list in this test");
        }
    }
    for file in [
        "crates/lab/src/run/rounds/slice_scheduler.rs",
        "crates/lab/src/run/rounds/chunk_scheduler.rs",
        "crates/lab/src/run/rounds/interleaving.rs",
        "crates/lab/src/run/measure/mod.rs",
        "crates/server/src/served/settle.rs",
        "crates/server/src/instance/start.rs",
        "crates/probe/src/canary.rs",
        "crates/stats/src/allocation.rs",
        "crates/stats/src/orders.rs",
        "crates/model/src/histogram.rs",
    ] {
        assert_eq!(is_measuring(file), Some(true), "{file}");
    }
    assert_eq!(is_measuring("crates/stats/src/verdict.rs"), Some(false));
    assert_eq!(is_measuring("crates/unheard/src/of.rs"), None);
}

#[test]
fn comments_blanks_and_tests_do_not_count() {
    let bare = "fn f() -> &'static str {\n\"postgres://x\"\n}\nfn g() {}\n";
    let dressed = "//! About.\n\n/// Says.\nfn f() -> &'static str {\n    \"postgres://x\" // where\n}\n\
        #[cfg(test)]\nmod tests {\n    fn t() {\n    }\n}\n#[cfg(test)]\nmod more;\nfn g() {}\n";
    assert_eq!(essence(bare), essence(dressed));
    assert_ne!(essence(bare), essence(&bare.replace("//x", "//y")));
}
