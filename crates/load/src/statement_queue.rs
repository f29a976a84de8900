//! A short queue of ready operations between the role that makes them and the role that executes them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use basecase_model::Operation;

/// The most operations that may wait. The reference has the same queue length; it bounds how far one role runs ahead of the other.
const QUEUED: usize = 8;
/// Operations in circulation: besides those that wait, one is being made and one is being executed.
const CIRCULATING: usize = QUEUED + 2;

/// A queued operation, with the instant at which the schedule meant it to start.
pub(crate) struct QueuedOperation {
    pub(crate) operation: Box<Operation>,
    pub(crate) intended: Option<Instant>,
}

/// The sending end, held by the role that makes operations.
pub(crate) struct Sender {
    ready: SyncSender<QueuedOperation>,
    free: Receiver<Box<Operation>>,
    /// Used operations that were taken back before they were needed.
    #[expect(clippy::vec_box, reason = "they circulate as boxes, and taking them out would copy them")]
    spare: Vec<Box<Operation>>,
}

/// The receiving end, held by the role that executes operations.
pub(crate) struct Consumer {
    ready: Receiver<QueuedOperation>,
    free: SyncSender<Box<Operation>>,
}

/// Creates a queue. Its operations circulate between both ends, so that their buffers are reused.
pub(crate) fn statement_queue() -> (Sender, Consumer) {
    let (ready_sender, ready) = sync_channel(QUEUED);
    let (free, free_receiver) = sync_channel(CIRCULATING);
    for _ in 0..CIRCULATING {
        // The channel has room for all of them.
        let _ = free.try_send(Box::default());
    }
    (Sender { ready: ready_sender, free: free_receiver, spare: Vec::new() }, Consumer { ready, free })
}

impl Sender {
    /// Sends `operation`, swapping in the buffers of a used one, and waits while the queue is full. Returns `false` when the other end is
    /// gone.
    pub(crate) fn send(&mut self, operation: &mut Operation, intended: Option<Instant>) -> bool {
        let Some(mut slot) = self.spare.pop().or_else(|| self.free.recv().ok()) else {
            return false;
        };
        std::mem::swap(&mut *slot, operation);
        self.ready.send(QueuedOperation { operation: slot, intended }).is_ok()
    }

    /// Waits until everything that was sent has been executed, or the other end is gone.
    pub(crate) fn drain(&mut self) {
        while self.spare.len() < CIRCULATING
            && let Ok(operation) = self.free.recv()
        {
            self.spare.push(operation);
        }
    }
}

impl Consumer {
    /// The next operation; `None` when the queue is empty and the other end is gone.
    pub(crate) fn next(&self) -> Option<QueuedOperation> {
        self.ready.recv().ok()
    }

    /// Gives an executed operation back.
    pub(crate) fn give_back(&self, operation: Box<Operation>) {
        // If the other end is gone, nobody needs it.
        let _ = self.free.try_send(operation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_side_runs_ahead_by_eight_and_what_is_in_hand() {
        let (mut sender, consumer) = statement_queue();
        let in_hand = {
            assert!(sender.send(&mut Operation::default(), None));
            consumer.next().unwrap()
        };
        for number in 0..QUEUED {
            let mut operation = Operation { items: number as u32, ..Operation::default() };
            assert!(sender.send(&mut operation, None));
        }
        // The queue is full now: a further send would wait.
        assert!(
            sender.ready.try_send(QueuedOperation { operation: Box::default(), intended: None }).is_err()
        );
        consumer.give_back(in_hand.operation);
        for number in 0..QUEUED {
            assert_eq!(consumer.next().unwrap().operation.items, number as u32);
        }
        drop(sender);
        assert!(consumer.next().is_none());
    }

    #[test]
    fn a_drained_queue_has_executed_everything_and_goes_on() {
        let (mut sender, consumer) = statement_queue();
        let executed = std::thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let mut executed = 0;
                while let Some(ticket) = consumer.next() {
                    executed += 1;
                    consumer.give_back(ticket.operation);
                }
                executed
            });
            for number in 0..100 {
                assert!(sender.send(&mut Operation::default(), None));
                if number % 7 == 0 {
                    sender.drain();
                    assert_eq!(sender.spare.len(), CIRCULATING);
                }
            }
            drop(sender);
            worker.join()
        });
        assert_eq!(executed.unwrap(), 100);
    }

    #[test]
    fn sending_ends_when_the_other_end_is_gone() {
        let (mut sender, consumer) = statement_queue();
        drop(consumer);
        assert!(!sender.send(&mut Operation::default(), None));
    }
}
