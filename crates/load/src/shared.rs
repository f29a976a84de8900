//! State that all roles of a step share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use basecase_workload::Flag;

use crate::schedule::Schedule;
use crate::turn_gate::TurnGate;

/// State that all roles of a step share.
pub(crate) struct Shared {
    /// Set when the roles are started.
    pub(crate) schedule: OnceLock<Schedule>,
    /// Number of statement kinds that are counted separately.
    pub(crate) kinds: usize,
    /// Tells every role to stop after its current operation.
    abort: AtomicBool,
    /// Flags that roles raise for each other.
    flags: Vec<AtomicBool>,
    pause: Mutex<()>,
    wake: Condvar,
}

impl Shared {
    pub(crate) fn new(flags: usize, kinds: usize) -> Self {
        Shared {
            schedule: OnceLock::new(),
            kinds,
            abort: AtomicBool::new(false),
            flags: (0..flags).map(|_| AtomicBool::new(false)).collect(),
            pause: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Stops every role, and wakes those that wait for their schedule.
    pub(crate) fn stop(&self) {
        self.abort.store(true, Ordering::Release);
        if let Some(turns) = self.schedule.get().and_then(Schedule::turns) {
            turns.end();
        }
        let _guard = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        self.wake.notify_all();
    }

    /// How long the group's clock has stood still so far, if it runs a step to its end in chunks.
    pub(crate) fn paused(&self) -> Duration {
        self.schedule.get().and_then(Schedule::chunks).map_or(Duration::ZERO, TurnGate::paused)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }

    pub(crate) fn raise(&self, flag: Flag) {
        self.flags[flag.0].store(true, Ordering::Release);
    }

    pub(crate) fn is_raised(&self, flag: Flag) -> bool {
        self.flags[flag.0].load(Ordering::Acquire)
    }

    /// Waits until `instant`, or until the step is stopped.
    pub(crate) fn wait_until(&self, instant: Instant) {
        let mut guard = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = instant.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_stopped() {
                return;
            }
            guard = self.wake.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
