//! Detects that basecase itself was not running: a thread that sleeps for short intervals notices when it wakes too late.

use std::time::{Duration, Instant};

/// A thread that wakes this late was suspended, or had no processor.
const LATE: Duration = Duration::from_millis(10);
/// Missed time from which on it is reported and the slice does not count. Less than this is ordinary on busy machines.
pub(crate) const STOPPED: Duration = Duration::from_millis(500);

/// Tracks a thread's wake-ups by a clock that keeps running while the process is suspended.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    last: Instant,
    missed: Duration,
}

impl Heartbeat {
    /// Starts at `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Heartbeat { last: now, missed: Duration::ZERO }
    }

    /// Records that the thread runs at `now`, having planned to sleep at most `planned` since the last beat.
    pub(crate) fn beat(&mut self, now: Instant, planned: Duration) {
        let late = now.saturating_duration_since(self.last).saturating_sub(planned);
        if late >= LATE {
            self.missed += late;
        }
        self.last = now;
    }

    /// How long the thread did not run although it was due.
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
