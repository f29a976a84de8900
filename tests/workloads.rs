//! Workload files as a user runs them: the published list, a file of his own, a sweep, clean mode, and runs that are cut short.

use std::collections::BTreeMap;

use basecase_model::{StatementRecord, Trial, names};
use basecase_tests::Sandbox;
use basecase_tests::running::{PLACES, Point, Running, assert_nothing_runs, trials};

const SHORT: &str = "seconds=0.2";

/// Runs a comparison of short steps to its end; what it printed, and its trials.
fn compare(sandbox: &Sandbox, candidates: &[&str], workload: &[&str]) -> (String, Vec<Trial>) {
    compare_for(SHORT, sandbox, candidates, workload)
}

/// The same with steps of so many seconds.
fn compare_for(
    seconds: &str,
    sandbox: &Sandbox,
    candidates: &[&str],
    workload: &[&str],
) -> (String, Vec<Trial>) {
    let timing = ["--option", seconds, "--warm-up-seconds", "0", "--settle", "off"];
    let arguments = [&["compare", "--full"], candidates, workload, &timing, &PLACES].concat();
    let output = sandbox.output(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", sandbox.transcript(&output));
    let trials = trials(&sandbox.path().join("s.sqlite"));
    for trial in &trials {
        assert!(trial.is_complete(), "{} {}", trial.candidate, trial.step);
    }
    assert_nothing_runs(&sandbox.path().join("data"));
    (String::from_utf8(output.stdout).unwrap(), trials)
}

/// The groups of results since 2025, in the order in which they are published.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "point queries",
        &[
            "hot-points_range=100",
            "point-query_range=100",
            "points-covered-pk_range=100",
            "points-covered-si_range=100",
            "points-notcovered-pk_range=100",
            "points-notcovered-si_range=100",
            "random-points_range=1000",
            "random-points_range=100",
            "random-points_range=10",
        ],
    ),
    (
        "range queries without aggregation",
        &[
            "range-covered-pk_range=100",
            "range-covered-si_range=100",
            "range-notcovered-pk_range=100",
            "range-notcovered-si_range=100",
            "scan_range=100",
        ],
    ),
    (
        "range queries with aggregation",
        &[
            "read-only-count_range=1000",
            "read-only-distinct_range=1000",
            "read-only-order_range=1000",
            "read-only_range=10000",
            "read-only_range=100",
            "read-only_range=10",
            "read-only-simple_range=1000",
            "read-only-sum_range=1000",
        ],
    ),
    (
        "writes",
        &[
            "delete_range=100",
            "insert_range=100",
            "read-write_range=100",
            "read-write_range=10",
            "update-index_range=100",
            "update-inlist_range=100",
            "update-nonindex_range=100",
            "update-one_range=100",
            "update-zipf_range=100",
            "write-only_range=10000",
        ],
    ),
];

/// The words of each line of a block of the report: what follows the line `title`, up to an empty line.
fn block<'a>(report: &'a str, title: &str) -> Vec<Vec<&'a str>> {
    let lines = report.lines().skip_while(|line| *line != title).skip(1);
    let block: Vec<Vec<&str>> =
        lines.take_while(|line| !line.is_empty()).map(|line| line.split_whitespace().collect()).collect();
    assert!(!block.is_empty(), "no {title:?} in {report}");
    block
}

/// How many decimals a number is printed with.
fn decimals(printed: &str) -> usize {
    printed.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// The least and the most that a printed number may have been before it was rounded.
fn before_rounding(printed: &str) -> (f64, f64) {
    let number: f64 = printed.parse().unwrap();
    let half = 0.5 / 10_f64.powi(decimals(printed) as i32);
    (number - half, number + half)
}

#[test]
fn the_published_list_in_the_published_form() {
    let sandbox = Sandbox::new();
    let workload = ["--workload", "microbenchmarks", "--list", "32", "--rows", "10000"];
    let (report, trials) = compare(&sandbox, &["postgres:17.11", "postgres:18.6"], &workload);
    assert_eq!(trials.len(), 2 * (1 + 38));
    for trial in &trials {
        let check = trial.checks.iter().find(|check| check.name == "rows of all tables");
        assert!(check.is_some_and(|check| check.passed), "{} {}", trial.candidate, trial.step);
    }
    let (relative, absolute) = report.split_once("\nQueries per second\n---").unwrap();
    let mut place = 0;
    for (group, labels) in GROUPS {
        let title = format!("\n{group}\n");
        let found = relative.find(&title).unwrap_or_else(|| panic!("no {group} in {relative}"));
        assert!(found > place, "{group} is not in its place");
        place = found;
        let rows = |text| -> Vec<Vec<&str>> {
            let block = block(text, group);
            block.into_iter().skip_while(|words| words[0] != "step").skip(1).collect()
        };
        let (ratios, rates) = (rows(relative), rows(absolute));
        assert_eq!(ratios.iter().map(|words| words[0]).collect::<Vec<_>>(), labels);
        assert_eq!(rates.iter().map(|words| words[0]).collect::<Vec<_>>(), labels);
        for (ratio, rate) in ratios.iter().zip(&rates) {
            let shown = ratio[1].trim_end_matches(['+', '-']);
            assert_eq!(decimals(shown), 2, "{ratio:?}");
            let [shown, base, other] = [shown, rate[1], rate[2]].map(before_rounding);
            let possible = other.0 / base.1..=other.1 / base.0;
            assert!(shown.1 > *possible.start() && shown.0 < *possible.end(), "{ratio:?} of {rate:?}");
        }
    }
}

const MINE: &str = r#"
about = "looking things up in a shop"

[options]
size = { default = 1_000, least = 1, most = 2_147_483_647, help = "articles" }

[templates]
name = "@@@@@@@@-####"

[tables.article]
rows = "size"
columns = [
  { name = "id", type = { postgres = "bigserial", mysql = "bigint auto_increment", sqlite = "integer" } },
  { name = "name", type = "varchar(20) not null", content = "name" },
]
primary_key = "id"

[statements]
look = { sql = "select name from {table} where id = {1..size zipfian}", fetches = 1 }
rename = { sql = "update {table} set name = {name} where id in ({1..size}*5)", affects_at_most = 5 }

[events.shopping]
transaction = true
do = [{ do = "look", times = 10 }, "rename"]

[[steps]]
name = "looking"
event = "look"

[[steps]]
name = "shopping"
event = "shopping"
"#;

#[test]
fn a_file_of_the_users_own_and_a_sweep() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.toml", MINE);
    let candidates = ["sqlite", "postgres:18.6"];
    let workload = ["--workload", "./mine.toml", "--option", "size=2000"];
    let (report, trials) = compare(&sandbox, &candidates, &workload);
    let steps: Vec<&str> = trials.iter().map(|trial| trial.step.as_str()).collect();
    assert_eq!(steps, ["load", "looking", "shopping", "load", "looking", "shopping"]);
    assert!(report.contains("2,000 rows, 1 thread"), "{report}");
    for trial in trials.iter().filter(|trial| trial.step == "shopping") {
        let executed = |name: &str| {
            let record = trial.statements.iter().find(|record: &&StatementRecord| record.name == name);
            record.unwrap().window.executed
        };
        let events = trial.roles[0].events;
        assert!(events > 0);
        assert_eq!([executed("look"), executed("rename"), executed("begin")], [10 * events, events, events]);
    }

    let (report, trials) = compare(&sandbox, &candidates, &[&workload[..], &["--threads", "1,2,4"]].concat());
    assert_eq!(trials.len(), 2 * (1 + 2 * 3));
    for trial in trials.iter().filter(|trial| trial.step != "load") {
        let threads = trial.step.rsplit_once(".dop").unwrap().1;
        assert_eq!(trial.roles.len().to_string(), threads, "{}", trial.step);
        assert!(trial.roles.iter().all(|role| role.events > 0), "{}", trial.step);
    }
    for step in ["looking", "shopping"] {
        let rows = block(&report, &format!("{step}: queries/s"));
        assert_eq!(rows.iter().map(|words| words[0]).collect::<Vec<_>>(), ["threads", "1", "2", "4"]);
        assert!(rows.iter().all(|words| words.len() == 3), "{rows:?}");
    }
}

/// Rows of all tables after a step, and rows that one of its statements affected.
fn rows_and_affected(trials: &[Trial], step: &str, statement: &str) -> (u64, StatementRecord) {
    let trial = trials.iter().find(|trial| trial.step == step).unwrap();
    let rows = trial.state.tables.iter().map(|table| table.rows.unwrap()).sum();
    let record = trial.statements.iter().find(|record| record.name == statement).unwrap();
    (rows, record.clone())
}

#[test]
fn clean_mode_deletes_what_is_there_and_loads_tables_anew() {
    let rows = 2 * 3_000;
    for candidate in ["postgres:17.11", "mysql:8.0.31"] {
        let sandbox = Sandbox::new();
        let workload = ["--workload", "microbenchmarks", "--list", "delete,insert,point-query"];
        let sizes = ["--tables", "2", "--rows", "3000", "--threads", "2", "--option", "mode=clean"];
        let (report, trials) = compare(&sandbox, &[candidate], &[&workload[..], &sizes].concat());
        let (left, delete) = rows_and_affected(&trials, "delete_range=100", "delete_each");
        assert!(delete.window.executed > 0);
        assert_eq!((delete.window.affected, delete.window.without_effect), (delete.window.executed, 0));
        assert_eq!(left, rows - delete.window.affected);
        let (left, insert) = rows_and_affected(&trials, "insert_range=100", "insert");
        assert!(insert.window.executed > 0);
        assert_eq!(left, rows + insert.window.affected, "the tables were loaded anew");
        assert!(report.contains("Mode clean"), "{report}");

        // As published, deletes do not ask what is there.
        let sandbox = Sandbox::new();
        let workload = ["--workload", "microbenchmarks", "--list", "delete", "--option", "primary_key=off"];
        let (_, trials) = compare(&sandbox, &[candidate], &[&workload[..], &["--rows", "100"]].concat());
        let (left, delete) = rows_and_affected(&trials, "delete_range=100", "delete");
        assert!(delete.window.without_effect > 0);
        assert_eq!(left, 100 - delete.window.affected);
    }
}

/// Kills a run in each of these steps, once something of it is done, and lets the last one finish. What is warned of the steps is shown.
fn kill_in(candidate: &str, list: &str, steps: &[&str]) -> BTreeMap<String, String> {
    let sandbox = Sandbox::new();
    let store = sandbox.path().join("s.sqlite");
    let workload = ["--workload", "microbenchmarks", "--list", list, "--tables", "2", "--rows", "5000"];
    let times = ["--seconds", "1", "--warm-up-seconds", "0", "--settle", "off"];
    let arguments = [&["compare", candidate], &workload[..], &times, &PLACES].concat();
    let mut started: BTreeMap<String, String> = BTreeMap::new();
    let mut remember = |trials: &[Trial]| {
        for trial in trials {
            assert!(trial.is_complete(), "{}", trial.step);
            let first = started.entry(trial.step.clone()).or_insert(trial.started_at.clone());
            assert_eq!(*first, trial.started_at, "{} was run twice", trial.step);
        }
        started.len()
    };
    for (number, step) in steps.iter().enumerate() {
        let mut running = Running::start(&sandbox, &arguments);
        running.wait_for(&Point::work(step));
        running.kill();
        assert_nothing_runs(&sandbox.path().join("data"));
        assert_eq!(remember(&trials(&store)), 2 + number, "the load and what came before {step}");
    }
    let told = Running::to_end(&sandbox, &arguments);
    assert!(told.is_success(), "{told}");
    let all = trials(&store);
    assert_eq!(remember(&all), all.len());
    assert_eq!(all.len(), 1 + list.split(',').count(), "each step exactly once");
    all.into_iter().map(|trial| (trial.step, trial.warnings.join("\n"))).collect()
}

#[test]
fn killed_in_steps_that_read_and_that_write() {
    for candidate in ["postgres:17.11", "mysql:8.0.31"] {
        let list = "point-query,update-index,hot-points";
        let warnings = kill_in(candidate, list, &["update-index", "hot-points"]);
        let warned = |step: &str, word: &str| {
            let warnings = &warnings[step];
            assert!(warnings.contains(word), "{candidate} {step}: {warnings:?} without {word:?}");
        };
        // What only read left everything in its place; what wrote did not.
        warned("hot-points_range=100", "the server was restarted before this step");
        warned("update-index_range=100", "the database was rebuilt for this step");
    }
}

/// More connections than threads of the client, on rows so few that transactions meet: deadlocks, and rows that another has inserted
/// meanwhile. Rows, statements and the servers' own counters agree all the same, or a trial would have failed.
#[test]
fn a_few_threads_drive_many_connections() {
    let sandbox = Sandbox::new();
    let workload = ["--workload", "oltp_read_write", "--threads", "4,48", "--rows", "100"];
    // In 0.2 s no two transactions may meet on a busy machine.
    let (_, trials) = compare_for("seconds=2", &sandbox, &["postgres:18.6", "mysql:8.0.31"], &workload);
    let many: Vec<&Trial> = trials.iter().filter(|trial| trial.step == "oltp_read_write.dop48").collect();
    assert_eq!(many.len(), 2);
    for trial in many {
        assert_eq!(trial.roles.len(), 48);
        assert!(trial.gauges.get(names::CLIENT_THREADS).unwrap() < 48.0);
        assert!(trial.gauges.get(names::CLIENT_BUSY_SHARE).is_some());
        let retries: u64 = trial.roles.iter().map(|role| role.retries).sum();
        assert!(retries > 0, "{}: no transactions met", trial.candidate);
    }
    let workload = ["--workload", "oltp_point_select", "--threads", "48", "--rows", "100"];
    let (_, trials) = compare(&sandbox, &["postgres:18.6", "mysql:8.0.31"], &workload);
    for trial in trials.iter().filter(|trial| trial.step == "oltp_point_select") {
        for role in &trial.roles {
            assert!(role.events > 0, "{}: client {} did nothing", trial.candidate, role.client);
        }
    }
}

#[test]
fn sizes_of_a_file_are_experiments_of_their_own() {
    let sandbox = Sandbox::new();
    let file = |last_rows: u32| {
        format!(
            "workload = \"microbenchmarks\"\ncandidates = [\"sqlite@wal_normal\"]\nlist = [\"point-query\"]\n[options]\nseconds = 0.2\n\
             warm_up_seconds = 0\n[[size]]\nname = \"small\"\nrows = 1000\n[[size]]\nname = \"large\"\nrows = {last_rows}\n"
        )
    };
    let run = |more: &[&str]| {
        sandbox.output(&[&["run", "sizes.toml", "--out", "pages"], &PLACES[..], more].concat())
    };
    sandbox.write("sizes.toml", &file(0));
    let refused = run(&[]);
    assert!(!refused.status.success(), "{}", sandbox.transcript(&refused));
    assert!(!sandbox.path().join("s.sqlite").exists(), "before any size is run");

    sandbox.write("sizes.toml", &file(3000));
    let one = run(&["--size", "large"]);
    assert!(one.status.success(), "{}", sandbox.transcript(&one));
    let both = run(&[]);
    assert!(both.status.success(), "{}", sandbox.transcript(&both));
    let loaded: Vec<u64> = trials(&sandbox.path().join("s.sqlite"))
        .iter()
        .filter(|trial| trial.step.starts_with("load"))
        .map(|trial| trial.roles.iter().map(|role| role.items).sum())
        .collect();
    assert_eq!(loaded, [1000], "the newest experiment is the one that was not there");
    assert!(sandbox.transcript(&both).contains("2 of 2 trials were already in s.sqlite"));
    for size in ["small", "large"] {
        assert!(sandbox.path().join("pages").join(size).join("index.html").exists());
    }
    let list = sandbox.output(&["store", "ls", "s.sqlite"]);
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("sizes small") && list.contains("sizes large"), "{list}");

    let unknown = run(&["--size", "huge"]);
    assert!(sandbox.transcript(&unknown).contains("has no size huge\nhint: it has small, large"));
}
