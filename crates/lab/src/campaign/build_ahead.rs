//! Builds that are got or compiled while others are counted.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use basecase_builds::{Attempt, BuildRequest, Library};

use crate::request::CandidateSpec;

/// Gets and compiles what will probably be asked for, on a thread of its own. Counts do not mind other work on the machine; times do, so it
/// has to be finished before them.
#[derive(Debug)]
pub struct BuildAhead {
    orders: Sender<Vec<BuildRequest>>,
    made: Arc<Mutex<BTreeSet<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl BuildAhead {
    /// For builds in the home of this path.
    pub fn new(home: PathBuf) -> Self {
        let (orders, received) = mpsc::channel();
        let made = Arc::default();
        let worker = Worker { home, orders: received, made: Arc::clone(&made) };
        let thread = thread::Builder::new().name("build ahead".into()).spawn(move || worker.work());
        BuildAhead { orders, made, thread: thread.ok() }
    }

    /// Prepares these next, in place of what was ordered before and is not begun.
    pub fn order(&self, candidates: &[CandidateSpec]) {
        let builds = candidates.iter().filter_map(CandidateSpec::build).cloned().collect();
        // If the thread is gone, they are got and compiled when they are needed.
        let _ = self.orders.send(builds);
    }

    /// Whether it compiled the commit with this hash.
    pub fn has_made(&self, commit: &str) -> bool {
        self.made.lock().is_ok_and(|made| made.contains(commit))
    }

    /// Waits until nothing is compiled any more.
    pub fn finish(self) {
        let BuildAhead { orders, thread, .. } = self;
        drop(orders);
        // It reports nothing: a build that failed fails again where it is needed.
        thread.map(JoinHandle::join);
    }
}

/// What the thread has.
struct Worker {
    home: PathBuf,
    orders: Receiver<Vec<BuildRequest>>,
    /// Hashes of the commits that it compiled.
    made: Arc<Mutex<BTreeSet<String>>>,
}

impl Worker {
    fn work(self) {
        let mut queue = Vec::new();
        loop {
            let next = if queue.is_empty() {
                self.orders.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                self.orders.try_recv()
            };
            match next {
                Ok(newer) => queue = newer,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            }
            if basecase_stop::is_asked() {
                return;
            }
            if !queue.is_empty() {
                self.prepare(&queue.remove(0));
            }
        }
    }

    fn prepare(&self, build: &BuildRequest) {
        // A failure is told where the build is needed.
        let Ok(library) = Library::open(&self.home) else { return };
        if let BuildRequest::Commit(commit) = build {
            if matches!(library.attempt(commit, &mut |_| ()), Ok(Attempt::Built { is_new: true, .. }))
                && let Ok(mut made) = self.made.lock()
            {
                made.insert(commit.commit.clone());
            }
        } else if let Ok(sources) = library.resolve(std::slice::from_ref(build)) {
            let _ = library.obtain_all(&sources, &mut |_| ());
        }
    }
}
