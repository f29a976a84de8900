//! Waits for files and sockets that notice the wish to stop by themselves.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often a wait checks whether the user wants to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// What to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// There is something to read, or the end of input.
    Read,
    /// A pipe takes a page, or a socket takes something; or a connection is established or has failed.
    Write,
}

/// Waits until `file` is ready, at most until `until`, and returns whether it is.
///
/// # Errors
/// If the user wants to stop while it is not ready, or the operating system refuses to wait.
pub fn wait_ready(file: BorrowedFd<'_>, direction: Direction, until: Option<Instant>) -> io::Result<bool> {
    let flags = match direction {
        Direction::Read => PollFlags::IN,
        Direction::Write => PollFlags::OUT,
    };
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let time = left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL);
        let time = Timespec::try_from(time).map_err(io::Error::other)?;
        match poll(&mut [PollFd::from_borrowed_fd(file, flags)], Some(&time)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        crate::check()?;
        if left.is_some_and(|left| left <= POLL_INTERVAL)
            && until.is_some_and(|until| Instant::now() >= until)
        {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_wait_ends_when_there_is_something_or_its_time_is_over() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let until = Some(Instant::now() + Duration::from_millis(20));
        assert!(!wait_ready(here.as_fd(), Direction::Read, until).unwrap());
        assert!(wait_ready(here.as_fd(), Direction::Write, None).unwrap());
        there.write_all(b"x").unwrap();
        assert!(wait_ready(here.as_fd(), Direction::Read, until).unwrap(), "also when there is no time left");
    }
}
