//! The signals by which a user asks to stop.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::{breaker, ring};

/// Ctrl-C, the signal that stops services, and the terminal's hang-up.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

struct Wishes {
    /// Whether the user wants to stop.
    asked: Arc<AtomicBool>,
    /// Whether a signal ends the process at once, as it does if it is not caught.
    ends: Arc<AtomicBool>,
}

static WISHES: LazyLock<Wishes> =
    LazyLock::new(|| Wishes { asked: Arc::default(), ends: Arc::new(AtomicBool::new(true)) });

/// Whether the handlers are in place.
static IS_READY: Mutex<bool> = Mutex::new(false);

pub(crate) fn asked() -> &'static AtomicBool {
    &WISHES.asked
}

/// While this exists, signals are caught. Once it is dropped, they end the process again.
#[derive(Debug)]
#[must_use]
pub struct Catching(());

impl Drop for Catching {
    fn drop(&mut self) {
        WISHES.ends.store(true, Ordering::Relaxed);
    }
}

/// Makes the first SIGINT, SIGTERM or SIGHUP ask to stop, and any later one end the process at once, as it does if it is not
/// caught. Guards then end the servers.
///
/// # Errors
/// If the operating system refuses the signal handlers.
pub fn catch_signals() -> io::Result<Catching> {
    let mut is_ready = IS_READY.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_ready {
        install()?;
        *is_ready = true;
    }
    WISHES.ends.store(crate::is_asked(), Ordering::Relaxed);
    Ok(Catching(()))
}

fn install() -> io::Result<()> {
    let (mut wakes, wake) = UnixStream::pair()?;
    thread::Builder::new().name("stop".into()).spawn(move || {
        // The signal handler writes a byte.
        if wakes.read_exact(&mut [0]).is_ok() {
            ring();
            breaker::break_off();
        }
    })?;
    for signal in SIGNALS {
        // The order matters: only a signal after the first must end the process.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&WISHES.ends))?;
        signal_hook::flag::register(signal, Arc::clone(&WISHES.asked))?;
        signal_hook::flag::register(signal, Arc::clone(&WISHES.ends))?;
        signal_hook::low_level::pipe::register(signal, wake.try_clone()?)?;
    }
    Ok(())
}
