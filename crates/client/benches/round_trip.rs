//! What a session costs by itself: round trips with a server that answers from a buffer, and with embedded SQLite.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[path = "../tests/canned/mysql.rs"]
mod canned_mysql;

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;

use basecase_client::mysql::MysqlSession;
use basecase_client::postgres::{Address, Host, Password, PostgresSession};
use basecase_client::sqlite::{File, SqliteSession};
use basecase_client::{Endpoint, Session};
use basecase_model::Operation;
use canned_mysql::{LONGLONG, OK, definition, packets};
use divan::Bencher;

fn main() {
    divan::main();
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag][..], &length, body].concat()
}

/// A query's answer: a description, ten rows of three columns, the end.
fn answer() -> Vec<u8> {
    let column = |text: &str| [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat();
    let row = [&3u16.to_be_bytes()[..], &column("1234"), &column("56789"), &column("321")].concat();
    let mut answer = message(b'T', &[0; 80]);
    for _ in 0..10 {
        answer.extend(message(b'D', &row));
    }
    answer.extend(message(b'C', b"SELECT 10\0"));
    answer.extend(message(b'Z', b"I"));
    answer
}

/// A session with a thread that lets anyone in and gives every request the same answer.
fn session_with_canned_answers(folder: &tempfile::TempDir) -> PostgresSession {
    let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = vec![0; 65_536];
        let _ = stream.read(&mut request).unwrap();
        let welcome = [message(b'R', &[0, 0, 0, 0]), message(b'Z', b"I")].concat();
        stream.write_all(&welcome).unwrap();
        let answer = answer();
        while stream.read(&mut request).is_ok_and(|bytes| bytes > 0 && request[0] != b'X') {
            stream.write_all(&answer).unwrap();
        }
    });
    PostgresSession::connect(&Address {
        host: Host::Socket(folder.path().to_path_buf()),
        port: 5432,
        user: "basecase".into(),
        password: Password::default(),
        database: "ib".into(),
    })
    .unwrap()
}

#[divan::bench]
fn postgres_query_of_10_rows_canned(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session_with_canned_answers(&folder);
    let operation = Operation { text: "execute market (1234)".into(), items: 1, ..Operation::default() };
    bencher.bench_local(move || assert_eq!(session.execute(&operation).unwrap().fetched, 10));
}

/// A session with a MySQL server that gives `first` to the first command and then always `answer`.
fn mysql_session(folder: &tempfile::TempDir, first: Vec<u8>, answer: Vec<u8>) -> MysqlSession {
    let answers = [packets(2, &[OK]), first].into_iter().chain(std::iter::repeat(answer));
    canned_mysql::serve(folder.path(), canned_mysql::greeting("mysql_native_password", true), answers);
    MysqlSession::connect(&canned_mysql::address(folder.path())).unwrap()
}

/// A query's answer: ten rows of three columns.
fn mysql_answer(row: &[u8]) -> Vec<u8> {
    let column = definition(LONGLONG);
    let end = b"\xfe\0\0\x02\0\0\0".as_slice();
    packets(1, &[&[[3].as_slice(), &column, &column, &column], [row; 10].as_slice(), &[end]].concat())
}

#[divan::bench]
fn mysql_query_of_10_rows_canned(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let answer = mysql_answer(b"\x041234\x0556789\x03321");
    let mut session = mysql_session(&folder, answer.clone(), answer);
    let operation = Operation { text: "select a, b, c from t".into(), items: 1, ..Operation::default() };
    bencher.bench_local(move || assert_eq!(session.execute(&operation).unwrap().fetched, 10));
}

#[divan::bench]
fn mysql_prepared_query_of_10_rows_canned(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let column = definition(LONGLONG);
    // Statement 1 with three columns and one parameter.
    let prepared = packets(1, &[&[0, 1, 0, 0, 0, 3, 0, 1, 0, 0, 0, 0], &column, &column, &column, &column]);
    let row =
        [&[0, 0][..], &1234_i64.to_le_bytes(), &56_789_i64.to_le_bytes(), &321_i64.to_le_bytes()].concat();
    let mut session = mysql_session(&folder, prepared, mysql_answer(&row));
    let number = session.prepare("select a, b, c from t where a >= ?").unwrap();
    let operation =
        Operation { prepared: Some(number), parameters: vec![1234.into()], items: 1, ..Operation::default() };
    bencher.bench_local(move || assert_eq!(session.execute(&operation).unwrap().first, Some(1234)));
}

#[divan::bench]
fn sqlite_prepared_query_of_10_rows(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let file = File::bundled(folder.path().join("b.sqlite"));
    let mut session = SqliteSession::open(&file).unwrap();
    session.query("create table t (id integer primary key, k int)").unwrap();
    session
        .query("insert into t (k) with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000) select i from n")
        .unwrap();
    let number = session.prepare("select id, k from t where id >= ?1 order by id limit 10").unwrap();
    let operation =
        Operation { prepared: Some(number), parameters: vec![500.into()], items: 1, ..Operation::default() };
    bencher.bench_local(move || assert_eq!(session.execute(&operation).unwrap().fetched, 10));
}

/// Opening and closing, as is done once for each role before the clock starts.
#[divan::bench]
fn sqlite_connect(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::Sqlite(File::bundled(folder.path().join("b.sqlite")));
    bencher.bench_local(move || drop(endpoint.connect().unwrap()));
}
