//! The thread that empties the kernel's buffers.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use super::family::Family;
use super::module::Modules;
use super::record::Occurrence;
use super::source::Source;
use super::tally::Tally;

/// The time between two rounds: short enough that a processor's buffer never holds more than a few samples.
const PAUSE: Duration = Duration::from_millis(20);

/// Empties the buffers and counts their samples.
pub(super) struct Reader {
    sources: Vec<Source>,
    tallies: Vec<Tally>,
    family: Family,
    /// Records that have been read but not counted, with the number of their source.
    waiting: Vec<(usize, Occurrence)>,
}

impl Reader {
    /// Of these sources.
    pub(super) fn new(sources: Vec<Source>, family: Family) -> Self {
        let tallies = sources.iter().map(|source| Tally::new(source.kind)).collect();
        Reader { sources, tallies, family, waiting: Vec::new() }
    }

    /// Reads until the other end of `stop` is dropped. Returns the counts, in the order of the sources.
    pub(super) fn run(mut self, stop: &Receiver<()>) -> (Vec<Tally>, Modules) {
        let mut before_ns = 0;
        while stop.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            let now_ns = now_ns();
            self.drain();
            // A thread may leave one processor and return on another, whose buffer was read earlier in this round. Records
            // older than the last round have been read from all buffers.
            self.count_until(before_ns);
            before_ns = now_ns;
        }
        let end_ns = now_ns();
        // An event that cannot be stopped keeps writing to a buffer that nobody reads.
        self.sources.iter_mut().for_each(|source| drop(source.stop()));
        self.drain();
        self.count_until(end_ns);
        self.tallies.iter_mut().for_each(|tally| tally.finish(end_ns));
        (self.tallies, self.family.into_modules())
    }

    fn drain(&mut self) {
        for (index, source) in self.sources.iter_mut().enumerate() {
            source.drain(|occurrence| self.waiting.push((index, occurrence)));
        }
    }

    fn count_until(&mut self, time_ns: u64) {
        self.waiting.sort_by_key(|(_, occurrence)| occurrence.time_ns);
        let due = self.waiting.partition_point(|(_, occurrence)| occurrence.time_ns <= time_ns);
        for (source, occurrence) in self.waiting.drain(..due) {
            self.family.note(occurrence.process, &occurrence.what);
            if let Some(tally) = self.tallies.get_mut(source) {
                tally.count(occurrence, &mut self.family);
            }
        }
    }
}

/// The monotonic clock, as the kernel stamps its records.
fn now_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map(|time| {
            u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000
                + u64::try_from(time.tv_nsec()).unwrap_or(0)
        })
        .unwrap_or(0)
}
