//! The user's wish to stop, and how everything that waits obeys it.
//!
//! There is one wish for the whole process. [`catch_signals`] turns the first SIGINT, SIGTERM or SIGHUP into it, and lets
//! the second end the process at once. Code that runs calls [`is_asked`] or [`check`] now and then. Code that can choose how
//! to wait uses [`pause`] or [`wait_ready`]. Code that will block in the kernel or in a library, such as a session that
//! waits for its reply, registers with [`on_stop`] what will break the wait off. So waiting costs nothing while nobody wants
//! to stop.

mod breaker;
mod ready;
mod signals;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

pub use breaker::{Registration, afterwards, on_stop};
pub use ready::{Direction, wait_ready};
pub use signals::{Catching, catch_signals};

/// The user wants to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("interrupted")
    }
}

impl std::error::Error for Stopped {}

impl From<Stopped> for io::Error {
    /// Not [`io::ErrorKind::Interrupted`], because callers retry after that.
    fn from(stopped: Stopped) -> Self {
        io::Error::other(stopped)
    }
}

/// Wakes threads in [`pause`].
struct Bell {
    lock: Mutex<()>,
    rings: Condvar,
}

static BELL: LazyLock<Bell> = LazyLock::new(|| Bell { lock: Mutex::new(()), rings: Condvar::new() });

/// The wish itself, for code that checks it now and then.
pub fn flag() -> &'static AtomicBool {
    signals::asked()
}

/// Whether the user wants to stop.
pub fn is_asked() -> bool {
    flag().load(Ordering::Relaxed)
}

/// Fails once the user wants to stop, unless the work is done [`afterwards`]. Called before anything that takes time.
///
/// # Errors
/// If the user wants to stop.
pub fn check() -> Result<(), Stopped> {
    if is_asked() && breaker::grace().is_none() { Err(Stopped) } else { Ok(()) }
}

/// Sleeps for `time`, or until the user wants to stop.
pub fn pause(time: Duration) {
    let until = Instant::now() + time;
    let mut guard = BELL.lock.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || is_asked() {
            return;
        }
        guard = BELL.rings.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Wakes all threads in [`pause`]. The wish has been set before.
fn ring() {
    let _guard = BELL.lock.lock().unwrap_or_else(PoisonError::into_inner);
    BELL.rings.notify_all();
}
