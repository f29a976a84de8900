//! What servers of MySQL and MariaDB tell of themselves, and how their debt is paid.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::directory::directory;
use crate::mysql_servers::PATIENCE;
use crate::obtain::obtain;
use basecase_builds::{Build, Library, default_home};
use basecase_client::Session;
use basecase_model::{Dbms, Engine, Measures, Value, names};
use basecase_process::Owner;
use basecase_server::{
    ConfigFile, Depth, Host, Instance, InstanceSpec, Served, Settle, SettleLimit, Settled, Settling,
    TableCheck, Transport, of_instance, of_url, settle,
};

const INDEXES: [&str; 3] =
    ["a (productid, customerid, price)", "b (cashregisterid, customerid, price)", "c (price, dateandtime)"];

fn pi1(depth: Depth) -> TableCheck<'static> {
    TableCheck { table: "pi1", key: Some("transactionid"), depth, asks_last_value: true }
}

fn create(table: &str, engine: Engine, comment: &str) -> String {
    format!(
        "create table {table} (transactionid bigint not null auto_increment primary key, dateandtime datetime, \
         cashregisterid int not null, customerid int not null, productid int not null, price int not null, \
         data varchar(4000)) engine = {engine} comment = '{comment}'"
    )
}

fn insert(table: &str, rows: u32) -> String {
    let row = |row: u32| {
        format!(
            "(now(), {}, {}, {}, {}, 'aaaaaaaaaaaaaaa')",
            row % 1000,
            row * 7919 % 100_000,
            row * 31 % 10_000,
            row % 500
        )
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!(
        "insert into {table} (dateandtime, cashregisterid, customerid, productid, price, data) values {}",
        rows.join(", ")
    )
}

/// What the server counted while `work` went on.
fn counted(
    served: &dyn Served,
    control: &mut dyn Session,
    work: &mut dyn FnMut(&mut dyn Session),
) -> Measures {
    let before = served.statistics(control, &[], 1).unwrap();
    work(served.endpoint().connect().unwrap().as_mut());
    served.statistics(control, &[], 1).unwrap().since(&before)
}

fn figure(session: &mut dyn Session, sql: &str) -> Value {
    session.query(sql).unwrap()[0][0].clone()
}

/// A new server below `folder`.
fn started(
    folder: &Path,
    build: &Build,
    engine: Engine,
    settings: &str,
    transport: Transport,
) -> Box<dyn Served> {
    let mut instance = instance(folder, build, engine, settings, transport);
    instance.initialise().unwrap();
    instance.start(PATIENCE).unwrap();
    of_instance(instance, true).unwrap().unwrap()
}

/// A server below `folder` that does not run.
fn instance(folder: &Path, build: &Build, engine: Engine, settings: &str, transport: Transport) -> Instance {
    Instance::open(InstanceSpec {
        build: build.clone(),
        engine: Some(engine),
        config: ConfigFile::parse(build.facts.dbms, "c", "c.conf", settings, Host::detect())
            .unwrap()
            .for_version(&build.version),
        directory: folder.join("instance"),
        transport,
        owner: Owner { experiment: "test".into(), candidate: "my.default".into() },
    })
    .unwrap()
}

/// Looks at everything that a served server tells, with this many rows. Returns how it settled.
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end")]
fn look(build: &Build, engine: Engine, settings: &str, rows: u32) -> Settled {
    let folder = directory();
    let served = started(folder.path(), build, engine, settings, Transport::Loopback);
    let mut control = served.endpoint().connect().unwrap();
    let control = control.as_mut();
    let is_known = |measures: &Measures, name: &str, expected: u32| {
        measures.get(name).is_none_or(|value| value == f64::from(expected))
    };

    let report = served.report(control).unwrap();
    assert_eq!(report.version, build.facts.version);
    served.drop_logs(control).unwrap();
    let statements = rows / 100;
    let loading = counted(served.as_ref(), control, &mut |session| {
        session.query(&create("pi1", engine, "basecase: test")).unwrap();
        for _ in 0..statements {
            session.query(&insert("pi1", 100)).unwrap();
        }
    });
    assert_eq!(loading.get(names::SERVER_CONNECTIONS), Some(1.0));
    assert_eq!(loading.get(names::SERVER_INSERT_STATEMENTS), Some(f64::from(statements)));
    assert_eq!(loading.get(names::SERVER_DELETE_STATEMENTS), Some(0.0));
    assert!(is_known(&loading, names::SERVER_ROWS_INSERTED, rows), "{loading:?}");

    let indexing = counted(served.as_ref(), control, &mut |session| {
        for index in INDEXES {
            session.query(&format!("alter table pi1 add index {index}")).unwrap();
        }
    });
    assert!(is_known(&indexing, names::SERVER_ROWS_INSERTED, 0), "{indexing:?}");
    assert_eq!(served.secondary_indexes(control, "pi1").unwrap(), 3);

    let churning = counted(served.as_ref(), control, &mut |session| {
        for _ in 0..statements / 2 {
            session.query(&insert("pi1", 50)).unwrap();
            session
                .query("delete from pi1 where transactionid >= 0 order by transactionid limit 50")
                .unwrap();
        }
    });
    assert_eq!(churning.get(names::SERVER_DELETE_STATEMENTS), Some(f64::from(statements / 2)));
    assert!(is_known(&churning, names::SERVER_ROWS_INSERTED, rows / 4), "{churning:?}");
    assert!(is_known(&churning, names::SERVER_ROWS_DELETED, rows / 4), "{churning:?}");

    let (first, last) = (i64::from(rows / 4) + 1, i64::from(rows / 4 + rows));
    let state = served.table(control, pi1(Depth::Full)).unwrap();
    assert_eq!((state.rows, state.min_id, state.max_id), (Some(u64::from(rows)), Some(first), Some(last)));
    assert_eq!(state.last_value, Some(last));
    let state = served.table(control, pi1(Depth::From(first - 3))).unwrap();
    assert_eq!((state.rows, state.min_id, state.max_id), (None, Some(first), Some(last)));

    let dirty_pages = "select @@innodb_max_dirty_pages_pct";
    let before = figure(control, dirty_pages);
    let stop = AtomicBool::new(false);
    let tables = ["pi1".to_owned()];
    let settled = settle(served.as_ref(), control, &tables, Settling::default(), &stop).unwrap();
    // Others may write on this host meanwhile, for which the server is not to blame.
    let host_is_busy = settled.debt.get("debt.host_dirty_bytes").is_some_and(|bytes| bytes > 200e6);
    assert!(settled.at_rest || host_is_busy, "{settled:?}");
    assert_eq!(figure(control, dirty_pages), before);

    let sizes = served.sizes(control).unwrap();
    let [database, whole] =
        [names::DATABASE_BYTES, names::DIRECTORY_BYTES].map(|name| sizes.get(name).unwrap());
    assert!(database > f64::from(rows) * 40.0 && database < whole, "{sizes:?}");

    served.drop_logs(control).unwrap();
    if figure(control, "select @@log_bin") == Value::Integer(1) {
        let logs = control.query("show binary logs").unwrap();
        assert!(matches!(logs[..], [ref log] if matches!(log[1], Value::Integer(..1000))), "{logs:?}");
    }
    // The same server as if it were the user's own, with others at work on it and files of its own.
    let mut theirs = of_url(served.endpoint().clone(), Some(engine)).unwrap().unwrap();
    assert_eq!(theirs.statistics(control, &tables, 1).unwrap(), Measures::new());
    let sizes = theirs.sizes(control).unwrap();
    assert!(sizes.get(names::DATABASE_BYTES).is_some() && sizes.get(names::DIRECTORY_BYTES).is_none());
    assert_eq!((theirs.pid(), theirs.stop()), (None, None));
    control.query(&create("strange", engine, "")).unwrap();
    for (table, is_foreign) in [("pi1", false), ("strange", true), ("missing", false)] {
        assert_eq!(theirs.is_foreign(control, table).unwrap(), is_foreign, "{table}");
        assert!(!served.is_foreign(control, table).unwrap(), "{table}");
    }
    let note = theirs.discard(served.endpoint().connect().unwrap(), &["pi1".into(), "strange".into()]);
    assert_eq!(note.unwrap().as_deref(), Some("not dropped, because basecase did not create it: strange"));
    control.query("select * from strange").unwrap();
    assert!(served.table(control, pi1(Depth::Full)).is_err());

    let control = served.endpoint().connect().unwrap();
    assert_eq!(served.discard(control, &[]).unwrap(), None);
    assert!(!folder.path().join("instance").exists());
    settled
}

#[test]
fn all_pages_of_a_warm_table_and_its_indexes_are_in_the_buffer_pool_of_mysql_80() {
    let (folder, build) = (directory(), obtain("mysql:8.0.31"));
    let settings = "innodb_buffer_pool_load_at_startup = 0";
    let mut served = started(folder.path(), &build, Engine::Innodb, settings, Transport::UnixSocket);
    let mut session = served.endpoint().connect().unwrap();
    session.query("create table t (a int primary key, b int, c char(200), key (b))").unwrap();
    session.query("set cte_max_recursion_depth = 20000").unwrap();
    let numbers =
        "with recursive n as (select 1 as a union all select a + 1 from n where a < 20000) select a from n";
    session.query(&format!("insert into t select a, a * 7 % 20000, a from ({numbers}) n")).unwrap();
    drop(session);
    assert_eq!(served.stop(), None);
    drop(served);

    let mut instance = instance(folder.path(), &build, Engine::Innodb, settings, Transport::UnixSocket);
    instance.start(PATIENCE).unwrap();
    let served = of_instance(instance, false).unwrap().unwrap();
    let mut control = served.endpoint().connect().unwrap();
    let session = control.as_mut();
    let reads = |session: &mut dyn Session| {
        let status = session.query("show global status like 'innodb_buffer_pool_reads'").unwrap();
        let Value::Integer(reads) = status[0][1] else { panic!("{status:?}") };
        reads
    };
    let cold = reads(session);
    served.warm(session, "t").unwrap();
    let warm = reads(session);
    assert!(warm > cold + 50, "{cold} to {warm}");
    for read in ["select sum(length(c)) from t force index (primary)", "select sum(b) from t force index (b)"]
    {
        session.query(read).unwrap();
        assert_eq!(reads(session), warm, "{read}");
    }
    served.discard(control, &[]).unwrap();
}

#[test]
fn mysql_57_is_told_of() {
    look(&obtain("mysql:5.7.22"), Engine::Innodb, "", 20_000);
}

#[test]
fn mysql_80_with_a_binary_log_is_told_of() {
    look(&obtain("mysql:8.0.31"), Engine::Innodb, "log_bin = binlog", 20_000);
}

#[test]
fn defect_24_mysql_55_comes_to_rest_after_reads() {
    let folder = directory();
    let build = obtain("mysql:5.5.34");
    let served = started(folder.path(), &build, Engine::Innodb, "", Transport::UnixSocket);
    let mut control = served.endpoint().connect().unwrap();
    let control = control.as_mut();
    control.query("create table t (a int primary key, b int) engine=innodb").unwrap();
    for row in 0..100 {
        control.query(&format!("insert into t values ({row}, 0)")).unwrap();
        control.query(&format!("update t set b = 1 where a = {row}")).unwrap();
    }
    // Each takes a number, as if there were something to purge.
    for row in 0..2_000 {
        control.query(&format!("select b from t where a = {row}")).unwrap();
    }
    let stop = AtomicBool::new(false);
    let settling =
        Settling { limit: Some(SettleLimit::Time(Duration::from_secs(60))), ..Settling::default() };
    let settled = settle(served.as_ref(), control, &["t".to_owned()], settling, &stop).unwrap();
    assert!(settled.debt.get("debt.unpurged_transactions").unwrap() <= 20.0, "{settled:?}");
    assert!(settled.seconds < 45.0, "{settled:?}");
    let control = served.endpoint().connect().unwrap();
    served.discard(control, &[]).unwrap();
}

#[test]
fn a_purge_thread_of_mysql_55_that_sleeps_is_not_waited_for() {
    let folder = directory();
    let build = obtain("mysql:5.5.34");
    let settings = "innodb_purge_threads = 1";
    let served = started(folder.path(), &build, Engine::Innodb, settings, Transport::UnixSocket);
    let mut control = served.endpoint().connect().unwrap();
    control.query("create table t (a int primary key, b int) engine=innodb").unwrap();
    // More than a batch, all of which a reader keeps until the thread has gone to sleep.
    let mut reader = served.endpoint().connect().unwrap();
    reader.query("start transaction with consistent snapshot").unwrap();
    for row in 0..50 {
        control.query(&format!("insert into t values ({row}, 0)")).unwrap();
        control.query(&format!("update t set b = 1 where a = {row}")).unwrap();
    }
    drop(reader);
    let settling = Settling {
        mode: Settle::Purged,
        limit: Some(SettleLimit::Time(Duration::from_secs(30))),
        ..Settling::default()
    };
    let stop = AtomicBool::new(false);
    let settled = settle(served.as_ref(), control.as_mut(), &["t".to_owned()], settling, &stop).unwrap();
    // The host may have more to write back than counts as rest.
    assert!(settled.debt.get("debt.unpurged_transactions").unwrap() < 20.0, "{settled:?}");
    served.discard(control, &[]).unwrap();
}

#[test]
fn mariadb_is_told_of_with_either_engine() {
    let build = obtain("mariadb:10.11.18");
    std::thread::scope(|scope| {
        scope.spawn(|| look(&build, Engine::Innodb, "log_bin = binlog\nserver_id = 1", 20_000));
        scope.spawn(|| look(&build, Engine::Rocksdb, "transaction_isolation = READ-COMMITTED", 20_000));
    });
}

/// The threads of two sessions with a new server, or why they are not told. Those that are told must be the server's.
fn threads(build: &Build, settings: &str) -> Result<[u32; 2], String> {
    let folder = directory();
    let served = started(folder.path(), build, Engine::Innodb, settings, Transport::UnixSocket);
    let [mut one, mut other] = [(); 2].map(|()| served.endpoint().connect().unwrap());
    let thread = |session: &mut dyn Session| {
        let told = served.session_thread(session).map_err(|error| error.to_string());
        told.map(Option::unwrap)
    };
    let told = thread(one.as_mut()).and_then(|first| Ok([first, thread(other.as_mut())?]));
    let tasks = format!("/proc/{}/task", served.pid().unwrap());
    for thread in told.iter().flatten() {
        assert!(Path::new(&tasks).join(thread.to_string()).exists(), "{thread} is none of {tasks}");
    }
    drop(other);
    served.discard(one, &[]).unwrap();
    told
}

#[test]
fn threads_of_sessions_are_told_where_each_has_its_own() {
    let untold = "the server does not tell the threads of its sessions, as MySQL 5.7 with performance_schema = 1 and \
                  later ones do\nhint: count with --counts-engine callgrind";
    let are_told = |build: &str| {
        let [one, other] = threads(&obtain(build), "").unwrap();
        assert_ne!(one, other);
    };
    let are_untold = |build: &str, settings: &str, said: &str| {
        let untold = threads(&obtain(build), settings).unwrap_err();
        assert!(untold.starts_with(said), "{untold}");
    };
    // Making the data of a server takes seconds.
    std::thread::scope(|scope| {
        for build in ["mysql:5.7.22", "mysql:8.0.31", "mariadb:10.11.18"] {
            scope.spawn(move || are_told(build));
        }
        let pooled = "sessions have no threads of their own, since thread_handling is pool-of-threads";
        scope.spawn(|| are_untold("mysql:5.7.22", "performance_schema = 0", untold));
        scope.spawn(|| are_untold("mysql:5.6.24", "", untold));
        scope.spawn(|| are_untold("mariadb:10.11.18", "thread_handling = pool-of-threads", pooled));
    });
}

#[test]
#[ignore = "downloads every recipe"]
fn every_recipe_is_told_of() {
    let library = Library::open(&default_home().unwrap()).unwrap();
    for listing in library.list() {
        let recipe = listing.recipe;
        let request = format!("{}:{}:{}", recipe.dbms, recipe.version, recipe.provider.name);
        let engines: &[Engine] = match recipe.dbms {
            Dbms::Mysql => &[Engine::Innodb],
            Dbms::Mariadb if recipe.provider.name == "debian" => &Engine::ALL,
            Dbms::Mariadb => &[Engine::Innodb],
            Dbms::Postgres | Dbms::Sqlite => continue,
        };
        for engine in engines {
            let isolated = "transaction_isolation = READ-COMMITTED";
            let settled = look(&obtain(&request), *engine, isolated, 200_000);
            eprintln!("{request} {engine} {settled:?}");
        }
    }
}
