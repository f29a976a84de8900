//! A thread that repeats a call at intervals.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The thread, which ends when this is dropped.
pub(crate) struct Ticker(Option<(Sender<()>, JoinHandle<()>)>);

impl Ticker {
    /// Starts to call `tick` at this interval.
    pub(crate) fn start(every: Duration, mut tick: impl FnMut() + Send + 'static) -> Ticker {
        let (sender, receiver) = channel();
        let thread = thread::spawn(move || {
            while receiver.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        });
        Ticker(Some((sender, thread)))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.0.take() {
            drop(sender);
            // If the thread panicked, there is nothing left to do.
            let _ = thread.join();
        }
    }
}
