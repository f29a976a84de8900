//! One thread with many sessions, against a real server.
//!
//! Set `BASECASE_POSTGRES_URL` or `BASECASE_MYSQL_URL` to the URL of a user who may make tables in the database that it
//! names, and run `cargo test -p basecase-client --test one_thread -- --ignored`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use basecase_client::{Endpoint, Kind, Session, mysql, postgres};
use basecase_model::{Operation, Reply};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

const SESSIONS: usize = 40;
const ROUNDS: usize = 12;
const ROWS: usize = 10_000;
/// Longer than what a socket takes at once.
const LONG_BYTES: usize = 512 * 1024;

/// What a session does in a round, and what must come of it.
enum Step {
    Scan,
    Select,
    Insert,
    InsertAgain,
    Nonsense,
}

impl Step {
    fn of(session: usize, round: usize) -> Step {
        match (session + round) % 6 {
            0 => Step::Scan,
            1 | 2 => Step::Select,
            3 => Step::Insert,
            4 => Step::InsertAgain,
            _ => Step::Nonsense,
        }
    }

    /// The operation, with a key that no other session and round has.
    fn operation(&self, key: usize) -> Operation {
        let text = match self {
            Step::Scan => "select id, c from basecase_many where id <= 10000 order by id".to_owned(),
            Step::Select => {
                return Operation { prepared: Some(0), parameters: vec![7.into()], ..Operation::default() };
            }
            Step::Insert => {
                format!("insert into basecase_many values ({}, '{}')", ROWS + key, "x".repeat(LONG_BYTES))
            }
            Step::InsertAgain => "insert into basecase_many values (1, 'again')".to_owned(),
            Step::Nonsense => "select nonsense".to_owned(),
        };
        Operation { text, ..Operation::default() }
    }

    fn check(&self, outcome: Result<Reply, Kind>) {
        let expected = match self {
            Step::Scan => Ok(Reply { fetched: ROWS as u64, affected: 0, first: Some(1) }),
            Step::Select => {
                assert_eq!(outcome.map(|reply| reply.fetched), Ok(1));
                return;
            }
            Step::Insert => Ok(Reply { affected: 1, ..Reply::default() }),
            Step::InsertAgain => Err(Kind::Duplicate),
            Step::Nonsense => Err(Kind::Refused),
        };
        assert_eq!(outcome, expected);
    }
}

/// Registers the session's socket, or changes what it is waited on for.
fn watch(epoll: &Epoll, watched: &mut HashSet<usize>, at: usize, session: &dyn Session) {
    let mut flags = EpollFlags::EPOLLIN;
    flags.set(EpollFlags::EPOLLOUT, session.has_unsent());
    let mut event = EpollEvent::new(flags, at as u64);
    let socket = session.socket().unwrap();
    if watched.insert(at) {
        epoll.add(socket, event).unwrap();
    } else {
        epoll.modify(socket, &mut event).unwrap();
    }
}

fn drive(endpoint: &Endpoint, select: &str) {
    let mut control = endpoint.connect().unwrap();
    control.query("drop table if exists basecase_many").unwrap();
    let text = if matches!(endpoint, Endpoint::Postgres(_)) { "text" } else { "longtext" };
    control.query(&format!("create table basecase_many (id int primary key, c {text})")).unwrap();
    let rows: Vec<String> = (1..=ROWS).map(|id| format!("({id}, 'row {id}')")).collect();
    control.query(&format!("insert into basecase_many values {}", rows.join(", "))).unwrap();
    let mut sessions: Vec<Box<dyn Session>> = Vec::new();
    for _ in 0..SESSIONS {
        let mut session = endpoint.connect().unwrap();
        session.prepare(select).unwrap();
        session.set_blocking(false).unwrap();
        sessions.push(session);
    }
    let epoll = Epoll::new(EpollCreateFlags::empty()).unwrap();
    let (mut watched, mut rounds, mut left) = (HashSet::new(), [0; SESSIONS], SESSIONS);
    let mut had_unsent = 0;
    for (at, session) in sessions.iter_mut().enumerate() {
        session.send(&Step::of(at, 0).operation(at)).unwrap();
        had_unsent += usize::from(session.has_unsent());
        watch(&epoll, &mut watched, at, &**session);
    }
    let mut events = [EpollEvent::empty(); SESSIONS];
    while left > 0 {
        let ready = epoll.wait(&mut events, EpollTimeout::from(30_000_u16)).unwrap();
        assert!(ready > 0, "{left} sessions wait for ever");
        for event in &events[..ready] {
            let at = event.data() as usize;
            let session = &mut sessions[at];
            let outcome = match session.receive() {
                Ok(None) => {
                    watch(&epoll, &mut watched, at, &**session);
                    continue;
                }
                Ok(Some(reply)) => Ok(reply),
                Err(error) => Err(error.kind()),
            };
            Step::of(at, rounds[at]).check(outcome);
            rounds[at] += 1;
            if rounds[at] == ROUNDS {
                left -= 1;
            } else {
                session.send(&Step::of(at, rounds[at]).operation(SESSIONS * rounds[at] + at)).unwrap();
                had_unsent += usize::from(session.has_unsent());
                watch(&epoll, &mut watched, at, &**session);
            }
        }
    }
    assert!(had_unsent > 0, "no socket was full");
    for mut session in sessions {
        session.set_blocking(true).unwrap();
        let operation = Operation { prepared: Some(0), parameters: vec![8.into()], ..Operation::default() };
        assert_eq!(session.execute(&operation).unwrap().fetched, 1);
    }
    control.query("drop table basecase_many").unwrap();
}

#[test]
#[ignore = "needs a server"]
fn postgres_sessions() {
    let url = std::env::var("BASECASE_POSTGRES_URL").expect("BASECASE_POSTGRES_URL names the server");
    let endpoint = Endpoint::Postgres(postgres::Address::from_url(&url).unwrap());
    drive(&endpoint, "select c from basecase_many where id = $1");
}

#[test]
#[ignore = "needs a server"]
fn mysql_sessions() {
    let url = std::env::var("BASECASE_MYSQL_URL").expect("BASECASE_MYSQL_URL names the server");
    let endpoint = Endpoint::Mysql(mysql::Address::from_url(&url).unwrap());
    drive(&endpoint, "select c from basecase_many where id = ?");
}
