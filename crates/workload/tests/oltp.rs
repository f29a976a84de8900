//! The classic mixes with commonly used options, without a server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use basecase_model::{Engine, Expectation, Operation, Parameter, Reply, StatementClass};
use basecase_workload::{Dialect, Next, SetUp, StepPlan, Work, Workload};

const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::Mysql(Engine::Innodb), Dialect::Sqlite];

fn plan(name: &str, options: &[(&str, &str)], dialect: Dialect) -> StepPlan {
    let workload = Workload::builtin(name).unwrap_or_else(|| panic!("{name}")).unwrap();
    let parameters = workload.options(options).unwrap_or_else(|error| panic!("{error}"));
    let steps = workload.steps(&parameters, &[]).unwrap_or_else(|error| panic!("{error}"));
    workload.plan(&parameters, &steps[0], dialect).unwrap_or_else(|error| panic!("{error}"))
}

/// Operations of the last thread's first events, with the text of prepared statements.
fn operations(plan: &mut StepPlan, events: u32) -> Vec<(String, Operation)> {
    let role = plan.roles.last_mut().unwrap();
    let Work::Script(mut script) = std::mem::replace(&mut role.work, Work::Queue(0)) else {
        panic!("no script")
    };
    let mut operations = Vec::new();
    let mut done = 0;
    while done < events {
        let mut operation = Operation::default();
        assert_eq!(script.next(&mut operation), Next::Execute);
        script.answer(&Reply::default());
        done += u32::from(operation.ends_event);
        let text = match operation.prepared.map(|number| &role.set_up[number]) {
            Some(SetUp::Prepare { sql, .. }) => sql.clone(),
            Some(SetUp::Text(_)) => panic!("not prepared"),
            None => operation.text.clone(),
        };
        operations.push((text, operation));
    }
    operations
}

/// Reads, writes and others of one event.
fn counts(name: &str, options: &[(&str, &str)]) -> [usize; 3] {
    let per_dialect = DIALECTS.map(|dialect| {
        let mut plan = plan(name, options, dialect);
        let operations = operations(&mut plan, 1);
        [StatementClass::Read, StatementClass::Write, StatementClass::Other].map(|class| {
            operations
                .iter()
                .filter(|(_, operation)| plan.kinds[operation.kind as usize].class == class)
                .count()
        })
    });
    assert!(per_dialect.iter().all(|counts| *counts == per_dialect[0]), "{name} {per_dialect:?}");
    per_dialect[0]
}

/// Section 10.3 of the specification.
#[test]
fn counts_of_every_mix() {
    assert_eq!(counts("oltp_read_only", &[]), [14, 0, 2]);
    assert_eq!(counts("oltp_read_write", &[]), [14, 4, 2]);
    assert_eq!(counts("oltp_write_only", &[]), [0, 4, 2]);
    assert_eq!(counts("oltp_point_select", &[("point_selects", "7")]), [1, 0, 0]);
    assert_eq!(counts("oltp_update_index", &[]), [0, 1, 0]);
    assert_eq!(counts("oltp_update_index", &[("index-updates", "3")]), [0, 3, 0]);
    assert_eq!(counts("oltp_update_non_index", &[]), [0, 1, 0]);
    assert_eq!(counts("oltp_delete", &[]), [0, 1, 0]);
    assert_eq!(counts("oltp_insert", &[]), [0, 1, 0]);
    assert_eq!(counts("select_random_points", &[]), [1, 0, 0]);
    assert_eq!(counts("select_random_ranges", &[]), [1, 0, 0]);
}

#[test]
fn options_change_the_mix() {
    assert_eq!(counts("oltp_read_write", &[("skip-trx", "on")]), [14, 4, 0]);
    assert_eq!(counts("oltp_read_write", &[("range-selects", "off")]), [10, 4, 2]);
    assert_eq!(counts("oltp_read_only", &[("point_selects", "0"), ("sum_ranges", "3")]), [6, 0, 2]);
    // The study of 2018: 414 statements, autocommit.
    let study = [
        ("skip-trx", "on"),
        ("delete_inserts", "100"),
        ("order_ranges", "100"),
        ("simple_ranges", "100"),
        ("range-size", "100"),
    ];
    let counts = counts("oltp_read_write", &study);
    assert_eq!(counts, [212, 202, 0]);
    assert_eq!(counts.iter().sum::<usize>(), 414);
}

#[test]
fn an_event_without_statements_is_refused() {
    let workload = Workload::builtin("oltp_update_index").unwrap().unwrap();
    let parameters = workload.options(&[("index_updates", "0")]).unwrap();
    let steps = workload.steps(&parameters, &[]).unwrap();
    let error = workload.plan(&parameters, &steps[0], Dialect::Postgres).err().unwrap().to_string();
    assert!(error.contains("does nothing with these options"), "{error}");
}

#[test]
fn slices_of_select_random() {
    let options = [("threads", "4"), ("table_size", "1000"), ("delta", "7")];
    let integers = |operation: &Operation| -> Vec<i64> {
        let integer = |parameter: &Parameter| match parameter {
            Parameter::Integer(integer) => *integer,
            Parameter::Text { .. } => panic!("text"),
        };
        operation.parameters.iter().map(integer).collect()
    };
    let mut points = plan("select_random_points", &options, Dialect::Postgres);
    let (sql, operation) = operations(&mut points, 1).remove(0);
    assert_eq!(sql, "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)");
    assert!(integers(&operation).iter().all(|value| (750..=1000).contains(value)), "{operation:?}");
    let mut ranges = plan("select_random_ranges", &options, Dialect::Mysql(Engine::Innodb));
    let (sql, operation) = operations(&mut ranges, 1).remove(0);
    let expected = format!("SELECT count(k) FROM sbtest1 WHERE {}", ["k BETWEEN ? AND ?"; 10].join(" OR "));
    assert_eq!(sql, expected);
    let bounds = integers(&operation);
    assert!(bounds.chunks(2).all(|pair| pair[1] - pair[0] == 7 && (750..=1000).contains(&pair[0])));
}

#[test]
fn bulk_inserts_fill_statements() {
    let mut plan = plan("bulk_insert", &[("threads", "2")], Dialect::Postgres);
    let operations = operations(&mut plan, 2);
    let (first, operation) = &operations[0];
    assert!(first.starts_with("INSERT INTO sbtest2 VALUES(1,1),(2,2),"), "{}", &first[..60]);
    let rows = operation.items;
    assert!(operation.ends_event);
    assert_eq!(operation.expectation, Expectation::Affected(u64::from(rows)));
    let next = format!("INSERT INTO sbtest2 VALUES({n},{n}),", n = rows + 1);
    assert!(operations[1].0.starts_with(&next), "{}", &operations[1].0[..60]);
    // One more row would be longer than sysbench's buffer allows.
    let row = format!(",({n},{n})", n = rows + 1);
    assert!(first.len() <= 524_287 && first.len() + row.len() > 524_287, "{}", first.len());
}

#[test]
fn ids_of_the_client_do_not_repeat() {
    let mut plan = plan("oltp_insert", &[("auto_inc", "off")], Dialect::Postgres);
    let operations = operations(&mut plan, 2);
    assert!(operations[0].0.starts_with("INSERT INTO sbtest1 (id, k, c, pad) VALUES (525449452, "));
    assert!(operations[1].0.starts_with("INSERT INTO sbtest1 (id, k, c, pad) VALUES (768762026, "));
}

#[test]
fn distributions_of_ids() {
    for (distribution, low, high, least) in [
        ("special", 4_950, 5_050, 700),
        ("pareto", 1, 2_000, 750),
        ("zipfian", 1, 100, 150),
        ("gaussian", 3_000, 7_000, 900),
    ] {
        let mut plan = plan("oltp_point_select", &[("rand-type", distribution)], Dialect::Postgres);
        let operations = operations(&mut plan, 1_000);
        let hits = operations
            .iter()
            .filter(|(_, operation)| {
                matches!(operation.parameters[0], Parameter::Integer(id) if (low..=high).contains(&id))
            })
            .count();
        assert!(hits >= least, "{distribution}: {hits}");
    }
}
