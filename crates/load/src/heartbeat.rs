//! Whether basecase itself ran all the time: a thread that sleeps for short whiles sees when it wakes too late.

use std::time::{Duration, Instant};

/// A thread that wakes so much too late was suspended, or had no processor.
const LATE: Duration = Duration::from_millis(10);
/// Time that nobody ran from which on it is told, and a slice does not count: less of it is the luck of busy machines.
pub(crate) const STOPPED: Duration = Duration::from_millis(500);

/// The beats of a thread, by a clock that goes on while the process is suspended.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    last: Instant,
    missed: Duration,
}

impl Heartbeat {
    /// Begins at an instant.
    pub(crate) fn new(now: Instant) -> Self {
        Heartbeat { last: now, missed: Duration::ZERO }
    }

    /// Takes in that the thread runs at `now`, and wanted to sleep for so long at most since the last beat.
    pub(crate) fn beat(&mut self, now: Instant, planned: Duration) {
        let late = now.saturating_duration_since(self.last).saturating_sub(planned);
        if late >= LATE {
            self.missed += late;
        }
        self.last = now;
    }

    /// How long it did not run though it wanted to.
    pub(crate) fn missed(&self) -> Duration {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_18_time_in_which_a_thread_did_not_wake_is_missed() {
        let (start, planned) = (Instant::now(), Duration::from_millis(50));
        let mut heartbeat = Heartbeat::new(start);
        let mut at = |ms| {
            heartbeat.beat(start + Duration::from_millis(ms), planned);
            heartbeat.missed().as_millis()
        };
        assert_eq!([50, 60, 119].map(&mut at), [0, 0, 0], "early, and as late as threads are");
        assert_eq!([5_169, 5_219].map(&mut at), [5_000, 5_000]);
        assert_eq!(at(5_369), 5_100, "starved a little");
    }
}
