//! What a load puts into tables: byte for byte what sysbench's own `prepare` does.
//!
//! The rows and sums here were taken from Postgres 15 after `sysbench oltp_read_write prepare --tables=2
//! --table-size=10000` (sysbench 1.0.20 of Debian 12). Debian's LuaJIT seeds the C library's `random()` when it starts,
//! so that Debian's sysbench loads other rows each time; a preloaded library kept it from that, which leaves sysbench
//! with the unseeded generator that it has when built with its own LuaJIT. Rows of the other distributions were taken in the
//! same way with `--rand-type`. Sysbench 1.1, whose default is uniform, was not at hand.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use basecase_model::{Engine, Expectation, Operation, Reply};
use basecase_workload::{Dialect, Next, StepPlan, Work, Workload};

/// Insert statements with the rows that they should insert, and the statements behind them, of each loader.
type Loaded = Vec<Vec<(String, u64)>>;

fn loaded(plan: StepPlan) -> Loaded {
    plan.roles
        .into_iter()
        .map(|role| {
            let Work::Script(mut script) = role.work else { panic!("no script") };
            let mut statements = Vec::new();
            loop {
                let mut operation = Operation::default();
                match script.next(&mut operation) {
                    Next::Finish => return statements,
                    Next::Execute => {
                        let Expectation::Affected(rows) = operation.expectation else {
                            panic!("{operation:?}")
                        };
                        assert_eq!(u64::from(operation.items), rows);
                        statements.push((operation.text, rows));
                    }
                    Next::Aside(_) => statements.push((operation.text, 0)),
                    other => panic!("{other:?}"),
                }
                script.answer(&Reply::default());
            }
        })
        .collect()
}

fn plan(name: &str, options: &[(&str, &str)], loaders: u32, dialect: Dialect) -> StepPlan {
    let workload = Workload::builtin(name).unwrap().unwrap();
    let parameters = workload.options(options).unwrap();
    let steps = workload.steps(&parameters, &[]).unwrap();
    workload.load_plan(&parameters, &steps, dialect, loaders).unwrap()
}

/// `id,k,c,pad` of the rows of `table`.
fn rows(loaded: &Loaded, table: &str) -> Vec<String> {
    let head = format!("INSERT INTO {table}(");
    loaded
        .iter()
        .flatten()
        .filter(|(text, _)| text.starts_with(&head))
        .flat_map(|(text, _)| text.split_once(" VALUES(").unwrap().1.strip_suffix(')').unwrap().split("),("))
        .enumerate()
        .map(|(index, row)| {
            let row = row.replace(['\'', ' '], "");
            if row.split(',').count() == 3 { format!("{},{row}", index + 1) } else { row }
        })
        .collect()
}

/// FNV-1a of the rows, each on a line.
fn sum(rows: &[String]) -> u64 {
    rows.join("\n")
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn rows_of_sysbench() {
    let sums = [
        ("special", [0xf4be_6fed_c370_717d, 0xeadb_b065_a19e_79a2]),
        ("uniform", [0xafe4_1691_e9f3_66de, 0x6b5c_08fa_ae46_fe4d]),
        ("gaussian", [0x215e_0cb7_ae2a_fa24, 0x512a_d6c1_3b76_e553]),
        ("pareto", [0x69d8_a1e9_8c17_2717, 0xd663_cccc_3684_ea2b]),
    ];
    for (distribution, expected) in sums {
        for loaders in [1, 2] {
            let options = [("rand-type", distribution), ("tables", "2")];
            let loaded = loaded(plan("oltp_read_write", &options, loaders, Dialect::Postgres));
            assert_eq!(loaded.len(), loaders as usize);
            let sums = ["sbtest1", "sbtest2"].map(|table| sum(&rows(&loaded, table)));
            assert_eq!(sums, expected, "{distribution} {loaders}");
        }
    }
    let loaded = loaded(plan("oltp_read_write", &[("rand-type", "special")], 1, Dialect::Postgres));
    assert_eq!(
        rows(&loaded, "sbtest1")[0],
        "1,4993,83868641912-28773972837-60736120486-75162659906-27563526494-20381887404-41576422241-93426793964-\
         56405065102-33518432330,67847967377-48000963322-62604785301-91415491898-96926520291"
    );
    let first = &loaded[0][0].0;
    assert!(
        first.starts_with("INSERT INTO sbtest1(k, c, pad) VALUES(4993, '83868641912-"),
        "{}",
        &first[..80]
    );
}

#[test]
fn statements_are_as_long_as_sysbenchs() {
    let loaded = loaded(plan("oltp_read_write", &[("rand-type", "special")], 1, Dialect::Postgres));
    let lengths: Vec<usize> = loaded[0].iter().map(|(text, _)| text.len()).collect();
    assert_eq!(lengths[..4], [524_224, 524_224, 524_224, 357_472]);
    assert_eq!(loaded[0].iter().map(|(_, rows)| rows).sum::<u64>(), 10_000);
    assert_eq!(loaded[0][4].0, "CREATE INDEX k_1 ON sbtest1(k)");
    assert_eq!(loaded[0].len(), 5);
}

#[test]
fn tables_of_each_dbms() {
    let before = |options: &[(&str, &str)], dialect| -> Vec<String> {
        let before = plan("oltp_read_write", options, 1, dialect).before;
        before.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        before(&[], Dialect::Postgres)[..3],
        [
            "DROP TABLE IF EXISTS sbtest1",
            "CREATE TABLE sbtest1(id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))",
            "COMMENT ON TABLE sbtest1 IS 'basecase: oltp_read_write'",
        ]
    );
    let options = [("create_table_options", "ROW_FORMAT=COMPRESSED"), ("secondary", "on")];
    assert_eq!(
        before(&options, Dialect::Mysql(Engine::Rocksdb))[1],
        "CREATE TABLE sbtest1(id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, KEY xid1 (id)) ENGINE = rocksdb \
         COMMENT = 'basecase: oltp_read_write' ROW_FORMAT=COMPRESSED"
    );
    let sqlite = before(&[("secondary", "on"), ("auto_inc", "off")], Dialect::Sqlite);
    assert!(sqlite[1].starts_with("CREATE TABLE sbtest1(id INTEGER NOT NULL, k "), "{}", sqlite[1]);
    assert_eq!(sqlite[2], "CREATE INDEX xid1 ON sbtest1(id)");
}

#[test]
fn ids_of_the_client() {
    let loaded =
        loaded(plan("oltp_read_write", &[("auto_inc", "off"), ("table_size", "100")], 1, Dialect::Postgres));
    assert!(
        loaded[0][0].0.starts_with("INSERT INTO sbtest1(id, k, c, pad) VALUES(1, "),
        "{}",
        loaded[0][0].0
    );
    assert!(rows(&loaded, "sbtest1")[2].starts_with("3,"));
    // Ids that the client makes could collide with loaded ones, so that sysbench loads none.
    let loaded = self::loaded(plan("oltp_insert", &[("auto_inc", "off")], 1, Dialect::Postgres));
    assert_eq!(loaded[0], [("CREATE INDEX k_1 ON sbtest1(k)".to_owned(), 0)]);
}

#[test]
fn clean_tables_have_their_own_seed() {
    let sums = |options: &[(&str, &str)], loaders| {
        let loaded = loaded(plan("oltp_read_write", options, loaders, Dialect::Sqlite));
        ["sbtest1", "sbtest2", "sbtest3"].map(|table| sum(&rows(&loaded, table)))
    };
    let clean = |seed| [("mode", "clean"), ("tables", "3"), ("table_size", "200"), ("seed", seed)];
    assert_eq!(sums(&clean("1"), 1), sums(&clean("1"), 2));
    let (first, second) = (sums(&clean("1"), 1), sums(&clean("2"), 1));
    assert!(first.iter().all(|sum| !second.contains(sum)));
    assert_ne!(first[0], first[1]);
}

#[test]
fn more_loaders_than_tables() {
    let loaded = loaded(plan("microbenchmarks", &[("tables", "3")], 8, Dialect::Postgres));
    assert_eq!(loaded.len(), 3);
    assert!(loaded.iter().all(|statements| statements.len() == 5));
}

#[test]
fn sqlite_makes_ids_for_a_primary_key_only() {
    let workload = Workload::builtin("microbenchmarks").unwrap().unwrap();
    let parameters = workload.options(&[("primary_key", "off")]).unwrap();
    let steps = workload.steps(&parameters, &[]).unwrap();
    let error = workload.load_plan(&parameters, &steps, Dialect::Sqlite, 1).err().unwrap().to_string();
    assert!(error.contains("SQLite generates no values for column `id`"), "{error}");
    assert!(workload.load_plan(&parameters, &steps, Dialect::Postgres, 1).is_ok());
}

#[test]
fn tables_of_one_name_are_not_mixed() {
    let workload = Workload::builtin("oltp").unwrap().unwrap();
    let parameters = workload.options(&[]).unwrap();
    let steps = workload.steps(&parameters, &["oltp_read_write", "bulk_insert"]).unwrap();
    let error = workload.load_plan(&parameters, &steps, Dialect::Postgres, 1).err().unwrap().to_string();
    assert!(error.contains("the steps need different tables named sbtest1"), "{error}");
}
