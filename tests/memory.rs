//! Servers with a limit on their memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use basecase_tests::Sandbox;
use basecase_tests::running::KILLS_FOR_MEMORY;

/// A step that fits the limit, and one whose reply takes more than there is.
const WORKLOAD: &str = "[tables.t]\nrows = 1000\ncolumns = [{ name = \"id\", type = \"integer not null\", content = \"row\" }]\n\
    [statements]\nread = \"select count(*) from {table}\"\ngreedy = \"select length(repeat('x', 500000000)) from {table}\"\n\
    [[steps]]\nname = \"read\"\nevent = \"read\"\n[[steps]]\nname = \"greedy\"\nevent = \"greedy\"\n";

/// The group of this process in the hierarchy of version 1, if groups can be made below it.
fn own_group() -> Option<PathBuf> {
    let told = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = told.lines().find_map(|line| line.split_once(":memory:"))?.1;
    let folder = Path::new("/sys/fs/cgroup/memory").join(group.trim_start_matches('/'));
    let trial = folder.join(format!("bc-trial-{}", std::process::id()));
    let made = fs::create_dir(&trial).and_then(|()| fs::remove_dir(&trial));
    made.inspect_err(|error| println!("skipped: no control group can be made: {error}")).ok()?;
    Some(folder)
}

#[test]
fn a_server_has_what_its_group_allows_and_is_told_when_it_takes_more() {
    let _alone = KILLS_FOR_MEMORY.write().unwrap_or_else(PoisonError::into_inner);
    let Some(folder) = own_group() else { return };
    let sandbox = Sandbox::on_disk();
    sandbox.write("own.toml", WORKLOAD);
    let run = [
        "compare",
        "postgres:17.11",
        "--memory",
        "300M",
        "--workload",
        "./own.toml",
        "--option",
        "seconds=1",
        "--settle",
        "off",
        "--store",
        "s.sqlite",
        "--data",
        "d",
    ];
    let mut command = sandbox.command(&run);
    let child =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let prefix = format!("basecase-{}-", child.id());
    child.wait_with_output().unwrap();
    let is_own = |name: &str| name.starts_with(&prefix);
    let left = fs::read_dir(folder)
        .unwrap()
        .filter(|entry| entry.as_ref().is_ok_and(|entry| is_own(&entry.file_name().to_string_lossy())));
    assert_eq!(left.count(), 0, "groups go with the run");

    let report = sandbox.output(&["report", "s.sqlite", "--format", "text", "--full"]);
    let said = String::from_utf8_lossy(&report.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("x10a_c2r300m") || said.contains("r300m"), "{said}");
    assert!(said.contains("read in limited memory (memory: 300 MiB)"), "{said}");
    assert!(
        said.contains("the kernel killed postgres 17.11 because memory ran out: its limit is 300 MiB, and it took up to 300 MiB"),
        "{said}"
    );
    assert!(said.contains("allow more with --memory") && said.contains("--set shared_buffers="), "{said}");
    assert!(!said.contains("closed the connection"), "{said}");
    let json = sandbox.output(&["report", "s.sqlite", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let steps = json["steps"].as_array().unwrap();
    let read = steps.iter().find(|step| step["step"].as_str().is_some_and(|name| name.starts_with("read")));
    let metrics = &read.unwrap()["cells"][0]["metrics"];
    let share = metrics["memory_pct"].as_f64().unwrap();
    assert!(share > 1.0 && share <= 100.5, "{metrics}");
    assert!(metrics["shared_mib"].as_f64().unwrap() > 0.0, "{metrics}");
}

#[test]
fn what_cannot_be_limited_is_refused_before_any_work() {
    let sandbox = Sandbox::new();
    let refused = |arguments: &[&str]| {
        let output = sandbox.output(&[&["compare"], arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let embedded = refused(&["sqlite", "--memory", "300M"]);
    assert!(embedded.contains("SQLite runs inside basecase") && embedded.contains("\nhint: "), "{embedded}");
    let own = refused(&["url:postgres://me:secret@localhost:1/d", "--memory", "300M"]);
    assert!(own.contains("this one is your own") && !own.contains("secret"), "{own}");
    let large = refused(&["postgres:17.11", "--memory", "900T"]);
    assert!(large.contains("each server may use") && large.contains("choose a smaller limit"), "{large}");
    let auto = refused(&["postgres:17.11", "--memory", "auto"]);
    assert!(auto.contains("published_memory"), "{auto}");
    if own_group().is_some() {
        let small = refused(&["postgres:17.11", "--memory", "100M", "--rows", "1000"]);
        assert!(small.contains("the control group allows 100 MiB"), "{small}");
        assert!(small.contains("MiB would fit"), "{small}");
        let tight = refused(&["postgres:17.11", "--memory", "200M", "--rows", "1000"]);
        assert!(tight.contains("200 MiB leave too little for the server's processes"), "{tight}");
        assert!(tight.contains("MiB would fit"), "{tight}");
    }
}
