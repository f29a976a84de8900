//! Every step of the built-in workloads on every dialect: statements, order and counts, without a server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use basecase_model::{Engine, Expectation, Operation, Parameter, ParameterType, Reply, StatementClass};
use basecase_workload::{
    Dialect, FileParameters, FileStep, Next, RolePlan, Script, SetUp, StepPlan, UNLISTED, Work, Workload,
};

const DIALECTS: [Dialect; 4] =
    [Dialect::Postgres, Dialect::Mysql(Engine::Innodb), Dialect::Mysql(Engine::Rocksdb), Dialect::Sqlite];
const ROWS: i64 = 20_000;

fn workload(name: &str) -> Workload {
    Workload::builtin(name).unwrap().unwrap_or_else(|error| panic!("{error}"))
}

fn micro() -> (Workload, FileParameters) {
    let workload = workload("microbenchmarks");
    let parameters = workload.options(&[("tables", "3"), ("rows", "20_000"), ("threads", "4")]).unwrap();
    (workload, parameters)
}

fn script_of(role: &mut RolePlan) -> Box<dyn Script> {
    let Work::Script(script) = std::mem::replace(&mut role.work, Work::Queue(0)) else { panic!("no script") };
    script
}

/// A statement as the dbms sees it.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    /// Text with table numbers as `N`.
    sql: String,
    table: String,
    operation: Operation,
    types: Vec<ParameterType>,
}

/// The statements of the thread's first `events` events.
fn run(plan: &mut StepPlan, thread: usize, events: u32) -> Vec<Seen> {
    let role = &mut plan.roles[thread];
    let mut script = script_of(role);
    let prepared: Vec<(&str, &[ParameterType])> = role
        .set_up
        .iter()
        .map(|set_up| match set_up {
            SetUp::Prepare { sql, types } => (sql.as_str(), types.as_slice()),
            SetUp::Text(_) => panic!("{set_up:?}"),
        })
        .collect();
    let mut seen = Vec::new();
    let mut done = 0;
    while done < events {
        let mut operation = Operation::default();
        if script.next(&mut operation) == Next::Finish {
            break;
        }
        script.answer(&Reply::default());
        done += u32::from(operation.ends_event);
        let (sql, types) = match operation.prepared {
            Some(number) => {
                assert_eq!(prepared[number].1.len(), operation.parameters.len());
                (prepared[number].0.to_owned(), prepared[number].1.to_vec())
            }
            None => (operation.text.clone(), Vec::new()),
        };
        let table =
            sql.split([' ', '(']).find(|word| word.starts_with("sbtest")).unwrap_or_default().to_owned();
        let sql = if table.is_empty() { sql } else { sql.replacen(&table, "sbtestN", 1) };
        seen.push(Seen { sql, table, operation, types });
    }
    seen
}

fn plan(workload: &Workload, parameters: &FileParameters, word: &str, dialect: Dialect) -> StepPlan {
    let steps = workload.steps(parameters, &[word]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(steps.len(), 1, "{word}");
    workload.plan(parameters, &steps[0], dialect).unwrap_or_else(|error| panic!("{error}"))
}

fn event(word: &str, dialect: Dialect) -> Vec<Seen> {
    let (workload, parameters) = micro();
    run(&mut plan(&workload, &parameters, word, dialect), 0, 1)
}

fn integers(operation: &Operation) -> Vec<i64> {
    let integer = |parameter: &Parameter| match parameter {
        Parameter::Integer(integer) => Some(*integer),
        Parameter::Text { .. } => None,
    };
    operation.parameters.iter().filter_map(integer).collect()
}

/// Counts of one event: statements that read, that write, and others.
fn counts(plan: &StepPlan, seen: &[Seen]) -> (usize, usize, usize) {
    let count =
        |class| seen.iter().filter(|seen| plan.kinds[seen.operation.kind as usize].class == class).count();
    (count(StatementClass::Read), count(StatementClass::Write), count(StatementClass::Other))
}

/// Section 5.1 of the specification: r/w/o of one event.
const CATALOGUE: [(&str, (usize, usize, usize)); 32] = [
    ("point-query=100", (1, 0, 0)),
    ("hot-points=100", (1, 0, 0)),
    ("random-points=10", (1, 0, 0)),
    ("random-points=100", (1, 0, 0)),
    ("random-points=1000", (1, 0, 0)),
    ("points-covered-pk=100", (1, 0, 0)),
    ("points-notcovered-pk=100", (1, 0, 0)),
    ("points-covered-si=100", (1, 0, 0)),
    ("points-notcovered-si=100", (1, 0, 0)),
    ("range-covered-pk=100", (1, 0, 0)),
    ("range-notcovered-pk=100", (1, 0, 0)),
    ("range-covered-si=100", (1, 0, 0)),
    ("range-notcovered-si=100", (1, 0, 0)),
    ("scan=100", (1, 0, 0)),
    ("read-only=10", (14, 0, 2)),
    ("read-only=100", (14, 0, 2)),
    ("read-only=10000", (14, 0, 2)),
    ("read-only-simple=1000", (11, 0, 2)),
    ("read-only-sum=1000", (11, 0, 2)),
    ("read-only-order=1000", (11, 0, 2)),
    ("read-only-distinct=1000", (11, 0, 2)),
    ("read-only-count=1000", (1, 0, 0)),
    ("update-index=100", (0, 1, 0)),
    ("update-nonindex=100", (0, 1, 0)),
    ("update-one=100", (0, 1, 0)),
    ("update-zipf=100", (0, 1, 0)),
    ("update-inlist=100", (0, 1, 0)),
    ("write-only=10000", (0, 4, 2)),
    ("read-write=10", (14, 4, 2)),
    ("read-write=100", (14, 4, 2)),
    ("delete=100", (0, 1, 0)),
    ("insert=100", (0, 1, 0)),
];

#[test]
fn counts_of_every_microbenchmark() {
    let (workload, parameters) = micro();
    for dialect in DIALECTS {
        for (word, expected) in CATALOGUE {
            let mut plan = plan(&workload, &parameters, word, dialect);
            let seen = run(&mut plan, 0, 1);
            assert_eq!(counts(&plan, &seen), expected, "{word} {dialect:?}");
            assert!(seen.last().unwrap().operation.ends_event, "{word}");
            assert_eq!(seen.iter().filter(|seen| seen.operation.ends_event).count(), 1, "{word}");
        }
    }
    let labels: Vec<String> = CATALOGUE
        .iter()
        .map(|(word, _)| workload.steps(&parameters, &[word]).unwrap()[0].label.clone())
        .collect();
    assert_eq!(labels[4], "random-points_range=1000");
    let shown = workload.steps(&parameters, &["32"]).unwrap();
    let mut shown: Vec<&str> =
        shown.iter().filter(|step| step.group.is_some()).map(|step| step.label.as_str()).collect();
    let mut labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    shown.sort_unstable();
    labels.sort_unstable();
    assert_eq!(shown, labels, "the 32 list shows exactly the catalogue");
}

/// The text of the statements of one event of each step, where it is the same everywhere except for the form of parameters.
#[test]
fn texts_of_the_single_statement_steps() {
    let texts = [
        ("point-query", "SELECT c FROM sbtestN WHERE id=?"),
        ("range-covered-pk", "SELECT id FROM sbtestN WHERE id BETWEEN ? AND ?"),
        ("range-notcovered-pk", "SELECT id, c FROM sbtestN WHERE id BETWEEN ? AND ?"),
        ("range-covered-si", "SELECT k FROM sbtestN WHERE k BETWEEN ? AND ?"),
        ("range-notcovered-si", "SELECT k, c FROM sbtestN WHERE k BETWEEN ? AND ?"),
        ("scan", "SELECT * from sbtestN WHERE LENGTH(c) < 0"),
        ("read-only-count", "SELECT count(c) FROM sbtestN WHERE id BETWEEN ? AND ?"),
        ("update-index", "UPDATE sbtestN SET k=k+1 WHERE id=?"),
        ("update-nonindex", "UPDATE sbtestN SET c=? WHERE id=?"),
        ("update-one", "UPDATE sbtestN SET c=? WHERE id=?"),
        ("update-zipf", "UPDATE sbtestN SET c=? WHERE id=?"),
        ("update-inlist", "UPDATE sbtestN set c=? WHERE id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
        ("random-points=10", "SELECT c FROM sbtestN WHERE id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
        ("delete", "DELETE FROM sbtestN WHERE id=?"),
    ];
    for (word, text) in texts {
        for dialect in DIALECTS {
            let mut expected = text.to_owned();
            if dialect == Dialect::Postgres {
                for number in 1..=11 {
                    expected = expected.replacen('?', &format!("${number}"), 1);
                }
            }
            assert_eq!(event(word, dialect)[0].sql, expected, "{word}");
        }
    }
    for (word, columns, key) in [
        ("points-covered-pk", "id", "id"),
        ("points-notcovered-pk", "id, c", "id"),
        ("points-covered-si", "k", "k"),
        ("points-notcovered-si", "k, c", "k"),
        ("hot-points", "c", "id"),
        ("random-points=100", "c", "id"),
    ] {
        let seen = event(word, Dialect::Postgres);
        let list: Vec<String> = (1..=100).map(|number| format!("${number}")).collect();
        let expected = format!("SELECT {columns} FROM sbtestN WHERE {key} IN ({})", list.join(", "));
        assert_eq!(seen[0].sql, expected, "{word}");
    }
}

#[test]
fn a_transaction_in_its_order() {
    let expected = [
        "BEGIN",
        "SELECT c FROM sbtestN WHERE id=$1",
        "SELECT c FROM sbtestN WHERE id BETWEEN $1 AND $2",
        "SELECT SUM(k) FROM sbtestN WHERE id BETWEEN $1 AND $2",
        "SELECT c FROM sbtestN WHERE id BETWEEN $1 AND $2 ORDER BY c",
        "SELECT DISTINCT c FROM sbtestN WHERE id BETWEEN $1 AND $2 ORDER BY c",
        "UPDATE sbtestN SET k=k+1 WHERE id=$1",
        "UPDATE sbtestN SET c=$1 WHERE id=$2",
        "DELETE FROM sbtestN WHERE id=$1",
        "INSERT INTO sbtestN (id, k, c, pad) VALUES ($1, $2, $3, $4)",
        "COMMIT",
    ];
    let oltp = workload("oltp_read_write");
    let parameters = oltp.options(&[("tables", "3"), ("table-size", "20000")]).unwrap();
    for mut plan in [
        micro_plan("read-write=100", Dialect::Postgres),
        plan(&oltp, &parameters, "oltp_read_write", Dialect::Postgres),
    ] {
        let seen = run(&mut plan, 0, 1);
        let mut texts: Vec<&str> = seen.iter().map(|seen| seen.sql.as_str()).collect();
        assert_eq!(texts.len(), 20);
        texts.dedup();
        assert_eq!(texts, expected);
        assert!(seen[1..11].iter().all(|point| point.table == seen[1].table), "point queries share a table");
        let (delete, insert) = (&seen[17], &seen[18]);
        assert_eq!(delete.table, insert.table);
        assert_eq!(integers(&delete.operation)[0], integers(&insert.operation)[0]);
        use ParameterType::{Integer, Text};
        assert_eq!(insert.types, [Integer, Integer, Text, Text]);
        let lengths: Vec<usize> = insert.operation.parameters[2..]
            .iter()
            .map(|parameter| insert.operation.text_of(*parameter).len())
            .collect();
        assert_eq!(lengths, [119, 59]);
        let kinds: Vec<u16> = seen.iter().map(|seen| seen.operation.kind).collect();
        assert_eq!((kinds[0], kinds[19]), (0, 1));
        assert_eq!(plan.kinds[kinds[17] as usize].name, "delete");
    }
}

fn micro_plan(word: &str, dialect: Dialect) -> StepPlan {
    let (workload, parameters) = micro();
    plan(&workload, &parameters, word, dialect)
}

#[test]
fn statements_are_prepared_once_for_each_kind_and_table() {
    let prepared = |word, dialect| micro_plan(word, dialect).roles[0].set_up.len();
    assert_eq!(prepared("read-write=100", Dialect::Postgres), 3 * 9 + 2);
    // MySQL refuses to prepare BEGIN.
    assert_eq!(prepared("read-write=100", Dialect::Mysql(Engine::Innodb)), 3 * 9 + 1);
    assert_eq!(event("read-write=100", Dialect::Mysql(Engine::Innodb))[0].operation.text, "BEGIN");
    assert_eq!(event("read-write=100", Dialect::Sqlite)[0].sql, "BEGIN IMMEDIATE");
    assert_eq!(event("read-only=100", Dialect::Sqlite)[0].sql, "BEGIN");
    assert_eq!(prepared("scan", Dialect::Postgres), 0);
    assert_eq!(prepared("insert", Dialect::Postgres), 0);
    assert_eq!(prepared("point-query", Dialect::Postgres), 3);
    let (workload, _) = micro();
    let parameters = workload.options(&[("prepared", "off")]).unwrap();
    let mut text = plan(&workload, &parameters, "update-nonindex", Dialect::Postgres);
    assert!(text.roles[0].set_up.is_empty());
    let sql = run(&mut text, 0, 1).remove(0).sql;
    let (head, tail) = (&sql[..24], &sql[sql.len() - 20..]);
    assert!(head.starts_with("UPDATE sbtestN SET c='"), "{sql}");
    assert!(tail.contains("' WHERE id="), "{sql}");
}

#[test]
fn widths_of_ranges() {
    for (word, last) in [
        ("range-covered-pk", 100),
        ("range-notcovered-si", 100),
        ("read-only-count", 999),
        ("read-only-simple-pure", 999),
    ] {
        let operation = &event(word, Dialect::Postgres)[0].operation;
        let bounds = integers(operation);
        assert_eq!(bounds[1] - bounds[0], last, "{word}");
    }
    let seen = event("read-only=10000", Dialect::Postgres);
    let bounds = integers(&seen[11].operation);
    assert_eq!(bounds[1] - bounds[0], 9_999);
}

/// On a table with the ids 1 to ROWS, the expected rows exist.
#[test]
fn expected_rows_follow_from_the_drawn_values() {
    let mut plan = micro_plan("range-covered-pk", Dialect::Postgres);
    let mut ends = 0;
    for seen in run(&mut plan, 0, 2_000) {
        let bounds = integers(&seen.operation);
        let rows = (bounds[1].min(ROWS) - bounds[0] + 1) as u64;
        ends += u32::from(rows < 101);
        assert_eq!(seen.operation.expectation, Expectation::Fetched(rows));
    }
    // 0.5 % of the ranges extend beyond the table.
    assert!(ends > 0);
    let expectation =
        |word: &str, statement: usize| event(word, Dialect::Postgres)[statement].operation.expectation;
    assert_eq!(expectation("hot-points", 0), Expectation::Fetched(100));
    assert_eq!(expectation("point-query", 0), Expectation::Fetched(1));
    assert_eq!(expectation("random-points=1000", 0), Expectation::FetchedAtMost(1000));
    assert_eq!(expectation("points-covered-si", 0), Expectation::Anything);
    assert_eq!(expectation("scan", 0), Expectation::Fetched(0));
    assert_eq!(expectation("update-one", 0), Expectation::Affected(1));
    assert_eq!(expectation("update-inlist", 0), Expectation::AffectedAtMost(10));
    assert_eq!(expectation("delete", 0), Expectation::AffectedAtMost(1));
    assert_eq!(expectation("insert", 0), Expectation::Affected(1));
    assert_eq!(expectation("read-write=100", 1), Expectation::FetchedAtMost(1));
    assert_eq!(expectation("read-only=100", 1), Expectation::Fetched(1));
}

#[test]
fn fixed_ids() {
    let (workload, _) = micro();
    for (rows, first) in [("20000", 10_001), ("20001", 10_001)] {
        let parameters = workload.options(&[("rows", rows)]).unwrap();
        let mut plan = plan(&workload, &parameters, "hot-points", Dialect::Postgres);
        for seen in run(&mut plan, 0, 3) {
            assert_eq!(integers(&seen.operation), (first..first + 100).collect::<Vec<_>>());
        }
    }
    assert_eq!(integers(&event("update-one", Dialect::Sqlite)[0].operation), [1]);
    assert_eq!(integers(&event("update-inlist", Dialect::Sqlite)[0].operation).len(), 10);
    assert_eq!(integers(&event("random-points=1000", Dialect::Sqlite)[0].operation).len(), 1000);
    let ids = |word| {
        let mut plan = micro_plan(word, Dialect::Postgres);
        run(&mut plan, 0, 2_000).iter().filter(|seen| integers(&seen.operation)[0] <= ROWS / 100).count()
    };
    // Zipf with exponent 0.8 gives the first 1 % of 20,000 ids 27 % of the draws.
    assert!(ids("update-nonindex") < 60 && ids("update-zipf") > 400);
}

#[test]
fn inserts_of_each_dbms() {
    let text = |dialect| event("insert", dialect).remove(0).sql;
    let mysql = text(Dialect::Mysql(Engine::Innodb));
    assert!(mysql.starts_with("INSERT INTO sbtestN (id, k, c, pad) VALUES (0, "), "{mysql}");
    for dialect in [Dialect::Postgres, Dialect::Sqlite] {
        let other = text(dialect);
        assert!(other.starts_with("INSERT INTO sbtestN (k, c, pad) VALUES ("), "{other}");
    }
}

#[test]
fn a_scan_takes_the_tables_of_its_threads() {
    let mut plan = micro_plan("scan", Dialect::Postgres);
    let tables: Vec<String> = (0..4).map(|thread| run(&mut plan, thread, 2).pop().unwrap().table).collect();
    assert_eq!(tables, ["sbtest1", "sbtest2", "sbtest3", "sbtest1"]);
}

#[test]
fn streams_are_stable_and_distinct() {
    let (workload, parameters) = micro();
    let mut other_seed = parameters.clone();
    other_seed.seed = 7;
    let ids = |parameters: &FileParameters, word: &str, thread: usize| {
        let mut plan = plan(&workload, parameters, word, Dialect::Postgres);
        run(&mut plan, thread, 20).iter().flat_map(|seen| integers(&seen.operation)).collect::<Vec<_>>()
    };
    let first = ids(&parameters, "point-query", 0);
    assert_eq!(first, ids(&parameters, "point-query", 0));
    assert_ne!(first, ids(&parameters, "point-query", 1));
    assert_ne!(first, ids(&parameters, "update-index", 0));
    assert_ne!(first, ids(&parameters, "point-query.pre", 0));
    assert_ne!(first, ids(&other_seed, "point-query", 0));
}

#[test]
fn the_lists_have_their_steps_in_order() {
    let (workload, parameters) = micro();
    let names = |list: &str| -> Vec<FileStep> { workload.steps(&parameters, &[list]).unwrap() };
    let (short, long) = (names("32"), names("42"));
    // Sections 7.1 and 7.2 of the specification, without the load.
    assert_eq!(short.len(), 38);
    assert_eq!(long.len(), 43);
    let maintained: Vec<&str> =
        short.iter().filter(|step| step.maintenance_after).map(|step| step.label.as_str()).collect();
    assert_eq!(maintained, ["point-query.warm_range=100", "read-write_range=100"]);
    assert_eq!((short[0].threads, short[1].threads), (3, 4));
    let shown = |steps: &[FileStep]| steps.iter().filter(|step| step.group.is_some()).count();
    assert_eq!((shown(&short), shown(&long)), (32, 42));
    let sizes = |list| workload.groups(list).iter().map(|(_, steps)| steps.len()).collect::<Vec<_>>();
    assert_eq!(sizes("32"), [9, 5, 8, 10]);
    assert_eq!(sizes("42"), [11, 6, 8, 7, 10]);
    let mut union: BTreeMap<&str, ()> = BTreeMap::new();
    union.extend(
        short.iter().chain(&long).filter(|step| step.group.is_some()).map(|step| (step.label.as_str(), ())),
    );
    assert_eq!(union.len(), 47);
    let writes = workload.steps(&parameters, &["writes"]).unwrap();
    assert_eq!(writes.len(), 10);
}

#[test]
fn a_step_that_is_named_is_shown_though_no_list_shows_it() {
    let (workload, parameters) = micro();
    let group = |word: &str| workload.steps(&parameters, &[word]).unwrap().remove(0).group;
    assert_eq!(group("read-only-distinct-pure").as_deref(), Some(UNLISTED));
    assert_eq!(group("read-only-distinct").as_deref(), Some("range queries with aggregation"));
    assert_eq!(group("point-query.warm"), None, "it prepares others");
}

#[test]
fn clean_mode_deletes_rows_that_exist() {
    let workload = workload("microbenchmarks");
    let parameters =
        workload.options(&[("mode", "clean"), ("rows", "100"), ("tables", "2"), ("threads", "2")]).unwrap();
    let steps = workload.steps(&parameters, &["delete"]).unwrap();
    assert!(steps[0].reload_before && steps[0].reload_after);
    let mut plan = workload.plan(&parameters, &steps[0], Dialect::Postgres).unwrap();
    let mut deleted: Vec<(String, i64)> = (0..2)
        .flat_map(|thread| run(&mut plan, thread, 60))
        .map(|seen| (seen.table, integers(&seen.operation)[0]))
        .collect();
    assert_eq!(deleted.len(), 120);
    deleted.sort();
    deleted.dedup();
    assert_eq!(deleted.len(), 120, "no id of a table twice");
}

fn described(name: &str, words: &[&str], options: &[(&str, &str)], dialect: Dialect) -> String {
    let workload = workload(name);
    let parameters = workload.options(options).unwrap();
    let steps = workload.steps(&parameters, words).unwrap();
    let text = workload.describe(&parameters, &steps, dialect).unwrap();
    // The file describes the options; the snapshots show the result.
    text.split_once("\nload\n").unwrap().1.to_owned()
}

#[test]
fn descriptions() {
    let words = ["point-query", "hot-points", "update-zipf", "write-only", "scan", "insert"];
    insta::assert_snapshot!(
        "microbenchmarks_on_postgres",
        described("microbenchmarks", &words, &[], Dialect::Postgres)
    );
    insta::assert_snapshot!(
        "read_write_on_mysql",
        described("oltp_read_write", &[], &[("tables", "2")], Dialect::Mysql(Engine::Innodb))
    );
    insta::assert_snapshot!(
        "read_write_as_text_on_sqlite",
        described("oltp_read_write", &[], &[("prepared", "off"), ("skip-trx", "on")], Dialect::Sqlite)
    );
}

#[test]
fn names_of_built_in_workloads() {
    let names = Workload::builtin_names();
    assert_eq!(names[..3], ["microbenchmarks", "oltp", "oltp_read_write"]);
    assert_eq!(names.len(), 2 + 11);
    for name in names {
        assert!(Workload::builtin(&name).unwrap().is_ok(), "{name}");
    }
    assert!(Workload::builtin("point-query").is_none());
}
