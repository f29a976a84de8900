//! Breaks off the waits of one session.

use std::sync::Arc;
use std::{fmt, io};

use basecase_stop::{Registration, on_stop};

use crate::Interrupter;
use crate::connection::Connection;

/// Breaks off its session's waits once the user wants to stop, or on request.
pub(crate) struct Breaker {
    work: Arc<dyn Fn() + Send + Sync>,
    _registration: Registration,
}

impl Breaker {
    pub(crate) fn new(work: impl Fn() + Send + Sync + 'static) -> Breaker {
        let work: Arc<dyn Fn() + Send + Sync> = Arc::new(work);
        let own = Arc::clone(&work);
        Breaker { work, _registration: on_stop(move || own()) }
    }

    /// A breaker for the session on this connection.
    pub(crate) fn over(connection: &Connection) -> io::Result<Breaker> {
        let handle = connection.try_clone()?;
        Ok(Breaker::new(move || {
            // It may be closed already.
            let _ = handle.shutdown();
        }))
    }

    pub(crate) fn interrupter(&self) -> Interrupter {
        let work = Arc::clone(&self.work);
        Box::new(move || work())
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Breaker")
    }
}
