//! What all roles of a step see.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use basecase_workload::Flag;

use crate::schedule::Schedule;
use crate::turn_gate::TurnGate;

/// What all roles of a step see.
pub(crate) struct Shared {
    /// Set when the roles are let go.
    pub(crate) schedule: OnceLock<Schedule>,
    /// How many kinds of statements are counted apart.
    pub(crate) kinds: usize,
    /// Every role stops after its current operation.
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

    /// Stops every role and wakes those that wait for their schedule.
    pub(crate) fn stop(&self) {
        self.abort.store(true, Ordering::Release);
        if let Some(turns) = self.schedule.get().and_then(Schedule::turns) {
            turns.end();
        }
        let _guard = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        self.wake.notify_all();
    }

    /// How long the worker group's clock has stood still so far, of one that does a step to its end in turns.
    pub(crate) fn paused(&self) -> Duration {
        self.schedule.get().and_then(Schedule::portions).map_or(Duration::ZERO, TurnGate::paused)
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
