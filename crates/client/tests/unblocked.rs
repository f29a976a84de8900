//! Sessions that do not block, against servers that take their time.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "canned/mysql.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod canned;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use basecase_client::mysql::MysqlSession;
use basecase_client::postgres::{Address, Host, Password, PostgresSession};
use basecase_client::{Kind, Session};
use basecase_model::{Operation, Reply};
use canned::{OK, packets};

/// Bytes of a statement that no socket takes at once.
const LONG_BYTES: usize = 3_000_000;

/// A server that lets one client in, reads a request when it is told its length, and then sends the pieces that it is
/// given.
struct Server {
    read: Sender<usize>,
    pieces: Sender<Vec<u8>>,
    requests: Receiver<Vec<u8>>,
    thread: JoinHandle<()>,
}

impl Server {
    fn start(listener: UnixListener, welcome: impl Fn(&mut UnixStream) + Send + 'static) -> Server {
        let (read, reads) = channel::<usize>();
        let (pieces, sent) = channel::<Vec<u8>>();
        let (requested, requests) = channel();
        let thread = spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            welcome(&mut stream);
            for bytes in reads {
                let mut request = vec![0; bytes];
                stream.read_exact(&mut request).unwrap();
                requested.send(request).unwrap();
                while let Ok(piece) = sent.recv() {
                    if piece.is_empty() {
                        break;
                    }
                    stream.write_all(&piece).unwrap();
                }
            }
        });
        Server { read, pieces, requests, thread }
    }
}

fn postgres(folder: &tempfile::TempDir) -> (Server, Box<dyn Session>) {
    let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    let server = Server::start(listener, |stream| {
        let _ = stream.read(&mut [0; 1000]).unwrap();
        stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
    });
    let session = PostgresSession::connect(&Address {
        host: Host::Socket(folder.path().to_path_buf()),
        port: 5432,
        user: "basecase".into(),
        password: Password::default(),
        database: "ib".into(),
    });
    (server, Box::new(session.unwrap()))
}

fn mysql(folder: &tempfile::TempDir) -> (Server, Box<dyn Session>) {
    let listener = UnixListener::bind(folder.path().join("mysqld.sock")).unwrap();
    let server = Server::start(listener, |stream| {
        stream.write_all(&canned::greeting("mysql_native_password", true)).unwrap();
        let _ = stream.read(&mut [0; 1000]).unwrap();
        stream.write_all(&packets(2, &[OK])).unwrap();
    });
    (server, Box::new(MysqlSession::connect(&canned::address(folder.path())).unwrap()))
}

/// Asks until the reply is whole.
fn wait(session: &mut dyn Session) -> Reply {
    loop {
        match session.receive().unwrap() {
            Some(reply) => return reply,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Sends a long statement to a server that answers with `answer`, whose request has `overhead` bytes around the text.
fn long_statement(server: Server, mut session: Box<dyn Session>, answer: &[u8], overhead: usize) {
    session.set_blocking(false).unwrap();
    assert_eq!(session.receive().unwrap(), None);
    let long = Operation { text: "x".repeat(LONG_BYTES), ..Operation::default() };
    session.send(&long).unwrap();
    assert!(session.has_unsent());
    assert_eq!(session.receive().unwrap(), None);
    assert_eq!(session.send(&long).unwrap_err().kind(), Kind::Refused);
    assert_eq!(session.query("select 1").unwrap_err().kind(), Kind::Refused);
    server.read.send(LONG_BYTES + overhead).unwrap();
    while session.has_unsent() {
        assert_eq!(session.receive().unwrap(), None);
    }
    let request = server.requests.recv().unwrap();
    assert_eq!(request.iter().filter(|byte| **byte == b'x').count(), LONG_BYTES);
    for piece in answer.chunks(3) {
        assert_eq!(session.receive().unwrap(), None);
        server.pieces.send(piece.to_vec()).unwrap();
    }
    assert_eq!(wait(&mut *session).affected, 1);
    // A session that blocks again waits.
    server.pieces.send(Vec::new()).unwrap();
    session.set_blocking(true).unwrap();
    server.read.send(4 + overhead).unwrap();
    server.pieces.send(answer.to_vec()).unwrap();
    let short = Operation { text: "text".into(), ..Operation::default() };
    assert_eq!(session.execute(&short).unwrap().affected, 1);
    // The end of the server is heard without asking it anything.
    let Server { read, pieces, thread, .. } = server;
    drop((read, pieces));
    thread.join().unwrap();
    session.set_blocking(false).unwrap();
    assert_eq!(session.receive().unwrap_err().kind(), Kind::Disconnected);
    assert_eq!(session.execute(&short).unwrap_err().kind(), Kind::Disconnected);
}

#[test]
fn postgres_takes_long_statements_piece_by_piece() {
    let folder = tempfile::tempdir().unwrap();
    let (server, session) = postgres(&folder);
    long_statement(server, session, b"C\0\0\0\x0fINSERT 0 1\0Z\0\0\0\x05I", 6);
}

#[test]
fn mysql_takes_long_statements_piece_by_piece() {
    let folder = tempfile::tempdir().unwrap();
    let (server, session) = mysql(&folder);
    long_statement(server, session, &packets(1, &[OK]), 5);
}
