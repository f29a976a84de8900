//! A thread that does something again and again while something else goes on.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The thread. It ends when this is dropped.
pub(crate) struct Ticker(Option<(Sender<()>, JoinHandle<()>)>);

impl Ticker {
    /// Begins to call `tick`, with this time between two calls.
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
            // A thread that failed has nothing more to do.
            let _ = thread.join();
        }
    }
}
