//! How connections are driven, and what that costs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use basecase_client::Endpoint;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::time::{ClockId, clock_gettime};

use crate::connection::Connection;
use crate::floor::Outcome;

/// What runs before the measured part of a block, so that every connection is at work.
const WARM_UP: Duration = Duration::from_millis(300);
/// The measured part of a block.
pub(crate) const BLOCK: Duration = Duration::from_millis(1_500);

/// Point selects of a block, and what they took.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) queries_per_second: f64,
    /// CPU time of the client's whole process.
    pub(crate) cpu_us_per_query: f64,
}

impl Block {
    pub(crate) fn new(queries: f64, seconds: f64, cpu_seconds: f64) -> Block {
        Block { queries_per_second: queries / seconds, cpu_us_per_query: cpu_seconds * 1e6 / queries }
    }
}

/// Queries that one thread has done; on a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add_one(&self) {
        // Only this thread writes it.
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

pub(crate) fn cpu_seconds(clock: ClockId) -> Outcome<f64> {
    let time = clock_gettime(clock)?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

/// Runs `work` in a thread for each share of the connections, and measures a part of it.
pub(crate) fn measure<C: Send>(
    shares: Vec<C>,
    work: impl Fn(C, &Count, &AtomicBool) -> Outcome<()> + Sync,
) -> Outcome<Block> {
    let counts: Vec<Count> = shares.iter().map(|_| Count::default()).collect();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let threads: Vec<_> = shares
            .into_iter()
            .zip(&counts)
            .map(|(share, count)| {
                let (work, stop) = (&work, &stop);
                scope.spawn(move || {
                    let outcome = work(share, count, stop);
                    // One that fails ends the block.
                    stop.store(true, Ordering::Relaxed);
                    outcome
                })
            })
            .collect();
        thread::sleep(WARM_UP);
        let queries = || counts.iter().map(|count| count.0.load(Ordering::Relaxed)).sum::<u64>();
        let (since, cpu_before, queries_before) =
            (Instant::now(), cpu_seconds(ClockId::CLOCK_PROCESS_CPUTIME_ID)?, queries());
        thread::sleep(BLOCK);
        let cpu = cpu_seconds(ClockId::CLOCK_PROCESS_CPUTIME_ID)? - cpu_before;
        let block = Block::new((queries() - queries_before) as f64, since.elapsed().as_secs_f64(), cpu);
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(block)
    })
}

pub(crate) fn connect<C: Connection>(endpoint: &Endpoint, sql: &str, connections: usize) -> Outcome<Vec<C>> {
    (0..connections).map(|_| C::connect(endpoint, sql)).collect()
}

/// A thread for each connection, which waits for each reply.
pub(crate) fn threads<C: Connection>(endpoint: &Endpoint, sql: &str, connections: usize) -> Outcome<Block> {
    measure(connect::<C>(endpoint, sql, connections)?, |mut connection, count, stop| {
        while !stop.load(Ordering::Relaxed) {
            connection.send()?;
            while !connection.receive()? {}
            count.add_one();
        }
        Ok(())
    })
}

/// So many threads, each of which waits for its share of the connections together.
pub(crate) fn epoll<C: Connection>(
    endpoint: &Endpoint,
    sql: &str,
    connections: usize,
    threads: usize,
) -> Outcome<Block> {
    let mut shares: Vec<Vec<C>> = (0..threads.min(connections)).map(|_| Vec::new()).collect();
    for (at, connection) in connect::<C>(endpoint, sql, connections)?.into_iter().enumerate() {
        let share = at % shares.len();
        shares[share].push(connection);
    }
    measure(shares, |mut share, count, stop| {
        let epoll = Epoll::new(EpollCreateFlags::empty())?;
        for (at, connection) in share.iter_mut().enumerate() {
            connection.set_blocking(false)?;
            epoll.add(connection.socket()?, EpollEvent::new(EpollFlags::EPOLLIN, at as u64))?;
            connection.send()?;
        }
        let mut events = vec![EpollEvent::empty(); share.len().min(256)];
        while !stop.load(Ordering::Relaxed) {
            let ready = epoll.wait(&mut events, EpollTimeout::from(100_u8))?;
            for event in &events[..ready] {
                let connection = &mut share[event.data() as usize];
                if connection.receive()? {
                    count.add_one();
                    connection.send()?;
                }
            }
        }
        Ok(())
    })
}
