//! Commits that are compiled while others are counted.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};

use basecase_builds::{CommitRequest, Library};

use crate::request::CandidateSpec;

/// Compiles commits that will probably be asked for, on a thread of its own. Counts do not mind other work on the machine; times do, so it
/// has to be finished before them.
#[derive(Debug)]
pub struct BuildAhead {
    orders: Sender<Vec<CommitRequest>>,
    thread: Option<JoinHandle<()>>,
}

impl BuildAhead {
    /// For builds in the home of this path.
    pub fn new(home: PathBuf) -> Self {
        let (orders, received) = mpsc::channel();
        let thread = thread::Builder::new().name("build ahead".into()).spawn(move || work(&home, &received));
        BuildAhead { orders, thread: thread.ok() }
    }

    /// Compiles these next, in place of what was ordered before and is not begun.
    pub fn order(&self, candidates: &[CandidateSpec]) {
        let commits = candidates.iter().filter_map(CandidateSpec::commit).cloned().collect();
        // If the thread is gone, commits are compiled when they are needed.
        let _ = self.orders.send(commits);
    }

    /// Waits until nothing is compiled any more.
    pub fn finish(self) {
        let BuildAhead { orders, thread } = self;
        drop(orders);
        // It reports nothing: a build that failed fails again where it is needed.
        thread.map(JoinHandle::join);
    }
}

fn work(home: &PathBuf, orders: &Receiver<Vec<CommitRequest>>) {
    let mut queue = Vec::new();
    loop {
        let next = if queue.is_empty() { orders.recv().map_err(|_| TryRecvError::Disconnected) } else { orders.try_recv() };
        match next {
            Ok(newer) => queue = newer,
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return,
        }
        if basecase_stop::is_asked() {
            return;
        }
        if !queue.is_empty() {
            let commit = queue.remove(0);
            let _ = Library::open(home).and_then(|library| library.attempt(&commit, &mut |_| ()));
        }
    }
}
