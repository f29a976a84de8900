//! Breaks off waits that cannot check the wish to stop by themselves.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a wait may take to end by itself before it is broken off, as a step's operations usually do.
const GRACE: Duration = Duration::from_millis(300);
/// The interval at which waits that have begun meanwhile are broken off.
const AGAIN: Duration = Duration::from_millis(100);
/// How long waits may take in work that must be done in spite of the wish to stop. With the grace it is less than a second.
const LAST: Duration = Duration::from_millis(400);

/// The action that breaks off one wait.
struct Action {
    work: Box<dyn Fn() + Send>,
    /// Not before this time, if the wait is part of work done [`afterwards`].
    not_before: Option<Instant>,
}

#[derive(Default)]
struct Actions {
    next: u64,
    by_number: BTreeMap<u64, Action>,
}

static ACTIONS: LazyLock<Mutex<Actions>> = LazyLock::new(Mutex::default);

thread_local! {
    static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Keeps an [`on_stop`] action registered until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Registration(u64);

/// Runs `work` soon after the user wants to stop, and repeatedly until the registration is dropped. It breaks off another
/// thread's wait: it shuts down a socket, interrupts a library, or ends a child. It must not wait itself.
pub fn on_stop(work: impl Fn() + Send + 'static) -> Registration {
    let mut actions = ACTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let number = actions.next;
    actions.next += 1;
    actions.by_number.insert(number, Action { work: Box::new(work), not_before: grace() });
    Registration(number)
}

impl Drop for Registration {
    fn drop(&mut self) {
        ACTIONS.lock().unwrap_or_else(PoisonError::into_inner).by_number.remove(&self.0);
    }
}

/// Runs clean-up work although the user wants to stop. Its waits are broken off after less than half a second.
pub fn afterwards<T>(work: impl FnOnce() -> T) -> T {
    let before = UNTIL.replace(Some(Instant::now() + LAST));
    let done = work();
    UNTIL.set(before);
    done
}

/// Until when this thread may continue although the user wants to stop; `None` if it may not.
pub(crate) fn grace() -> Option<Instant> {
    UNTIL.get().filter(|until| Instant::now() < *until)
}

/// Breaks off waits from now on, for good.
pub(crate) fn break_off() -> ! {
    thread::sleep(GRACE);
    loop {
        let now = Instant::now();
        for action in ACTIONS.lock().unwrap_or_else(PoisonError::into_inner).by_number.values() {
            if action.not_before.is_none_or(|instant| now >= instant) {
                (action.work)();
            }
        }
        thread::sleep(AGAIN);
    }
}
