//! sysbench 1.0.20 beside basecase on one server: what they send, and what their loads leave.

use std::path::{Path, PathBuf};
use std::process::Command;

use basecase_builds::{Tool, default_home};
use basecase_client::Endpoint;
use basecase_model::{Dbms, Value};
use basecase_server::{Instance, SUPERUSER, Transport};
use basecase_tests::Sandbox;

use crate::own_server::own_server;
use crate::server_log::{self, Session};

/// Scripts with options that both programs take by the same names; `prepared=off` is `--db-ps-mode=disable` in sysbench.
const CASES: [(&str, &[&str]); 18] = [
    ("oltp_read_write", &[]),
    ("oltp_read_only", &[]),
    ("oltp_write_only", &[]),
    ("oltp_point_select", &[]),
    ("oltp_insert", &[]),
    ("oltp_delete", &[]),
    ("oltp_update_index", &[]),
    ("oltp_update_non_index", &[]),
    ("select_random_points", &["tables=1"]),
    ("select_random_ranges", &["tables=1"]),
    ("oltp_read_write", &["skip_trx=on", "delete_inserts=3", "order_ranges=0", "point_selects=2"]),
    ("oltp_read_write", &["prepared=off", "range_size=7"]),
    ("oltp_read_only", &["range_selects=off"]),
    ("oltp_write_only", &["index_updates=0", "non_index_updates=4"]),
    ("oltp_update_index", &["index_updates=3"]),
    ("oltp_insert", &["auto_inc=off"]),
    ("select_random_points", &["tables=1", "random_points=3"]),
    ("select_random_ranges", &["tables=1", "number_of_ranges=2", "delta=9", "prepared=off"]),
];

fn program() -> Tool {
    Tool::find("sysbench", &default_home().unwrap(), &mut |_| {}).unwrap()
}

/// A server, and how both programs reach it.
struct Site {
    // Before its folder: a server whose files are gone takes a minute to stop.
    instance: Instance,
    sandbox: Sandbox,
    dbms: Dbms,
    /// sysbench itself.
    program: Tool,
    /// Its options.
    sysbench: Vec<String>,
    /// basecase's candidate.
    candidate: String,
    database: Endpoint,
}

impl Site {
    fn postgres() -> Site {
        let sandbox = Sandbox::new();
        let instance = own_server(
            &sandbox,
            "postgres:17.11",
            Transport::published(Dbms::Postgres),
            &server_log::POSTGRES,
        );
        let mut session = instance.endpoint("").connect().unwrap();
        session.query("create role sbtest superuser login password 'sbtest'").unwrap();
        session.query("create database sbtest").unwrap();
        let (port, database) = (instance.port(), instance.endpoint("sbtest"));
        let candidate = format!("url:postgres://sbtest:sbtest@127.0.0.1:{port}/sbtest");
        // Its user, password and database are `sbtest` where nothing is said.
        let sysbench = ["--db-driver=pgsql", "--pgsql-host=127.0.0.1", "--pgsql-password=sbtest"];
        let mut sysbench: Vec<String> = sysbench.map(str::to_owned).into();
        sysbench.push(format!("--pgsql-port={port}"));
        Site { instance, sandbox, dbms: Dbms::Postgres, program: program(), sysbench, candidate, database }
    }

    fn mysql() -> Site {
        let sandbox = Sandbox::new();
        let instance =
            own_server(&sandbox, "mysql:8.0.31", Transport::published(Dbms::Mysql), &server_log::MYSQL);
        instance.endpoint("").connect().unwrap().query("create database sbtest").unwrap();
        let (socket, database) = (instance.socket().display().to_string(), instance.endpoint("sbtest"));
        let candidate = format!("url:mysql://{SUPERUSER}@{}/sbtest", socket.replace('/', "%2F"));
        let sysbench = vec![
            "--db-driver=mysql".to_owned(),
            format!("--mysql-user={SUPERUSER}"),
            format!("--mysql-socket={socket}"),
        ];
        Site { instance, sandbox, dbms: Dbms::Mysql, program: program(), sysbench, candidate, database }
    }

    fn log(&self) -> String {
        match self.dbms {
            Dbms::Postgres => server_log::read(&self.sandbox.path().join("own"), "server.log"),
            _ => server_log::read(&self.instance.data(), "general.log"),
        }
    }

    /// The last session that began while `work` was done.
    fn last_session(&self, work: impl FnOnce()) -> Session {
        let before = self.log().len();
        work();
        let log = self.log();
        let mut sessions = match self.dbms {
            Dbms::Postgres => server_log::of_postgres(&log[before..]),
            _ => server_log::of_mysql(&log[before..]),
        };
        sessions.pop().unwrap()
    }

    /// Runs a command of sysbench, with a library loaded before its own when one is named.
    fn sysbench(&self, script: &str, command: &str, options: &[&str], library: Option<&Path>) {
        let mut sysbench = self.program.command();
        sysbench.arg(script).args(&self.sysbench).args(["--threads=1", "--time=0"]);
        sysbench.args(options.iter().map(|option| match *option {
            "prepared=off" => "--db-ps-mode=disable".to_owned(),
            option => format!("--{option}"),
        }));
        if let Some(library) = library {
            sysbench.env("LD_PRELOAD", library);
        }
        let output = sysbench.arg(command).output().unwrap();
        assert!(output.status.success(), "{sysbench:?}\n{}", String::from_utf8_lossy(&output.stdout));
    }

    /// Loads the tables of a script and runs it.
    fn basecase(&self, script: &str, options: &[&str]) {
        let mut arguments = vec!["compare", &self.candidate, "--workload", script];
        arguments.extend(["--store", "s.sqlite", "--settle", "off", "--warm-up-seconds", "0"]);
        // The last session is then one that loads the server.
        arguments.extend(["--probe", "off"]);
        arguments.extend(options.iter().flat_map(|option| ["--option", option]));
        if options.contains(&KEPT) {
            arguments.push("--keep-data");
        }
        let output = self.sandbox.output(&arguments);
        assert!(output.status.success(), "{script}\n{}", self.sandbox.transcript(&output));
    }

    /// Checks that both send the same statements, in the same order and as many for each event. White space may differ.
    fn compare(&self, script: &str, options: &[&str]) {
        println!("{} {script} {options:?}", self.dbms);
        let options = [&["tables=2", "table-size=300", "rand-type=uniform"], options].concat();
        let with_events = [&options[..], &["events=3"]].concat();
        self.sysbench(script, "prepare", &options, None);
        let mut theirs = self.last_session(|| self.sysbench(script, "run", &with_events, None));
        self.sysbench(script, "cleanup", &options, None);
        let mut ours = self.last_session(|| self.basecase(script, &with_events));
        // Some scripts prepare BEGIN first, others do not; and all prepare statements of which they execute none.
        if options.iter().any(|option| option.ends_with("=0")) {
            theirs.prepared.retain(|text| ours.prepared.contains(text));
        }
        theirs.prepared.sort();
        ours.prepared.sort();
        assert_eq!(ours.prepared, theirs.prepared);
        assert_eq!(shapes(&ours), shapes(&theirs));
        assert!(theirs.executed.len() >= 3);
    }
}

/// Each statement that was executed, with `#` for a number and for the number of a table, and whether it was a prepared one.
fn shapes(session: &Session) -> Vec<(bool, String)> {
    let shape = |text: &str| {
        let mut shape = String::new();
        for letter in text.chars() {
            match letter {
                '0'..='9' if shape.ends_with('#') => {}
                '0'..='9' => shape.push('#'),
                _ => shape.push(letter),
            }
        }
        // Ids that the client makes are negative half of the time.
        shape.replace("(-#", "(#")
    };
    session.executed.iter().map(|executed| (executed.is_prepared, shape(&executed.text))).collect()
}

/// Its statements have no random values: the first one, with as many rows as fit, is the same letter for letter.
fn bulk_insert(site: &Site) {
    site.sysbench("bulk_insert", "prepare", &[], None);
    // An event is a row to sysbench and a statement to basecase.
    let theirs = site.last_session(|| site.sysbench("bulk_insert", "run", &["events=60000"], None));
    site.sysbench("bulk_insert", "cleanup", &[], None);
    let ours = site.last_session(|| site.basecase("bulk_insert", &["threads=1", "events=2"]));
    assert!(ours.prepared.is_empty() && theirs.prepared.is_empty());
    assert!(theirs.executed[0].text.len() > 500_000 && ours.executed[0] == theirs.executed[0]);
}

/// A single event, which reads: the tables are looked at after it.
const KEPT: &str = "events=1";

/// Debian's LuaJIT seeds the C library's `random()` when it starts, and draws from it, so that Debian's sysbench loads other rows
/// each time. Kept from that, sysbench loads what it does when built with its own LuaJIT: the same rows each time.
const WITHOUT_SEEDS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

void srandom(unsigned seed) { (void)seed; }

long random(void) {
    Dl_info caller;
    if (dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "luajit")) return 1;
    return ((long (*)(void))dlsym(RTLD_NEXT, "random"))();
}
"#;

fn library_without_seeds(sandbox: &Sandbox) -> PathBuf {
    sandbox.write("seeds.c", WITHOUT_SEEDS);
    let built = Command::new("gcc")
        .args(["-shared", "-fPIC", "-o", "seeds.so", "seeds.c", "-ldl"])
        .current_dir(sandbox.path())
        .status();
    assert!(built.expect("gcc is not installed").success());
    sandbox.path().join("seeds.so")
}

/// All rows of each table.
fn rows(site: &Site, tables: u32) -> Vec<Vec<Vec<Value>>> {
    let mut session = site.database.connect().unwrap();
    let all =
        |table: u32| session.query(&format!("select id, k, c, pad from sbtest{table} order by id")).unwrap();
    (1..=tables).map(all).collect()
}

/// `special` is the distribution that sysbench 1.0 loads with by default.
fn loads(site: &Site) {
    let library = library_without_seeds(&site.sandbox);
    let sizes = ["tables=2", "table_size=3000"];
    site.sysbench("oltp_point_select", "prepare", &sizes, Some(&library));
    let theirs = rows(site, 2);
    site.sysbench("oltp_point_select", "cleanup", &sizes, None);
    site.basecase("oltp_point_select", &[&sizes[..], &["rand_type=special", KEPT]].concat());
    assert!(rows(site, 2) == theirs, "{}: other rows", site.dbms);
    assert!(theirs[0] != theirs[1] && theirs[0].len() == 3000);
}

fn everything(site: &Site) {
    CASES.iter().for_each(|(script, options)| site.compare(script, options));
    bulk_insert(site);
    loads(site);
}

#[test]
fn on_postgres() {
    everything(&Site::postgres());
}

#[test]
fn on_mysql() {
    everything(&Site::mysql());
}
