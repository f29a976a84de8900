//! What servers saw of the microbenchmarks and of the OLTP mixes, against the published definitions.
//!
//! The tables here are written from those definitions, not from the workload files. SQLite is not among the servers: it logs
//! nothing. What it executes is the text that Postgres gets, out of the same file. `bulk_insert` stands in
//! `sysbench_statements.rs`.

use basecase_store::Store;
use basecase_tests::Sandbox;

use crate::server_log::{self, Executed, Session};

const TABLES: u64 = 2;
const ROWS: u64 = 10_000;
/// Events of each step.
const EVENTS: usize = 3;

/// Statements by their codes. In braces: `t` a table, `D` a number drawn from 1 to the rows of a table, `v` the last such
/// number, `m` what stands behind `range=`, `D*m` so many of them, `c` and `pad` texts.
const STATEMENTS: [(&str, &str); 30] = [
    ("B", "BEGIN"),
    ("C", "COMMIT"),
    ("P1", "SELECT c FROM {t} WHERE id={D}"),
    ("P2", "SELECT c FROM {t} WHERE id IN ({D*m})"),
    ("P2h", "SELECT c FROM {t} WHERE id IN ({hot*m})"),
    ("P3", "SELECT id FROM {t} WHERE id IN ({D*m})"),
    ("P4", "SELECT id, c FROM {t} WHERE id IN ({D*m})"),
    ("P5", "SELECT k FROM {t} WHERE k IN ({D*m})"),
    ("P6", "SELECT k, c FROM {t} WHERE k IN ({D*m})"),
    ("R1", "SELECT id FROM {t} WHERE id BETWEEN {D} AND {v+m}"),
    ("R2", "SELECT id, c FROM {t} WHERE id BETWEEN {D} AND {v+m}"),
    ("R3", "SELECT k FROM {t} WHERE k BETWEEN {D} AND {v+m}"),
    ("R4", "SELECT k, c FROM {t} WHERE k BETWEEN {D} AND {v+m}"),
    ("A1", "SELECT c FROM {t} WHERE id BETWEEN {D} AND {v+m-1}"),
    ("A2", "SELECT SUM(k) FROM {t} WHERE id BETWEEN {D} AND {v+m-1}"),
    ("A3", "SELECT c FROM {t} WHERE id BETWEEN {D} AND {v+m-1} ORDER BY c"),
    ("A4", "SELECT DISTINCT c FROM {t} WHERE id BETWEEN {D} AND {v+m-1} ORDER BY c"),
    ("A5", "SELECT count(c) FROM {t} WHERE id BETWEEN {D} AND {v+m-1}"),
    ("S1", "SELECT * from sbtest1 WHERE LENGTH(c) < 0"),
    ("W1", "UPDATE {t} SET k=k+1 WHERE id={D}"),
    ("W2", "UPDATE {t} SET c={c} WHERE id={D}"),
    ("W2one", "UPDATE {t} SET c={c} WHERE id={one}"),
    ("W3", "UPDATE {t} set c={c} WHERE id IN ({D*10})"),
    ("W4", "DELETE FROM {t} WHERE id={D}"),
    ("W5", "INSERT INTO {t} (id, k, c, pad) VALUES ({v}, {D}, {c}, {pad})"),
    ("W6postgres", "INSERT INTO {t} (k, c, pad) VALUES ({D}, {c}, {pad})"),
    ("W6mysql", "INSERT INTO {t} (id, k, c, pad) VALUES (0, {D}, {c}, {pad})"),
    ("K", "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({slice*10})"),
    ("L1", "SELECT count(k) FROM sbtest1 WHERE {ranges}"),
    ("L", "k BETWEEN {slice} AND {v+5}"),
];

/// The steps of the list of 32 in the order in which they run: the number behind `range=`, and an event. `10×P1` is ten of them
/// on one table, `W4+W5` both on one table; everything else takes any table.
const MICROBENCHMARKS: [(&str, u64, &str); 38] = [
    ("point-query.warm", 100, "P1"),
    ("scan.warmpre", 100, "S1"),
    ("point-query.pre", 100, "P1"),
    ("range-notcovered-si.pre", 100, "R4"),
    ("update-inlist", 100, "W3"),
    ("update-index", 100, "W1"),
    ("update-nonindex", 100, "W2"),
    ("update-one", 100, "W2one"),
    ("update-zipf", 100, "W2"),
    ("write-only", 10_000, "B W1 W2 W4+W5 C"),
    ("read-write", 10, "B 10×P1 A1 A2 A3 A4 W1 W2 W4+W5 C"),
    ("read-write", 100, "B 10×P1 A1 A2 A3 A4 W1 W2 W4+W5 C"),
    ("scan.warm", 100, "S1"),
    ("scan", 100, "S1"),
    ("read-only", 10, "B 10×P1 A1 A2 A3 A4 C"),
    ("read-only", 100, "B 10×P1 A1 A2 A3 A4 C"),
    ("read-only", 10_000, "B 10×P1 A1 A2 A3 A4 C"),
    ("read-only-simple", 1000, "B 10×P1 A1 C"),
    ("read-only-sum", 1000, "B 10×P1 A2 C"),
    ("read-only-order", 1000, "B 10×P1 A3 C"),
    ("read-only-distinct", 1000, "B 10×P1 A4 C"),
    ("read-only-count", 1000, "A5"),
    ("point-query", 100, "P1"),
    ("random-points", 10, "P2"),
    ("random-points", 100, "P2"),
    ("random-points", 1000, "P2"),
    ("hot-points", 100, "P2h"),
    ("points-covered-pk", 100, "P3"),
    ("points-notcovered-pk", 100, "P4"),
    ("range-covered-pk", 100, "R1"),
    ("range-notcovered-pk", 100, "R2"),
    ("points-covered-si.warm", 100, "P5"),
    ("points-covered-si", 100, "P5"),
    ("points-notcovered-si", 100, "P6"),
    ("range-covered-si", 100, "R3"),
    ("range-notcovered-si", 100, "R4"),
    ("delete", 100, "W4"),
    ("insert", 100, "W6"),
];

/// The mixes of sysbench's bundled scripts; here the number is their `range_size`.
const MIXES: [(&str, u64, &str); 10] = [
    ("oltp_read_write", 100, "B 10×P1 A1 A2 A3 A4 W1 W2 W4+W5 C"),
    ("oltp_read_only", 100, "B 10×P1 A1 A2 A3 A4 C"),
    ("oltp_write_only", 100, "B W1 W2 W4+W5 C"),
    ("oltp_point_select", 100, "P1"),
    ("oltp_insert", 100, "W6"),
    ("oltp_delete", 100, "W4"),
    ("oltp_update_index", 100, "W1"),
    ("oltp_update_non_index", 100, "W2"),
    ("select_random_points", 100, "K"),
    ("select_random_ranges", 100, "L1"),
];

/// What statements of one event have drawn so far.
#[derive(Default)]
struct Drawn {
    range: u64,
    /// The table of the statements that share one.
    table: Option<u64>,
    /// The last number.
    last: u64,
}

/// Takes a number off the front of a text.
fn number(text: &mut &str) -> u64 {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number = text[..text.len() - rest.len()].parse().unwrap_or_else(|_| panic!("no number: {text}"));
    *text = rest;
    number
}

/// Takes a quoted text of so many groups of eleven digits.
fn digits(text: &mut &str, groups: usize) {
    let (inner, rest) = text.strip_prefix('\'').and_then(|text| text.split_once('\'')).unwrap();
    let parts: Vec<&str> = inner.split('-').collect();
    assert_eq!(parts.len(), groups, "{inner}");
    assert!(
        parts.iter().all(|part| part.len() == 11 && part.bytes().all(|byte| byte.is_ascii_digit())),
        "{inner}"
    );
    *text = rest;
}

fn strip<'a>(text: &'a str, literal: &str) -> &'a str {
    text.strip_prefix(literal).unwrap_or_else(|| panic!("{literal:?} is not where it belongs: {text:?}"))
}

impl Drawn {
    /// Takes what a pattern describes off the front of a text.
    fn take(&mut self, pattern: &str, text: &mut &str) {
        let mut pattern = pattern;
        while let Some((literal, rest)) = pattern.split_once('{') {
            *text = strip(text, literal);
            let (hole, rest) = rest.split_once('}').unwrap();
            self.fill(hole, text);
            pattern = rest;
        }
        *text = strip(text, pattern);
    }

    fn fill(&mut self, hole: &str, text: &mut &str) {
        if let Some((hole, times)) = hole.split_once('*') {
            let times = if times == "m" { self.range } else { times.parse().unwrap() };
            for index in 1..=times {
                *text = strip(text, if index == 1 { "" } else { ", " });
                match hole {
                    "hot" => assert_eq!(number(text), ROWS / 2 + index),
                    _ => self.fill(hole, text),
                }
            }
            return;
        }
        let last = self.last;
        match hole {
            "t" => {
                *text = strip(text, "sbtest");
                let table = number(text);
                assert!((1..=TABLES).contains(&table), "{table}");
                assert_eq!(*self.table.get_or_insert(table), table, "statements of one table");
            }
            "D" => {
                self.last = number(text);
                assert!((1..=ROWS).contains(&self.last), "{}", self.last);
            }
            // Of one thread, the whole table, from 0 as in sysbench.
            "slice" => {
                self.last = number(text);
                assert!((0..=ROWS).contains(&self.last), "{}", self.last);
            }
            "ranges" => {
                for index in 0..10 {
                    *text = strip(text, if index == 0 { "" } else { " OR " });
                    self.take(statement("L"), text);
                }
            }
            "one" => assert_eq!(number(text), 1),
            "v" => assert_eq!(number(text), last),
            "v+5" => assert_eq!(number(text), last + 5),
            "v+m" => assert_eq!(number(text), last + self.range),
            "v+m-1" => assert_eq!(number(text), last + self.range - 1),
            "c" => digits(text, 10),
            "pad" => digits(text, 5),
            _ => panic!("unknown {hole}"),
        }
    }
}

fn statement(code: &str) -> &'static str {
    STATEMENTS.iter().find(|(known, _)| *known == code).unwrap_or_else(|| panic!("unknown {code}")).1
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    Postgres,
    Mysql,
}

impl Server {
    /// The statement of a code, and whether it is executed as a prepared one.
    fn statement(self, code: &str) -> (&'static str, bool) {
        match (code, self) {
            ("W6", Server::Postgres) => (statement("W6postgres"), false),
            ("W6", Server::Mysql) => (statement("W6mysql"), false),
            ("S1", _) | ("B", Server::Mysql) => (statement(code), false),
            _ => (statement(code), true),
        }
    }
}

/// The codes of an event: groups that share a table, each repeated.
fn groups(event: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    event.split(' ').map(|group| match group.split_once('×') {
        Some((times, codes)) => (times.parse().unwrap(), codes.split('+').collect()),
        None => (1, group.split('+').collect()),
    })
}

/// What a session of a step must have prepared, sorted: each prepared statement for each table, and what has no table once.
fn expected_preparations(server: Server, range: u64, event: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for code in groups(event).flat_map(|(_, codes)| codes) {
        let (pattern, is_prepared) = server.statement(code);
        if is_prepared {
            let range = usize::try_from(range).unwrap();
            let ranges = [statement("L"); 10].join(" OR ");
            let many = [("{D*m}", range), ("{hot*m}", range), ("{D*10}", 10), ("{slice*10}", 10)];
            let text = many.iter().fold(pattern.replace("{ranges}", &ranges), |text, (hole, times)| {
                text.replace(hole, &vec!["?"; *times].join(", "))
            });
            let singles = ["{D}", "{v}", "{v+m}", "{v+m-1}", "{v+5}", "{slice}", "{one}", "{c}", "{pad}"];
            let text = singles.iter().fold(text, |text, hole| text.replace(hole, "?"));
            let tables = if text.contains("{t}") { TABLES } else { 1 };
            texts.extend((1..=tables).map(|table| text.replace("{t}", &format!("sbtest{table}"))));
        }
    }
    texts.sort();
    texts
}

/// Checks that a session executed whole events and nothing else, and counts them.
fn events(server: Server, range: u64, event: &str, executed: &[Executed]) -> usize {
    let mut executed = executed.iter();
    let mut count = 0;
    while !executed.as_slice().is_empty() {
        for (times, codes) in groups(event) {
            let mut drawn = Drawn { range, ..Drawn::default() };
            for code in codes.iter().cycle().take(times * codes.len()) {
                let next = executed.next().unwrap_or_else(|| panic!("an event ends before {code}"));
                let (pattern, is_prepared) = server.statement(code);
                let mut text = next.text.as_str();
                drawn.take(pattern, &mut text);
                assert!(text.is_empty(), "{code} goes on with {text}");
                assert_eq!(next.is_prepared, is_prepared, "{code}");
            }
        }
        count += 1;
    }
    count
}

/// Runs a workload on a server with few events in each step, and compares what the sessions of each step did.
fn check(candidate: &str, server: Server, workload: &[&str], steps: &[(&str, u64, &str)]) {
    let sandbox = Sandbox::new();
    let mut arguments =
        vec!["compare", candidate, "--store", "s.sqlite", "--data", "data", "--keep-data", "--probe", "off"];
    arguments.extend(["--settle", "off", "--warm-up-seconds", "0", "--option"]);
    let (events_option, tables, rows) = (format!("events={EVENTS}"), TABLES.to_string(), ROWS.to_string());
    arguments.extend([&*events_option, "--tables", &tables, "--rows", &rows]);
    arguments.extend(workload);
    let settings = match server {
        Server::Postgres => &server_log::POSTGRES[..],
        Server::Mysql => &server_log::MYSQL,
    };
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = sandbox.output(&arguments);
    assert!(output.status.success(), "{}", sandbox.transcript(&output));

    let store = Store::open_read_only(&sandbox.path().join("s.sqlite")).unwrap();
    let experiment = store.experiments().unwrap().pop().unwrap();
    let names: Vec<String> =
        store.trials(&experiment.id).unwrap().into_iter().map(|trial| trial.step).collect();
    let is_labelled = workload.contains(&"microbenchmarks");
    let label = |(name, range, _): &(&str, u64, &str)| {
        if is_labelled { format!("{name}_range={range}") } else { (*name).to_owned() }
    };
    let expected: Vec<String> = ["load".to_owned()].into_iter().chain(steps.iter().map(label)).collect();
    assert_eq!(names, expected);

    let data = sandbox.path().join("data");
    let sessions = match server {
        Server::Postgres => server_log::of_postgres(&server_log::read(&data, "server.log")),
        Server::Mysql => server_log::of_mysql(&server_log::read(&data, "general.log")),
    };
    // After the session that loads, there are those of the steps; the one that looks after all of them came before.
    let loads = |session: &Session| {
        session.executed.iter().any(|executed| executed.text.starts_with("INSERT INTO sbtest1("))
    };
    let load = sessions.iter().position(loads).unwrap();
    let mut of_steps = sessions[load + 1..].iter();
    for (name, range, event) in steps {
        // The first one warms up the tables, with a thread for each.
        let threads = if *name == "point-query.warm" { TABLES } else { 1 };
        let mut count = 0;
        for _ in 0..threads {
            let session = of_steps.next().unwrap_or_else(|| panic!("{name} has no session"));
            println!("{candidate} {name}");
            let mut prepared = session.prepared.clone();
            prepared.sort();
            assert_eq!(prepared, expected_preparations(server, *range, event), "{candidate} {name}");
            count += events(server, *range, event, &session.executed);
        }
        assert_eq!(count, EVENTS, "{candidate} {name}");
    }
    assert_eq!(of_steps.count(), 0, "sessions that belong to no step");
}

const LIST_32: [&str; 4] = ["--workload", "microbenchmarks", "--list", "32"];

fn mixes() -> [String; 4] {
    let names: Vec<&str> = MIXES.iter().map(|(name, ..)| *name).collect();
    ["--workload".into(), "oltp".into(), "--list".into(), names.join(",")]
}

#[test]
fn microbenchmarks_on_postgres() {
    check("postgres:17.11", Server::Postgres, &LIST_32, &MICROBENCHMARKS);
}

#[test]
fn microbenchmarks_on_mysql() {
    check("mysql:8.0.31", Server::Mysql, &LIST_32, &MICROBENCHMARKS);
}

#[test]
fn microbenchmarks_on_myrocks() {
    check("mariadb:10.11.18#rocksdb", Server::Mysql, &LIST_32, &MICROBENCHMARKS);
}

#[test]
fn mixes_on_each_server() {
    let words = mixes();
    let words = words.each_ref().map(String::as_str);
    check("postgres:17.11", Server::Postgres, &words, &MIXES);
    check("mysql:8.0.31", Server::Mysql, &words, &MIXES);
    check("mariadb:10.11.18#rocksdb", Server::Mysql, &words, &MIXES);
}
