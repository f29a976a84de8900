//! What a session costs above the least that any client can do: the client's CPU for one point select by a prepared
//! statement, against a loop that sends the same fixed bytes and scans the reply for its end.
//!
//!     cargo run --release -p basecase-client --example point_select_floor -- postgres://USER@%2FFOLDER/DATABASE
//!     cargo run --release -p basecase-client --example point_select_floor -- mysql://USER@%2FSOCKET/DATABASE
//!
//! The server must run, be reached by its Unix socket, and let the user in without a password. Blocks of executions
//! alternate between the two on one thread, each over a connection of its own; a ratio is taken of every pair of blocks.
#![expect(clippy::print_stdout, reason = "the figures go to the terminal")]

#[path = "floor/mod.rs"]
mod floor;

use basecase_client::{Endpoint, Session, mysql, postgres};
use basecase_model::Operation;
use floor::{Floor, Outcome};
use nix::time::{ClockId, clock_gettime};

const TABLE_ROWS: u32 = 1000;
const PAIRS: usize = 60;
const BLOCK_EXECUTIONS: u32 = 4000;

/// CPU time of this thread in nanoseconds.
fn thread_cpu_ns() -> Outcome<i64> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
    Ok(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

/// CPU time of this thread for one of many executions, in microseconds.
fn block_us(mut execute: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let before = thread_cpu_ns()?;
    for _ in 0..BLOCK_EXECUTIONS {
        execute()?;
    }
    Ok((thread_cpu_ns()? - before) as f64 / 1_000.0 / f64::from(BLOCK_EXECUTIONS))
}

/// Makes the table that both select from.
fn fill(session: &mut dyn Session) -> Outcome<()> {
    session.query("drop table if exists basecase_floor")?;
    session.query("create table basecase_floor (id int primary key, c char(120))")?;
    let rows: Vec<String> = (1..=TABLE_ROWS).map(|id| format!("({id}, 'row {id}')")).collect();
    session.query(&format!("insert into basecase_floor values {}", rows.join(", ")))?;
    Ok(())
}

/// Lower quartile, median and upper quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}

fn compare(session: &mut dyn Session, number: usize, floor: &mut Floor) -> Outcome<()> {
    let operation =
        Operation { prepared: Some(number), parameters: vec![500.into()], items: 1, ..Operation::default() };
    let mut floors = Vec::new();
    let mut sessions = Vec::new();
    for pair in 0..=PAIRS {
        let mut by_session = || {
            block_us(|| {
                let reply = session.execute(&operation)?;
                if reply.fetched == 1 { Ok(()) } else { Err("the point select found no row".into()) }
            })
        };
        let mut by_floor = || block_us(|| Ok(floor.execute()?));
        // The order turns round, so that neither always comes second.
        let (floor_us, session_us) = if pair % 2 == 0 {
            let floor_us = by_floor()?;
            (floor_us, by_session()?)
        } else {
            let session_us = by_session()?;
            (by_floor()?, session_us)
        };
        // The first pair warms caches up.
        if pair > 0 {
            floors.push(floor_us);
            sessions.push(session_us);
        }
    }
    let ratios = floors.iter().zip(&sessions).map(|(floor, session)| session / floor).collect();
    let show = |name: &str, values: Vec<f64>, unit: &str| {
        let [lower, median, upper] = quartiles(values);
        println!("{name:<8} {median:.3} {unit} (quartiles {lower:.3} to {upper:.3})");
    };
    println!("{PAIRS} pairs of blocks of {BLOCK_EXECUTIONS} executions; CPU of the client's thread");
    show("floor", floors, "µs per query");
    show("session", sessions, "µs per query");
    show("ratio", ratios, "");
    Ok(())
}

fn main() -> Outcome<()> {
    let url = std::env::args().nth(1).ok_or("give the URL of a server")?;
    let (endpoint, sql) = if url.starts_with("postgres") {
        let address = postgres::Address::from_url(&url)?;
        (Endpoint::Postgres(address), "select c from basecase_floor where id = $1")
    } else {
        (Endpoint::Mysql(mysql::Address::from_url(&url)?), "select c from basecase_floor where id = ?")
    };
    let mut session = endpoint.connect()?;
    fill(&mut *session)?;
    let number = session.prepare(sql)?;
    compare(&mut *session, number, &mut Floor::connect(&endpoint, sql)?)
}
