//! Which way to drive many connections costs the client least: a thread for each, one for all of them, or two.
//!
//!     cargo run --release -p basecase-client --example engine_floor -- URL [CONNECTIONS]…
//!
//! The URL names a running server by its Unix socket, and a user who needs no password: as for `point_select_floor`. The
//! server must take twice as many connections, for it closes old ones while new ones come.
//!
//! Each way executes one point select on every connection as fast as it can, over a floor and over basecase's sessions;
//! `sysbench oltp_point_select` does the same where it is installed. Short blocks of all ways alternate, in an order that
//! turns round, and each ratio is taken within a round.
#![expect(clippy::print_stdout, reason = "the figures go to the terminal")]

#[path = "engine_floor/connection.rs"]
mod connection;
#[path = "engine_floor/engine.rs"]
mod engine;
#[path = "floor/mod.rs"]
mod floor;
#[path = "engine_floor/sysbench.rs"]
mod sysbench;

use basecase_client::{Endpoint, mysql, postgres};
use connection::Prepared;
use engine::{Block, epoll, threads};
use floor::{Floor, Outcome};

const ROUNDS: usize = 7;

/// A way to drive connections.
type Engine<'a> = (&'static str, Box<dyn Fn(usize) -> Outcome<Block> + 'a>);

/// Makes the table that sysbench selects from.
fn fill(endpoint: &Endpoint) -> Outcome<()> {
    let mut session = endpoint.connect()?;
    session.query("drop table if exists sbtest1")?;
    session.query("create table sbtest1 (id int primary key, k int, c char(120), pad char(60))")?;
    let filler = "0123456789-".repeat(10);
    let rows: Vec<String> = (1..=1000).map(|id| format!("({id}, {id}, '{filler}', '')")).collect();
    session.query(&format!("insert into sbtest1 values {}", rows.join(", ")))?;
    Ok(())
}

/// Lower quartile, median and upper quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}

/// Shows each way's cost and speed, and the cost against that of the first way in the same round.
fn show(connections: usize, engines: &[Engine<'_>], rounds: &[Vec<Block>]) {
    println!("{connections} connections, {ROUNDS} rounds: medians (quartiles)");
    for (at, (name, _)) in engines.iter().enumerate() {
        let spread =
            |value: &dyn Fn(&[Block]) -> f64| quartiles(rounds.iter().map(|round| value(round)).collect());
        let [_, cpu, _] = spread(&|round| round[at].cpu_us_per_query);
        let [_, rate, _] = spread(&|round| round[at].queries_per_second);
        let [lower, ratio, upper] = spread(&|round| round[at].cpu_us_per_query / round[0].cpu_us_per_query);
        let [_, speed, _] = spread(&|round| round[at].queries_per_second / round[0].queries_per_second);
        println!(
            "{name:<16} {cpu:6.2} µs, ratio {ratio:.2} ({lower:.2} to {upper:.2}); {rate:6.0} queries/s, ratio {speed:.2}"
        );
    }
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("give the URL of a server")?;
    let mut counts = arguments.map(|text| text.parse()).collect::<Result<Vec<usize>, _>>()?;
    if counts.is_empty() {
        counts = vec![1, 8, 40, 200, 1000];
    }
    let (endpoint, sql) = if url.starts_with("postgres") {
        (Endpoint::Postgres(postgres::Address::from_url(&url)?), "select c from sbtest1 where id = $1")
    } else {
        (Endpoint::Mysql(mysql::Address::from_url(&url)?), "select c from sbtest1 where id = ?")
    };
    fill(&endpoint)?;
    let endpoint = &endpoint;
    let mut engines: Vec<Engine<'_>> = vec![
        ("floor, threads", Box::new(move |count| threads::<Floor>(endpoint, sql, count))),
        ("floor, epoll", Box::new(move |count| epoll::<Floor>(endpoint, sql, count, 1))),
        ("session, threads", Box::new(move |count| threads::<Prepared>(endpoint, sql, count))),
        ("session, epoll", Box::new(move |count| epoll::<Prepared>(endpoint, sql, count, 1))),
        ("session, 2 epoll", Box::new(move |count| epoll::<Prepared>(endpoint, sql, count, 2))),
    ];
    if sysbench::is_installed() {
        engines.push(("sysbench", Box::new(move |count| sysbench::sysbench(endpoint, count))));
    } else {
        println!("sysbench is not installed, and is left out");
    }
    for connections in counts {
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let mut blocks = vec![None; engines.len()];
            for step in 0..engines.len() {
                let at = (step + round) % engines.len();
                blocks[at] = Some(engines[at].1(connections)?);
            }
            rounds.push(blocks.into_iter().flatten().collect());
        }
        show(connections, &engines, &rounds);
    }
    Ok(())
}
