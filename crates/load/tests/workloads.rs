//! Workloads as data on real servers: every step of the microbenchmarks and of the OLTP mixes, with every answer checked.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::atomic::AtomicBool;

use basecase_client::{Endpoint, mysql, postgres, sqlite};
use basecase_load::{Crew, Limits, Outcome};
use basecase_model::{Engine, ParameterType, Value};
use basecase_probe::{Target, Watch};
use basecase_workload::{Dialect, StepPlan, Workload};

fn run(plan: StepPlan, endpoint: &Endpoint) -> Outcome {
    let mut control = endpoint.connect().unwrap();
    for statement in &plan.before {
        control.query(statement).unwrap();
    }
    let name = plan.name.clone();
    let crew = Crew::assemble(plan, endpoint).unwrap();
    let stop = AtomicBool::new(false);
    let outcome = crew.run(&Watch::new(Target::default()), &Limits { stop: &stop, time: None });
    assert!(outcome.failure.is_none(), "{name}: {:?}", outcome.failure);
    for role in &outcome.roles {
        assert_eq!(role.mismatches, 0, "{name}: {role:?}");
    }
    let events: u64 = outcome.roles.iter().map(|role| role.events).sum();
    assert!(events == 12 || name == "load", "{name}: {events} events");
    let executed: u64 = outcome.statements.iter().map(|record| record.window.executed).sum();
    let statements: u64 = outcome.roles.iter().map(|role| role.statements).sum();
    assert!(executed == statements || outcome.statements.is_empty(), "{name}: {executed} of {statements}");
    outcome
}

/// A step ends by its events, also on a machine that has little time for it.
const MOMENT: [(&str, &str); 3] = [("events", "12"), ("seconds", "600"), ("warm_up_seconds", "0.02")];

/// Loads the tables and runs the steps that `words` name, each for a moment.
fn run_all(workload: &str, words: &[&str], options: &[(&str, &str)], dialect: Dialect, endpoint: &Endpoint) {
    let workload = Workload::builtin(workload).unwrap().unwrap();
    let parameters = workload.options(&[options, &MOMENT].concat()).unwrap();
    let steps = workload.steps(&parameters, words).unwrap();
    let load = || workload.load_plan(&parameters, &steps, dialect, 2).unwrap();
    run(load(), endpoint);
    for step in &steps {
        if step.reload_before {
            run(load(), endpoint);
        }
        run(workload.plan(&parameters, step, dialect).unwrap(), endpoint);
    }
}

fn everything(dialect: Dialect, endpoint: &Endpoint) {
    let sizes = [("tables", "2"), ("rows", "12000"), ("threads", "2")];
    run_all("microbenchmarks", &["32"], &sizes, dialect, endpoint);
    run_all("microbenchmarks", &["writes"], &[&sizes[..], &[("mode", "clean")]].concat(), dialect, endpoint);
    run_all(
        "microbenchmarks",
        &["point-query", "read-write"],
        &[&sizes[..], &[("prepared", "off")]].concat(),
        dialect,
        endpoint,
    );
    let sizes = [("tables", "2"), ("table-size", "2000"), ("threads", "2")];
    for mix in [
        "oltp_read_write",
        "oltp_read_only",
        "oltp_write_only",
        "oltp_point_select",
        "oltp_insert",
        "oltp_delete",
        "oltp_update_index",
        "oltp_update_non_index",
        "bulk_insert",
        "select_random_points",
        "select_random_ranges",
    ] {
        run_all(mix, &[], &sizes, dialect, endpoint);
    }
    run_all("oltp_insert", &[], &[("auto_inc", "off")], dialect, endpoint);
    if dialect != Dialect::Sqlite {
        run_all("oltp_point_select", &[], &[("secondary", "on")], dialect, endpoint);
    }
}

#[test]
fn on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let pragmas = [("journal_mode", "wal"), ("synchronous", "off")];
    let endpoint = Endpoint::Sqlite(sqlite::File {
        path: folder.path().join("workloads.sqlite"),
        pragmas: pragmas.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
    });
    everything(Dialect::Sqlite, &endpoint);
}

/// Drops and creates `sbtest1` … in the database that this variable names as a URL.
const POSTGRES: &str = "BASECASE_POSTGRES_URL";
const MYSQL: &str = "BASECASE_MYSQL_URL";

#[test]
#[ignore = "needs a server"]
fn on_postgres() {
    let url = std::env::var(POSTGRES).unwrap();
    let endpoint = Endpoint::Postgres(postgres::Address::from_url(&url).unwrap());
    everything(Dialect::Postgres, &endpoint);
    let mut session = endpoint.connect().unwrap();
    let types = [ParameterType::Text, ParameterType::Integer];
    session.prepare_with_types("update sbtest1 set c = $1 where id = $2", &types).unwrap();
    let declared = session.query("select parameter_types::text from pg_prepared_statements").unwrap();
    assert_eq!(declared, [[Value::Text("{\"character varying\",bigint}".into())]]);
    // What the server has after a load by two threads is what it had after that of sysbench; see the tests of the load.
    let workload = Workload::builtin("oltp_read_write").unwrap().unwrap();
    let parameters = workload.options(&[("tables", "2"), ("rand_type", "special")]).unwrap();
    let steps = workload.steps(&parameters, &[]).unwrap();
    run(workload.load_plan(&parameters, &steps, Dialect::Postgres, 2).unwrap(), &endpoint);
    for (table, sum) in
        [("sbtest1", "bab55a0903c68ec246c8c77608440844"), ("sbtest2", "ca0ca237290ec18d7b23792799fd7425")]
    {
        let row = "id || ',' || k || ',' || rtrim(c) || ',' || rtrim(pad)";
        let query = format!("select md5(string_agg({row}, e'\\n' order by id)) from {table}");
        assert_eq!(session.query(&query).unwrap(), [[Value::Text(sum.into())]], "{table}");
    }
}

#[test]
#[ignore = "needs a server"]
fn on_mysql() {
    let url = std::env::var(MYSQL).unwrap();
    everything(Dialect::Mysql(Engine::Innodb), &Endpoint::Mysql(mysql::Address::from_url(&url).unwrap()));
}
