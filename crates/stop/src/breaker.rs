//! What breaks off a wait that cannot look for itself.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long what is under way may take to end by itself before it is broken off: operations of a step usually do.
const GRACE: Duration = Duration::from_millis(300);
/// Whatever began meanwhile is broken off after so long, and so on.
const AGAIN: Duration = Duration::from_millis(100);
/// How long the waits may take of what has to be put right in the end. With the grace it is less than a second.
const LAST: Duration = Duration::from_millis(400);

/// What breaks off one wait.
struct Action {
    work: Box<dyn Fn() + Send>,
    /// Not before this, where it is part of what has to be put right in the end.
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

/// Keeps what [`on_stop`] was told in force until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Registration(u64);

/// Does `work` soon after the user wants to stop, and again and again until the registration is dropped. It breaks off a wait of another
/// thread: shuts a socket down, interrupts a library, ends a child. It must not wait itself.
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

/// Does what has to be put right although the user wants to stop. What it waits for is broken off after less than half a second.
pub fn afterwards<T>(work: impl FnOnce() -> T) -> T {
    let before = UNTIL.replace(Some(Instant::now() + LAST));
    let done = work();
    UNTIL.set(before);
    done
}

/// Until when this thread may go on although the user wants to stop; `None` when it may not.
pub(crate) fn grace() -> Option<Instant> {
    UNTIL.get().filter(|until| Instant::now() < *until)
}

/// Breaks off what waits, from now on and for good.
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
