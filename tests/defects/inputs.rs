//! Workload files, options, stores and configs that must be refused or bounded.

use basecase_client::{Endpoint, Session};
use basecase_server::{Instance, Transport, of_url};
use basecase_tests::Sandbox;

use crate::own_server::own_server;

/// A workload whose only table has this name.
fn workload(table: &str) -> String {
    format!(
        "[tables.kind]\nname = '{table}'\nrows = 10\ncolumns = [{{ name = 'id', type = 'integer', content = 'row' }}]\n\
         primary_key = 'id'\n[statements]\nlook = 'select id from {{table}} where id = 1'\n[[steps]]\nname = 'looking'\nevent = 'look'\n"
    )
}

/// Runs the program, which must end with an error and a hint, and returns what it said.
fn refused(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.output(arguments);
    let said = sandbox.transcript(&output);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {said}");
    assert!(said.contains("\nhint: ") && !said.contains("panicked"), "{arguments:?}: {said}");
    said
}

#[test]
fn defect_01_names_that_reach_others_tables_are_refused_with_their_place() {
    let sandbox = Sandbox::new();
    for name in ["victim.orders", "`orders`", "orders/**/", " orders", "Orders", "order", "pg_class"] {
        sandbox.write("mine.toml", &workload(name));
        let said = refused(&sandbox, &["workload", "check", "mine.toml"]);
        assert!(said.contains("mine.toml, line 2, column 8: "), "{said}");
    }
    for (right, wrong, place) in [
        ("name = 'id'", "name = 'i d'", "line 4, column 21"),
        ("primary_key = 'id'", "primary_key = 'id), key (id'", "line 5, column 15"),
        ("rows = 10", "rows = 10\nindexes = [{ name = 'x on t', columns = 'id' }]", "line 4, column 21"),
    ] {
        sandbox.write("mine.toml", &workload("orders").replace(right, wrong));
        let said = refused(&sandbox, &["workload", "check", "mine.toml"]);
        assert!(said.contains(place), "{said}");
    }
}

/// A server as a user's own, with a database `ib`, and a URL of it.
fn users_server(sandbox: &Sandbox, build: &str) -> (Instance, Endpoint, String) {
    let instance = own_server(sandbox, build, Transport::Loopback, &[]);
    let mut session = instance.endpoint("").connect().unwrap();
    session.query("create database ib").unwrap();
    let endpoint = instance.endpoint("ib");
    let (statements, scheme, port) = match &endpoint {
        Endpoint::Mysql(address) => (
            ["create user me@'127.0.0.1' identified by 'pw'", "grant all on *.* to me@'127.0.0.1'"],
            "mysql",
            address.port,
        ),
        Endpoint::Postgres(address) => (
            ["create role me login password 'pw'", "grant all on database ib to me"],
            "postgres",
            address.port,
        ),
        Endpoint::Sqlite(_) | Endpoint::SqliteForked(_) => unreachable!("a server"),
    };
    for statement in statements {
        session.query(statement).unwrap();
    }
    (instance, endpoint, format!("url:{scheme}://me:pw@127.0.0.1:{port}/ib"))
}

#[test]
fn defect_01_tables_of_others_survive_on_mysql() {
    let sandbox = Sandbox::new();
    let (instance, endpoint, url) = users_server(&sandbox, "mysql:8.0.31");
    let mut session = endpoint.connect().unwrap();
    survive(&sandbox, session.as_mut(), &endpoint, &url, "create database victim", "comment =");
    drop(session);
    instance.destroy().unwrap();
}

#[test]
fn defect_01_tables_of_others_survive_on_postgres() {
    let sandbox = Sandbox::new();
    let (instance, endpoint, url) = users_server(&sandbox, "postgres:17.11");
    let mut session = endpoint.connect().unwrap();
    session.query("alter role all set search_path = victim, public").unwrap();
    session.query("grant all on schema public to me").unwrap();
    session.query("set search_path = victim, public").unwrap();
    survive(&sandbox, session.as_mut(), &endpoint, &url, "create schema victim", "is");
    drop(session);
    instance.destroy().unwrap();
}

/// Tables that basecase did not make stay, whoever asks and whenever they came.
fn survive(
    sandbox: &Sandbox,
    session: &mut dyn Session,
    endpoint: &Endpoint,
    url: &str,
    make_victim: &str,
    set_comment: &str,
) {
    let is_mysql = matches!(endpoint, Endpoint::Mysql(_));
    let remark = |table: &str, comment: &str| match is_mysql {
        true => format!("alter table {table} {set_comment} '{comment}'"),
        false => format!("comment on table {table} {set_comment} '{comment}'"),
    };
    session.query(make_victim).unwrap();
    session.query("create table victim.orders (precious int)").unwrap();
    if !is_mysql {
        session.query("grant usage on schema victim to me").unwrap();
    }
    for name in ["victim.orders", "`orders`", "\"orders\""] {
        sandbox.write("mine.toml", &workload(name));
        refused(
            sandbox,
            &["compare", url, "--workload", "./mine.toml", "--store", "s.sqlite", "--data", "data"],
        );
    }
    // A table of the same name where the workload's would be made, whose comment only looks like a mark.
    let here = if is_mysql { "ib.orders" } else { "victim.orders" };
    if is_mysql {
        session.query("create table ib.orders (precious int)").unwrap();
    }
    session.query(&remark(here, "basecase results, keep")).unwrap();
    sandbox.write("mine.toml", &workload("orders"));
    let said = refused(
        sandbox,
        &["compare", url, "--workload", "./mine.toml", "--store", "s.sqlite", "--data", "data"],
    );
    assert!(said.contains("has a table orders that basecase did not make"), "{said}");

    // Ours when the run began, and somebody else's when it is to be dropped.
    let served = of_url(endpoint.clone(), None).unwrap().unwrap();
    session.query("create table mine (precious int)").unwrap();
    session.query(&remark("mine", "basecase: test")).unwrap();
    assert!(!served.is_foreign(session, "mine").unwrap());
    session.query(&remark("mine", "taken over")).unwrap();
    assert!(!served.drop_table(session, "mine").unwrap());
    session.query("select precious from mine").unwrap();
    session.query(&remark("mine", "basecase: test")).unwrap();
    assert!(served.drop_table(session, "mine").unwrap());
    session.query("select precious from mine").unwrap_err();
    // Another schema's table of the name, with a mark of ours, is not what would be dropped.
    if is_mysql {
        session.query("drop table ib.orders").unwrap();
        session.query(&remark("victim.orders", "basecase: test")).unwrap();
        assert!(served.drop_table(session, "orders").unwrap());
    }
    served.drop_table(session, "victim.orders").unwrap_err();
    let note = served.discard(endpoint.connect().unwrap(), &["orders".into()]).unwrap();
    assert_eq!(note.is_some(), !is_mysql, "{note:?}");
    session.query("select precious from victim.orders").unwrap();
}

#[test]
fn defect_28_a_user_without_the_right_to_checkpoint_is_told_before_the_load() {
    let sandbox = Sandbox::new();
    let (instance, endpoint, url) = users_server(&sandbox, "postgres:17.11");
    let mut session = endpoint.connect().unwrap();
    session.query("grant all on schema public to me").unwrap();
    let run = ["compare", &url, "--rows", "1000", "--writes", "10", "--seconds", "1", "--data", "data"];
    let said = refused(&sandbox, &[&run[..], &["--store", "s.sqlite"]].concat());
    assert!(said.contains("user me has no right to CHECKPOINT"), "{said}");
    assert!(said.contains("hint: GRANT pg_checkpoint TO me; or"), "{said}");
    session.query("select 1 from pi1").unwrap_err();
    // Without settling the right is not needed, and with it nothing is refused.
    sandbox.write("mine.toml", &workload("orders"));
    let run = ["compare", &url, "--workload", "./mine.toml", "--seconds", "1", "--settle", "off"];
    let output = sandbox.output(&[&run[..], &["--store", "off.sqlite", "--data", "data"]].concat());
    assert!(output.status.success(), "{}", sandbox.transcript(&output));
    session.query("grant pg_checkpoint to me").unwrap();
    session.query("set role me").unwrap();
    of_url(endpoint.clone(), None).unwrap().unwrap().check_rights(session.as_mut()).unwrap();
    drop(session);
    instance.destroy().unwrap();
}

/// Runs the program, which must end by itself within a minute, whatever it says, and without a panic.
fn ends(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("timeout");
    command.args(["--signal=KILL", "60"]).arg(basecase_tests::program()).args(arguments);
    let output = command.current_dir(sandbox.path()).stdin(std::process::Stdio::null()).output().unwrap();
    let said = sandbox.transcript(&output);
    assert!(output.status.code().is_some_and(|code| code <= 2), "{arguments:?}: {said}");
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    said
}

#[test]
fn defect_17_pipes_and_devices_are_refused() {
    let sandbox = Sandbox::new();
    let made = std::process::Command::new("mkfifo").arg(sandbox.path().join("pipe.toml")).status().unwrap();
    assert!(made.success());
    for file in ["pipe.toml", "/dev/zero", "."] {
        let named = format!("./{file}");
        let named = if file.starts_with('/') { file } else { &named };
        for arguments in [
            &["run", named, "--store", "s.sqlite", "--data", "data"][..],
            &["workload", "check", named],
            &["compare", "sqlite", "--workload", named, "--store", "s.sqlite", "--data", "data"],
            &["compare", &format!("sqlite@{named}/"), "--store", "s.sqlite", "--data", "data"],
            &["compare", "sqlite", "--store", named, "--data", "data"],
            &["store", "verify", named],
            &["report", named],
        ] {
            let said = ends(&sandbox, arguments);
            assert!(said.contains("\nerror: ") && said.contains("\nhint: "), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn defect_17_numbers_out_of_range_are_refused_or_work() {
    let sandbox = Sandbox::new();
    let most = u64::MAX.to_string();
    let numbers = ["0", "-1", "1e-20", "1e300", "nan", "inf", "4294967296", "9223372036854775807", &most];
    let options = ["rate", "seconds", "warm_up_seconds", "events", "threads", "tables", "table_size", "seed"];
    for number in numbers {
        for option in options {
            ends(
                &sandbox,
                &["workload", "show", "oltp_read_write", "--option", &format!("{option}={number}")],
            );
        }
        for flag in ["--rows", "--tables", "--threads", "--seconds", "--write-seconds", "--warm-up-seconds"] {
            ends(&sandbox, &["workload", "show", "oltp_read_only", &format!("{flag}={number}")]);
        }
        for flag in ["--rows", "--writes", "--seconds", "--clients", "--scale"] {
            ends(&sandbox, &["workload", "show", "insert-benchmark", &format!("{flag}={number}")]);
        }
    }
    // None of these has a candidate, so that nothing is run where a number is taken.
    for number in numbers {
        for flag in ["--budget", "--slice", "--detect", "--rounds", "--step-limit", "--scale"] {
            ends(&sandbox, &["compare", "sqlite@none", &format!("{flag}={number}")]);
        }
    }
    ends(&sandbox, &["compare", "sqlite@none", "--budget", "9999999999999h"]);
    let rate = ends(&sandbox, &["workload", "show", "oltp_read_only", "--option", "rate=1e-20"]);
    assert!(rate.contains("rate is `1e-20`\nhint: give a number from 0.001"), "{rate}");
}

#[test]
fn defect_17_checking_a_workload_does_not_make_its_rows() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.toml", &workload("orders").replace("rows = 10", "rows = 4_294_967_296"));
    let said = ends(&sandbox, &["workload", "check", "mine.toml"]);
    assert!(said.contains("no mistakes"), "{said}");
    let many =
        workload("orders{number}").replace("rows = 10", "rows = 9_000_000_000_000_000_000\ncount = 1000");
    sandbox.write("mine.toml", &many);
    let said = ends(&sandbox, &["workload", "check", "mine.toml"]);
    assert!(said.contains("too many rows\nhint: "), "{said}");
    for statement in ["{repeat bytes 9_000_000_000_000_000_000}x{end}", "{repeat bytes 100}{end}"] {
        let statement =
            format!("look = {{ sql = 'insert into {{table}} values {statement}', prepared = false }}");
        let file = workload("orders").replace("look = 'select id from {table} where id = 1'", &statement);
        sandbox.write("mine.toml", &file);
        ends(&sandbox, &["workload", "check", "mine.toml"]);
    }
}

#[test]
fn defect_30_experiments_name_a_build_by_version_that_has_io_uring() {
    let folder = basecase_tests::workspace().join("experiments");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let texts = files.filter(|path| path.is_file()).map(|path| std::fs::read_to_string(path).unwrap());
    let told: Vec<String> = texts.filter(|text| text.contains("io_uring")).collect();
    assert_eq!(told.len(), 2);
    for text in told {
        assert!(text.contains("postgres:18.6:debian") && !text.contains("path:"), "{text}");
    }
}
