//! What a server sends, from the first byte of a connection, and once more as the reply to one statement.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use basecase_client::{Error, Session, mysql, postgres};
use basecase_model::{Operation, Parameter, Reply};

use crate::{Marks, SECRET, shape};

/// Longer inputs do not fit into the buffer of a socket, which is filled before anybody reads.
const MOST_BYTES: usize = 100_000;
/// Stands in a stream for the nonce that the client sent.
const NONCE: &[u8] = b"%NONCE%";

/// Makes a session over one end of a connection.
type Connect = fn(UnixStream) -> Result<Box<dyn Session>, Error>;

/// How a dbms lets a session in, and makes a prepared statement.
struct Server {
    connect: Connect,
    login: Vec<u8>,
    preparation: Vec<u8>,
}

/// Plays a Postgres server that sends this.
pub fn postgres(input: &[u8]) -> Marks {
    let connect: Connect = |stream| {
        let address = postgres::Address::from_url(&format!("postgres://me:{SECRET}@localhost/me"));
        Ok(Box::new(postgres::PostgresSession::over(stream, &address.expect("a URL"))?))
    };
    let message = |tag: u8, body: &[u8]| [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat();
    let ready = message(b'Z', b"I");
    play(
        &Server {
            connect,
            login: [message(b'R', &[0; 4]), message(b'K', &[0, 0, 0, 7, 1, 2, 3, 4]), ready.clone()].concat(),
            preparation: [message(b'1', &[]), ready].concat(),
        },
        input,
    )
}

/// Plays a MySQL server that sends this.
pub fn mysql(input: &[u8]) -> Marks {
    let connect: Connect = |stream| {
        let address = mysql::Address::from_url(&format!("mysql://me:{SECRET}@%2Fnowhere/me"));
        Ok(Box::new(mysql::MysqlSession::over(stream, &address.expect("a URL"))?))
    };
    let packet = |sequence: u8, payload: &[u8]| [&[payload.len() as u8, 0, 0, sequence], payload].concat();
    // Which style of ending rows was agreed on is the input's length.
    let deprecates_eof = if input.len().is_multiple_of(2) { 0 } else { 1 };
    let greeting = [
        b"\x0a8.0.99\0\x07\0\0\0abcdefgh\0\x05\xa2\x2d\x02\0".as_slice(),
        &[0x0e, deprecates_eof, 21],
        &[0; 10],
        b"ijklmnopqrst\0mysql_native_password\0",
    ]
    .concat();
    let ok = [0, 0, 0, 2, 0, 0, 0];
    let definition = b"\x03def\x01d\x01t\x01t\x02id\x02id\x0c\x3f\0\x14\0\0\0\x08\0\0\0\0\0";
    let eof = [0xfe, 0, 0, 2, 0];
    let end: Vec<u8> = if deprecates_eof == 0 { packet(3, &eof) } else { Vec::new() };
    let preparation = [packet(1, &[0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]), packet(2, definition), end].concat();
    play(&Server { connect, login: [packet(0, &greeting), packet(2, &ok)].concat(), preparation }, input)
}

fn play(server: &Server, input: &[u8]) -> Marks {
    let mut marks = Marks::new();
    // A server may say the password as any other text.
    if input.len() > MOST_BYTES || input.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()) {
        return marks;
    }
    whole_connection(server, input, &mut marks);
    for is_prepared in [false, true] {
        let outcome = reply(server, input, input.len(), is_prepared);
        let stage = if is_prepared { "prepared" } else { "text" };
        note(&format!("{stage}: reply"), &outcome, &mut marks);
        // What has come in two pieces is the same.
        for cut in [input.len() / 2, input.len().saturating_sub(1), input.len().min(6)] {
            let cut = reply(server, input, cut, is_prepared);
            assert_eq!(told(&cut), told(&outcome));
        }
    }
    let rows = session(server, input, true).and_then(|(mut session, _peer)| session.query("select 1"));
    note("rows", &rows.map(|rows| assert!(rows.len() <= input.len())), &mut marks);
    marks
}

/// A session that connects, prepares, and executes.
fn whole_connection(server: &Server, input: &[u8], marks: &mut Marks) {
    let has_nonce = input.windows(NONCE.len()).any(|window| window == NONCE);
    let (own, peer) = UnixStream::pair().expect("sockets");
    let player = if has_nonce {
        let (mut peer, input) = (peer.try_clone().expect("a socket"), input.to_vec());
        Some(thread::spawn(move || answer_nonce(&mut peer, &input)))
    } else {
        send(&peer, input, true);
        None
    };
    let session = (server.connect)(own);
    note("login", &session, marks);
    if let Ok(mut session) = session {
        let prepared = session.prepare("select ?");
        note("preparation", &prepared, marks);
        note("first", &session.execute(&text()), marks);
        if let Ok(number) = prepared {
            note("second", &session.execute(&execution(number)), marks);
        }
        note("third", &session.query("select 2"), marks);
    }
    // Whoever reads from the client is told that it has gone.
    let _ = peer.shutdown(Shutdown::Both);
    if let Some(player) = player {
        player.join().expect("the player ends");
    }
}

/// Sends the input up to the nonce, waits for the client's, and goes on with that.
fn answer_nonce(peer: &mut UnixStream, input: &[u8]) {
    let at = input.windows(NONCE.len()).position(|window| window == NONCE).unwrap_or(input.len());
    // Up to the message in which it stands.
    let head = input[..at].windows(2).rposition(|window| window == b"R\0").unwrap_or(0);
    let _ = peer.write_all(&input[..head]);
    // The client may be waiting too.
    let _ = peer.set_read_timeout(Some(Duration::from_millis(100)));
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    while !said.windows(2).any(|window| window == b"r=") {
        match peer.read(&mut piece) {
            Ok(bytes @ 1..) => said.extend_from_slice(&piece[..bytes]),
            _ => {
                let _ = peer.shutdown(Shutdown::Both);
                return;
            }
        }
    }
    let nonce = said.windows(2).position(|window| window == b"r=").map_or(0, |at| at + 2);
    let nonce = &said[nonce..];
    let mut rest = input[head..at].to_vec();
    rest.extend_from_slice(nonce);
    rest.extend_from_slice(&input[at + NONCE.len()..]);
    // The message grew with the nonce.
    if let Some(length) = rest.get(1..5).and_then(|length| <[u8; 4]>::try_from(length).ok()) {
        let grown = u32::from_be_bytes(length).wrapping_add((nonce.len() - NONCE.len()) as u32);
        rest[1..5].copy_from_slice(&grown.to_be_bytes());
    }
    let _ = peer.write_all(&rest);
    let _ = peer.shutdown(Shutdown::Write);
}

/// A session that was let in, and to which the input comes next, all of it or none yet.
fn session(server: &Server, input: &[u8], is_all: bool) -> Result<(Box<dyn Session>, UnixStream), Error> {
    let (own, peer) = UnixStream::pair().expect("sockets");
    send(&peer, &server.login, false);
    let session = (server.connect)(own)?;
    if is_all {
        send(&peer, input, true);
    }
    Ok((session, peer))
}

/// What a session that does not block makes of the input that comes in two pieces.
fn reply(server: &Server, input: &[u8], cut: usize, is_prepared: bool) -> Result<Reply, Error> {
    let (mut session, peer) = session(server, input, false)?;
    let mut operation = text();
    if is_prepared {
        send(&peer, &server.preparation, false);
        operation = execution(session.prepare("select ?")?);
    }
    session.set_blocking(false)?;
    session.send(&operation)?;
    let (first, second) = input.split_at(cut);
    send(&peer, first, second.is_empty());
    if let Some(reply) = session.receive()? {
        return Ok(reply);
    }
    assert!(!second.is_empty(), "a reply that has ended is awaited");
    send(&peer, second, true);
    session.receive()?.map_or_else(|| panic!("a reply that has ended is awaited"), Ok)
}

fn text() -> Operation {
    Operation { text: "select 1".into(), ..Operation::default() }
}

fn execution(number: usize) -> Operation {
    Operation { prepared: Some(number), parameters: vec![Parameter::Integer(7)], ..Operation::default() }
}

fn send(mut peer: &UnixStream, bytes: &[u8], is_last: bool) {
    let sent =
        peer.write_all(bytes).and_then(|()| if is_last { peer.shutdown(Shutdown::Write) } else { Ok(()) });
    // The client may have gone.
    assert!(sent.is_ok() || matches!(sent, Err(ref error) if error.kind() != io::ErrorKind::WouldBlock));
}

/// The reply, or the error's kind and text.
fn told(outcome: &Result<Reply, Error>) -> Result<Reply, String> {
    outcome.as_ref().map(|reply| *reply).map_err(|error| format!("{:?} {error}", error.kind()))
}

fn note<T>(stage: &str, outcome: &Result<T, Error>, marks: &mut Marks) {
    match outcome {
        Ok(_) => {
            marks.insert(format!("{stage}: done"));
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains(SECRET), "a password in {text}");
            // Servers' own texts differ without end.
            let own = ["Postgres: ", "MySQL: ", "MariaDB: ", "login method "];
            let end = own.iter().filter_map(|own| Some(text.find(own)? + own.len())).min();
            let text = shape(&text[..end.unwrap_or(text.len())]);
            marks.insert(format!("{stage}: {:?}: {text}", error.kind()));
        }
    }
}
