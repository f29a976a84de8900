//! What is read of servers and machines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use basecase_tests::{Sandbox, program};

/// Where a run keeps what it makes.
const PLACES: [&str; 4] = ["--store", "s.sqlite", "--data", "d"];

/// A control group of cgroups v1 with a limit; removed with the value.
struct LimitedGroup(PathBuf);

impl LimitedGroup {
    /// `None` where this user may not make one.
    fn new(limit_mib: u64) -> Option<Self> {
        let name = format!("bc-{limit_mib}-{}", std::process::id());
        let group = LimitedGroup(Path::new("/sys/fs/cgroup/memory").join(name));
        let limit = group.0.join("memory.limit_in_bytes");
        let made = fs::create_dir(&group.0).and_then(|()| fs::write(limit, (limit_mib << 20).to_string()));
        made.inspect_err(|error| eprintln!("skipped: no control group can be made: {error}")).ok()?;
        Some(group)
    }

    /// What the program says that runs in it.
    fn words(&self, sandbox: &Sandbox, arguments: &[&str]) -> String {
        let enter = "echo 0 > \"$0\" && exec \"$@\"";
        let output = Command::new("sh")
            .args(["-c", enter])
            .arg(self.0.join("cgroup.procs"))
            .arg(program())
            .args(arguments)
            .args(PLACES)
            .current_dir(sandbox.path())
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        [output.stdout, output.stderr].iter().map(|text| String::from_utf8_lossy(text)).collect()
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        // What outlives the program for a moment keeps the group busy.
        let until = Instant::now() + Duration::from_secs(5);
        while fs::remove_dir(&self.0).is_err() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn defect_23_a_server_that_was_killed_for_memory_is_told_so_with_the_limit() {
    let Some(group) = LimitedGroup::new(300) else { return };
    let sandbox = Sandbox::on_disk();
    // One reply takes more than the group has.
    sandbox.write(
        "greedy.toml",
        "[tables.t]\nrows = 1\ncolumns = [{ name = \"id\", type = \"integer not null\", content = \"row\" }]\n\
         [statements]\ngreedy = \"select length(repeat('x', 500000000)) from {table}\"\n\
         [[steps]]\nname = \"greedy\"\nevent = \"greedy\"\n",
    );
    let said = group.words(
        &sandbox,
        &[
            "compare",
            "postgres:17.11",
            "--workload",
            "./greedy.toml",
            "--option",
            "seconds=1",
            "--settle",
            "off",
        ],
    );
    assert!(said.contains("r300m"), "{said}");
    assert!(
        said.contains(
            "the kernel killed postgres 17.11 because memory ran out: its control group allows 300 MiB"
        ),
        "{said}"
    );
    assert!(said.contains("--set shared_buffers="), "{said}");
    assert!(!said.contains("closed the connection"), "{said}");
}

#[test]
fn defect_23_mysql_that_wants_more_memory_than_its_group_has_is_refused_with_what_to_set() {
    let Some(group) = LimitedGroup::new(400) else { return };
    let said =
        group.words(&Sandbox::new(), &["compare", "mysql:8.0.31", "--set", "innodb_buffer_pool_size=1G"]);
    assert!(said.contains("the control group allows 400 MiB"), "{said}");
    assert!(said.contains("--set innodb_buffer_pool_size=100M"), "{said}");
}
