//! The MySQL session against answers that a real server gives seldom or never.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "canned/mysql.rs"]
mod canned;

use basecase_client::mysql::MysqlSession;
use basecase_client::{Error, Kind, Session};
use basecase_model::{Operation, Reply, Value};
use canned::{LONGLONG, OK, definition, packets};

const METHOD: &str = "mysql_native_password";

/// What a connection says to a server with this greeting and these answers.
fn connect(greeting: Vec<u8>, answers: Vec<Vec<u8>>) -> (tempfile::TempDir, Result<MysqlSession, Error>) {
    let folder = tempfile::tempdir().unwrap();
    canned::serve(folder.path(), greeting, answers.into_iter());
    let session = MysqlSession::connect(&canned::address(folder.path()));
    (folder, session)
}

/// A session that is let in and then given these answers.
fn session(is_eof_deprecated: bool, answers: &[Vec<u8>]) -> (tempfile::TempDir, MysqlSession) {
    let answers = [&[packets(2, &[OK])], answers].concat();
    let (folder, session) = connect(canned::greeting(METHOD, is_eof_deprecated), answers);
    (folder, session.unwrap())
}

fn text() -> Operation {
    Operation { text: "select id from t".into(), ..Operation::default() }
}

#[test]
fn rows_in_both_styles() {
    let rows: [&[u8]; 2] = [b"\x0242", b"\xfb"];
    let eof: &[u8] = b"\xfe\0\0\x02\0";
    let old = packets(1, &[&[1], &definition(LONGLONG), eof, rows[0], rows[1], eof]);
    let new = packets(1, &[&[1], &definition(LONGLONG), rows[0], rows[1], b"\xfe\0\0\x02\0\0\0"]);
    for (is_eof_deprecated, answer) in [(false, old), (true, new)] {
        let (_folder, mut session) = session(is_eof_deprecated, &[answer.clone(), answer]);
        let reply = Reply { fetched: 2, affected: 0, first: Some(42) };
        assert_eq!(session.execute(&text()).unwrap(), reply);
        assert_eq!(session.query("select").unwrap(), [[Value::Integer(42)], [Value::Null]]);
        // The server has closed the connection.
        assert_eq!(session.execute(&text()).unwrap_err().kind(), Kind::Disconnected);
    }
}

#[test]
fn results_after_results_are_added_up() {
    let followed: &[u8] = &[0, 3, 0, 8, 0, 0, 0];
    let first = [&[1][..], &definition(LONGLONG), b"\x017", b"\xfe\0\0\x08\0\0\0"];
    let answer = packets(1, &[&first[..], &[followed, OK]].concat());
    let (_folder, mut session) = session(true, &[answer]);
    assert_eq!(session.execute(&text()).unwrap(), Reply { fetched: 1, affected: 4, first: Some(7) });
}

#[test]
fn an_error_amid_rows_leaves_the_session() {
    let error = b"\xff\xbd\x04#40001Deadlock found".as_slice();
    let answer = packets(1, &[&[1], &definition(LONGLONG), b"\x017", error]);
    let (_folder, mut session) = session(true, &[answer, packets(1, &[OK])]);
    assert_eq!(session.execute(&text()).unwrap_err().kind(), Kind::Retryable);
    assert_eq!(session.execute(&text()).unwrap().affected, 1);
}

#[test]
fn no_file_is_given_to_the_server() {
    let (_folder, mut session) = session(true, &[packets(1, &[b"\xfb/etc/passwd"])]);
    let error = session.execute(&text()).unwrap_err();
    assert_eq!(error.kind(), Kind::Disconnected);
    assert!(error.to_string().contains("LOAD DATA LOCAL"), "{error}");
}

#[test]
fn the_last_words_of_a_server_are_heard() {
    // An idle session is told of the shutdown before it sends anything.
    let farewell = packets(0, &[b"\xff\x1d\x04#08S01Server shutdown in progress"]);
    let (_folder, mut session) = session(true, &[[packets(1, &[OK]), farewell].concat()]);
    assert_eq!(session.execute(&text()).unwrap().affected, 1);
    let error = session.execute(&text()).unwrap_err();
    assert_eq!((error.kind(), error.code()), (Kind::Disconnected, Some("1053")), "{error}");
}

#[test]
fn logins_are_refused_with_reason() {
    let greeting = || canned::greeting(METHOD, true);
    let cases = [
        (packets(0, &[b"\xff\x10\x04Too many connections"]), vec![], "max_connections"),
        (b"SSH-2.0-OpenSSH\r\n".to_vec(), vec![], ""),
        (packets(0, &[b"\x09old"]), vec![], "greeting of MySQL's protocol 10"),
        (greeting(), vec![packets(2, &[b"\xfe"])], "mysql_old_password"),
        (greeting(), vec![packets(2, &[b"\xfemysql_clear_password\0"])], "mysql_clear_password"),
        (greeting(), vec![packets(2, &[b"\xff\x15\x04#28000Access denied"])], "check the user, the password"),
        (greeting(), vec![packets(2, &[b"\x07"])], "an unknown step of a login"),
    ];
    for (greeting, answers, said) in cases {
        let (_folder, session) = connect(greeting, answers);
        let text = session.err().unwrap().to_string();
        assert!(text.starts_with("cannot log in to mysql://basecase@/"), "{text}");
        assert!(text.contains(said), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn caching_sha2_password_sends_the_password_over_a_socket_when_asked() {
    let answers = vec![packets(2, &[b"\x01\x04"]), packets(4, &[OK])];
    connect(canned::greeting("caching_sha2_password", true), answers).1.unwrap();
    let answers = vec![packets(2, &[b"\x01\x03", OK])];
    connect(canned::greeting("caching_sha2_password", true), answers).1.unwrap();
}

proptest::proptest! {
    #[test]
    fn whatever_the_server_says_the_session_answers(payloads: Vec<Vec<u8>>, is_eof_deprecated: bool, how in 0..3) {
        let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        // The server closes the connection behind this answer, so that nobody waits for more.
        let (_folder, mut session) = session(is_eof_deprecated, &[packets(1, &payloads)]);
        match how {
            0 => drop(session.prepare("select 1")),
            1 => drop(session.query("select 1")),
            _ => drop(session.execute(&text())),
        }
        let _ = session.execute(&Operation { prepared: Some(0), ..Operation::default() });
    }
}
