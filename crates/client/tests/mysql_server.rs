//! The MySQL session against a real server.
//!
//! Set `BASECASE_MYSQL_URL` to the URL of a user who may do everything, over the server's Unix socket, and run
//! `cargo test -p basecase-client --test mysql_server -- --ignored`. The server must also listen on 127.0.0.1. The tests
//! make users and a database of their own, named `basecase_…`.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::thread;
use std::time::Duration;

use basecase_client::mysql::{Address, Host, MysqlSession};
use basecase_client::{Kind, Password, Session};
use basecase_model::{Operation, Reply, Value};

const DATABASE: &str = "basecase_session";

fn administrator() -> Address {
    let url = std::env::var("BASECASE_MYSQL_URL").expect("BASECASE_MYSQL_URL names the server");
    Address::from_url(&url).unwrap()
}

/// A session in the database of this test.
fn session() -> MysqlSession {
    let mut session = MysqlSession::connect(&administrator()).unwrap();
    session.query(&format!("create database if not exists {DATABASE}")).unwrap();
    session.query(&format!("use {DATABASE}")).unwrap();
    session
}

fn text(sql: &str) -> Operation {
    Operation { text: sql.to_owned(), ..Operation::default() }
}

fn execution(number: usize, parameters: &[i64]) -> Operation {
    let parameters = parameters.iter().map(|parameter| (*parameter).into()).collect();
    Operation { prepared: Some(number), parameters, ..Operation::default() }
}

fn integer(session: &mut MysqlSession, sql: &str) -> i64 {
    match session.query(sql).unwrap().as_slice() {
        [row] => match row.as_slice() {
            [Value::Integer(integer)] => *integer,
            row => panic!("{sql}: {row:?}"),
        },
        rows => panic!("{sql}: {rows:?}"),
    }
}

/// Version as MySQL counts, and whether it is MariaDB.
fn version(session: &mut MysqlSession) -> ((u32, u32), bool) {
    let [row] = &session.query("select version()").unwrap()[..] else { panic!() };
    let Value::Text(text) = &row[0] else { panic!("{row:?}") };
    let mut numbers = text.split(['.', '-']).map(|number| number.parse().unwrap_or(0));
    ((numbers.next().unwrap(), numbers.next().unwrap()), text.contains("MariaDB"))
}

#[test]
#[ignore = "needs a server"]
fn text_and_prepared_count_alike() {
    let mut session = session();
    session.query("drop table if exists counts").unwrap();
    session
        .query("create table counts (id int primary key auto_increment, k bigint, c char(60)) engine=innodb")
        .unwrap();
    let values = (1..=1000).map(|k| format!("({k}, 'c{k}')")).collect::<Vec<_>>().join(", ");
    let reply = session.execute(&text(&format!("insert into counts (k, c) values {values}"))).unwrap();
    assert_eq!(reply, Reply { affected: 1000, fetched: 0, first: None });

    let select = "select k, c from counts where id >= ? order by id limit 10";
    let number = session.prepare(select).unwrap();
    let point = session.prepare("select c from counts where id = ?").unwrap();
    let insert = session.prepare("insert into counts (k) values (?), (?)").unwrap();
    let none = session.prepare("select count(*), sum(k) from counts").unwrap();
    assert_eq!((number, point, insert, none), (0, 1, 2, 3));
    for id in [1, 500, 997] {
        let prepared = session.execute(&execution(number, &[id])).unwrap();
        assert_eq!(prepared, session.execute(&text(&select.replace('?', &id.to_string()))).unwrap());
        assert_eq!(prepared, Reply { affected: 0, fetched: (1001 - id as u64).min(10), first: Some(id) });
    }
    assert_eq!(session.execute(&execution(number, &[2000])).unwrap(), Reply::default());
    assert_eq!(session.execute(&execution(point, &[3])).unwrap(), Reply { fetched: 1, ..Reply::default() });
    for _ in 0..3 {
        assert_eq!(session.execute(&execution(insert, &[-1, i64::MIN])).unwrap().affected, 2);
    }
    assert_eq!(session.execute(&execution(none, &[])).unwrap().first, Some(1006));
    assert_eq!(integer(&mut session, "select min(k) from counts"), i64::MIN);
    // The server prepares a statement anew when its table has changed; it still knows the types of the parameters.
    session.query("alter table counts add column d int, add index (k)").unwrap();
    assert_eq!(session.execute(&execution(number, &[500])).unwrap().first, Some(500));
    assert_eq!(session.execute(&execution(insert, &[-2, -3])).unwrap().affected, 2);
    assert_eq!(session.execute(&text("delete from counts where k < 0")).unwrap().affected, 8);
    assert_eq!(session.execute(&text("update counts set k = 7 where id <= 10")).unwrap().affected, 9);

    let error = session.execute(&execution(number, &[1, 2])).unwrap_err();
    assert!(error.to_string().contains("takes 1 parameters and was given 2"), "{error}");
    let error = session.execute(&execution(9, &[])).unwrap_err();
    assert_eq!(error.kind(), Kind::Refused);
    assert!(session.prepare("select nonsense from nowhere").is_err());
    assert_eq!(session.prepare("do ?").unwrap(), 4);
    assert_eq!(session.execute(&execution(4, &[1])).unwrap(), Reply::default());
}

#[test]
#[ignore = "needs a server"]
#[expect(clippy::too_many_lines, reason = "a table of all types")]
fn columns_of_all_types() {
    let mut session = session();
    session.query("drop table if exists kinds").unwrap();
    session
        .query(
            "create table kinds (id int primary key, t tinyint, tu tinyint unsigned, s smallint, m mediumint, mu mediumint unsigned, \
             i int, iu int unsigned, b bigint, bu bigint unsigned, y year, de decimal(20,0), dd decimal(10,2), f float, d double, \
             bi bit(8), ch char(5), vc varchar(5), tx text, bl blob, e enum('1', 'x'), se set('1', 'x'), da date, dt datetime, \
             ti time, ts timestamp null, n int) engine=innodb default charset=utf8mb4",
        )
        .unwrap();
    session
        .query(
            "insert into kinds values (1, -1, 200, -30000, -8000000, 16000000, -2000000000, 4000000000, -9000000000000000000, \
             18000000000000000000, 2024, -42, 4.25, 1.5, 2.5, b'00110001', '12', '-7', 'ä', 'b', '1', 'x', '2026-11-21', \
             '2026-11-21 01:02:03', '01:02:03', '2026-11-21 01:02:03', null)",
        )
        .unwrap();
    let expected = [
        ("t", Some(-1)),
        ("tu", Some(200)),
        ("s", Some(-30_000)),
        ("m", Some(-8_000_000)),
        ("mu", Some(16_000_000)),
        ("i", Some(-2_000_000_000)),
        ("iu", Some(4_000_000_000)),
        ("b", Some(-9_000_000_000_000_000_000)),
        ("bu", None),
        ("y", Some(2024)),
        ("de", Some(-42)),
        ("dd", None),
        ("f", None),
        ("d", None),
        ("bi", Some(1)),
        ("ch", Some(12)),
        ("vc", Some(-7)),
        ("tx", None),
        ("bl", None),
        ("e", Some(1)),
        ("se", None),
        ("da", None),
        ("dt", None),
        ("ti", None),
        ("ts", None),
        ("n", None),
        ("count(*)", Some(1)),
        ("sum(i)", Some(-2_000_000_000)),
        ("max(id)", Some(1)),
        ("null", None),
        ("9", Some(9)),
    ];
    for (column, first) in expected {
        let sql = format!("select {column} from kinds");
        let number = session.prepare(&sql).unwrap();
        let reply = Reply { fetched: 1, affected: 0, first };
        assert_eq!(session.execute(&text(&sql)).unwrap(), reply, "{column} as text");
        assert_eq!(session.execute(&execution(number, &[])).unwrap(), reply, "{column} in binary");
    }
    let row = session.query("select bu, dd, tx, n, b, ti from kinds").unwrap();
    let expected = [
        Value::Text("18000000000000000000".into()),
        Value::Text("4.25".into()),
        Value::Text("ä".into()),
        Value::Null,
        Value::Integer(-9_000_000_000_000_000_000),
        Value::Text("01:02:03".into()),
    ];
    assert_eq!(row, [expected]);
    assert_eq!(session.query("select * from kinds where id = 7").unwrap(), Vec::<Vec<Value>>::new());
    // Many columns, so that null bits take several bytes.
    let many = (0..300).map(|at| format!("{at}")).collect::<Vec<_>>().join(", ");
    let number = session.prepare(&format!("select 77, {many}")).unwrap();
    assert_eq!(session.execute(&execution(number, &[])).unwrap().first, Some(77));
    assert_eq!(session.query(&format!("select {many}")).unwrap()[0].len(), 300);
}

#[test]
#[ignore = "needs a server"]
fn replies_of_several_parts_keep_results_and_errors() {
    let mut session = session();
    session.query("drop procedure if exists parts").unwrap();
    session
        .query("create procedure parts (fails int) begin select 1 union select 2; select 3; if fails then signal sqlstate '45000' set message_text = 'late'; end if; end")
        .unwrap();
    let rows = session.query("call parts(0)").unwrap();
    assert_eq!(rows, [[Value::Integer(1)], [Value::Integer(2)], [Value::Integer(3)]]);
    let error = session.query("call parts(1)").unwrap_err();
    assert_eq!((error.kind(), error.code()), (Kind::Refused, Some("1644")), "{error}");
    let call = session.prepare("call parts(?)").unwrap();
    assert_eq!(session.execute(&execution(call, &[0])).unwrap().fetched, 3);
    assert!(session.execute(&execution(call, &[1])).is_err());
    assert_eq!(integer(&mut session, "select 5"), 5);
    // One command is one statement, and a file of the client's is not given away.
    assert!(session.query("select 1; select 2").is_err());
    session.query("drop table if exists lines_of_file").unwrap();
    session.query("create table lines_of_file (line text)").unwrap();
    assert!(session.query("load data local infile '/etc/hostname' into table lines_of_file").is_err());
}

#[test]
#[ignore = "needs a server"]
fn packets_beyond_16_mib() {
    let mut session = session();
    session.query("set global max_allowed_packet = 67108864").unwrap();
    let mut session =
        MysqlSession::connect(&Address { database: DATABASE.into(), ..administrator() }).unwrap();
    for bytes in [20_000_000, 0xff_ffff - 12, 0xff_ffff - 13, 0xff_ffff, 2 * 0xff_ffff] {
        let long = "x".repeat(bytes);
        let rows = session.query(&format!("select '{long}', 7")).unwrap();
        assert!(rows == [[Value::Text(long), Value::Integer(7)]], "{bytes} bytes");
    }
    let number = session.prepare("select repeat('9', ?), 7").unwrap();
    for bytes in [1, 16_777_204, 16_777_205, 16_777_206, 20_000_000] {
        assert_eq!(session.execute(&execution(number, &[bytes])).unwrap().fetched, 1, "{bytes} bytes");
    }
    assert_eq!(integer(&mut session, "select 5"), 5);
    session.query("set global max_allowed_packet = 4194304").unwrap();
    let mut session = MysqlSession::connect(&administrator()).unwrap();
    let error = session.query(&format!("select '{}'", "x".repeat(20_000_000))).unwrap_err();
    assert_eq!((error.kind(), error.code()), (Kind::Disconnected, Some("1153")), "{error}");
    assert!(error.to_string().contains("hint: raise max_allowed_packet"), "{error}");
}

#[test]
#[ignore = "needs a server"]
fn deadlocks_and_lock_waits_can_be_repeated() {
    let mut first = session();
    let mut second = session();
    first.query("drop table if exists locks").unwrap();
    first.query("create table locks (id int primary key, k int) engine=innodb").unwrap();
    first.query("insert into locks values (1, 0), (2, 0)").unwrap();
    for session in [&mut first, &mut second] {
        session.query("set innodb_lock_wait_timeout = 2").unwrap();
        session.query("begin").unwrap();
    }
    first.query("update locks set k = 1 where id = 1").unwrap();
    second.query("update locks set k = 1 where id = 2").unwrap();
    let waiting = thread::spawn(move || {
        let outcome = first.execute(&text("update locks set k = 2 where id = 2"));
        (first, outcome)
    });
    thread::sleep(Duration::from_millis(500));
    let outcome = second.execute(&text("update locks set k = 2 where id = 1"));
    let (mut first, other) = waiting.join().unwrap();
    let errors: Vec<_> = [outcome.err(), other.err()].into_iter().flatten().collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!((errors[0].kind(), errors[0].code()), (Kind::Retryable, Some("1213")), "{}", errors[0]);
    for session in [&mut first, &mut second] {
        session.query("rollback").unwrap();
    }
    first.query("begin").unwrap();
    first.query("update locks set k = 1 where id = 1").unwrap();
    let error = second.query("update locks set k = 2 where id = 1").unwrap_err();
    assert_eq!((error.kind(), error.code()), (Kind::Retryable, Some("1205")), "{error}");
    first.query("rollback").unwrap();
    assert_eq!(second.execute(&text("update locks set k = 2 where id = 1")).unwrap().affected, 1);
}

#[test]
#[ignore = "needs a server"]
fn killed_statements_and_connections() {
    let mut control = session();
    let mut victim = session();
    let id = integer(&mut victim, "select connection_id()");
    // A killed statement leaves the connection.
    let running = thread::spawn(move || {
        let outcome =
            victim.query("select sleep(20), id from mysql.help_topic, (select 1 as id) as one limit 1");
        (victim, outcome)
    });
    thread::sleep(Duration::from_millis(500));
    control.query(&format!("kill query {id}")).unwrap();
    let (mut victim, outcome) = running.join().unwrap();
    if let Err(error) = outcome {
        assert_eq!((error.kind(), error.code()), (Kind::Refused, Some("1317")), "{error}");
    }
    assert_eq!(integer(&mut victim, "select 5"), 5);
    // A killed connection while a statement runs.
    let running = thread::spawn(move || victim.query("select sleep(20)"));
    thread::sleep(Duration::from_millis(500));
    control.query(&format!("kill {id}")).unwrap();
    let error = running.join().unwrap().unwrap_err();
    assert_eq!(error.kind(), Kind::Disconnected, "{error}");
    // A killed connection between statements, met while sending or receiving.
    let mut victim = session();
    let id = integer(&mut victim, "select connection_id()");
    control.query(&format!("kill {id}")).unwrap();
    thread::sleep(Duration::from_millis(300));
    for _ in 0..2 {
        let error = victim.query("select 1").unwrap_err();
        assert_eq!(error.kind(), Kind::Disconnected, "{error}");
    }
    // Interrupted from this side.
    let mut victim = session();
    let interrupt = victim.interrupter().unwrap();
    let running = thread::spawn(move || victim.query("select sleep(20)"));
    thread::sleep(Duration::from_millis(300));
    interrupt();
    assert_eq!(running.join().unwrap().unwrap_err().kind(), Kind::Disconnected);
}

#[test]
#[ignore = "needs a server"]
#[expect(clippy::too_many_lines, reason = "a table of logins")]
fn logins() {
    let mut control = session();
    let ((major, minor), is_mariadb) = version(&mut control);
    let port = u16::try_from(integer(&mut control, "select @@port")).unwrap();
    let at = |host, user: &str, password: &str| Address {
        host,
        port,
        user: user.to_owned(),
        password: Password::new(password),
        database: DATABASE.to_owned(),
    };
    let socket = || administrator().host;
    let tcp = || Host::Tcp("127.0.0.1".into());
    let mut methods = Vec::new();
    if is_mariadb || (major, minor) < (5, 7) {
        methods.push(("mysql_native_password", "identified by 'geheim'"));
    } else if (major, minor) < (8, 4) {
        methods.push(("mysql_native_password", "identified with mysql_native_password by 'geheim'"));
    }
    if !is_mariadb && major >= 8 {
        methods.push(("caching_sha2_password", "identified with caching_sha2_password by 'geheim'"));
    }
    assert!(!methods.is_empty());
    for (method, identified) in methods {
        for host in ["localhost", "%"] {
            // The versions differ in how they say "if exists".
            let _ = control.query(&format!("drop user 'basecase_user'@'{host}'"));
            control.query(&format!("create user 'basecase_user'@'{host}' {identified}")).unwrap();
            control.query(&format!("grant all on {DATABASE}.* to 'basecase_user'@'{host}'")).unwrap();
        }
        // The server forgets what it has cached, so that the full exchange is needed, then takes the short one.
        for host in [tcp(), tcp(), socket(), socket()] {
            let mut session = MysqlSession::connect(&at(host.clone(), "basecase_user", "geheim"))
                .unwrap_or_else(|error| panic!("{method} over {host}: {error}"));
            assert_eq!(integer(&mut session, "select 1"), 1);
            assert_eq!(session.query("select database()").unwrap(), [[Value::Text(DATABASE.into())]]);
        }
        control.query("flush privileges").unwrap();
        for host in [socket(), tcp()] {
            MysqlSession::connect(&at(host, "basecase_user", "geheim")).unwrap();
        }
        for (host, user, password) in [
            (tcp(), "basecase_user", "falsch"),
            (socket(), "basecase_user", "falsch"),
            (tcp(), "basecase_user", ""),
            (tcp(), "basecase_nobody", "falsch"),
        ] {
            let error = MysqlSession::connect(&at(host, user, password)).err().unwrap();
            assert_eq!(error.kind(), Kind::Refused, "{error}");
            let said = error.to_string();
            assert!(said.contains(&format!("cannot log in to mysql://{user}@")), "{said}");
            assert!(said.contains("hint: "), "{said}");
            assert!(!said.contains("falsch"), "{said}");
        }
        let error = MysqlSession::connect(&Address {
            database: "basecase_nowhere".into(),
            ..at(tcp(), "basecase_user", "geheim")
        })
        .err()
        .unwrap();
        assert_eq!(error.kind(), Kind::Refused, "{error}");
    }
    let error = MysqlSession::connect(&Address { port: 1, ..at(tcp(), "root", "") }).err().unwrap();
    assert_eq!(error.kind(), Kind::Disconnected, "{error}");
}

#[test]
#[ignore = "needs a server"]
fn a_connection_sends_no_statement() {
    let mut control = session();
    let questions = |control: &mut MysqlSession| {
        let rows = control.query("show global status like 'questions'").unwrap();
        let Value::Integer(questions) = rows[0][1] else { panic!("{rows:?}") };
        questions
    };
    let before = questions(&mut control);
    let address = Address { database: DATABASE.into(), ..administrator() };
    drop(MysqlSession::connect(&address).unwrap());
    thread::sleep(Duration::from_millis(300));
    let connecting = questions(&mut control) - before;
    // The question itself, and at most the end of the session.
    assert!((1..=2).contains(&connecting), "{connecting}");
}
