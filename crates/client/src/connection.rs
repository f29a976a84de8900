//! The byte stream under a session.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use basecase_stop::{Direction, wait_ready};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::connecting::no_answer;

/// A Unix socket or a TCP connection, and how to wait for it.
pub(crate) struct Connection {
    stream: Stream,
    waiting: Waiting,
}

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// How reads and writes wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// Until this instant, or until the user wants to stop: while the session begins.
    Until(Instant),
    /// As long as it takes; shutting the stream down ends the wait. On a Unix socket, it polls for input and then reads: a
    /// thread that sleeps in `read` itself is also woken when the peer reads what was sent (`unix_write_space` in the
    /// kernel), which costs half a context switch per reply.
    Blocking,
    /// Not at all.
    Never,
}

impl Connection {
    /// Takes over a connected non-blocking socket, for a session that must begin by `until`.
    pub(crate) fn unix(stream: UnixStream, until: Instant) -> Connection {
        Connection { stream: Stream::Unix(stream), waiting: Waiting::Until(until) }
    }

    /// The same for a TCP connection.
    pub(crate) fn tcp(stream: TcpStream, until: Instant) -> Connection {
        Connection { stream: Stream::Tcp(stream), waiting: Waiting::Until(until) }
    }

    pub(crate) fn try_clone(&self) -> io::Result<Connection> {
        let stream = match &self.stream {
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
        };
        Ok(Connection { stream, waiting: self.waiting })
    }

    pub(crate) fn set_blocking(&mut self, is_blocking: bool) -> io::Result<()> {
        self.waiting = if is_blocking { Waiting::Blocking } else { Waiting::Never };
        match &self.stream {
            Stream::Unix(stream) => stream.set_nonblocking(!is_blocking),
            Stream::Tcp(stream) => stream.set_nonblocking(!is_blocking),
        }
    }

    pub(crate) fn shutdown(&self) -> io::Result<()> {
        match &self.stream {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
        }
    }

    /// Whether the server runs on this host, so that its process ids mean something here.
    pub(crate) fn is_local(&self) -> bool {
        match &self.stream {
            Stream::Unix(_) => true,
            Stream::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
        }
    }

    /// Reads or writes by `work`, and waits for that at most until the session must have begun.
    fn until(
        &self,
        until: Instant,
        direction: Direction,
        mut work: impl FnMut(&Stream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            // Also where a server sends without end, so that there is always something to read.
            if !wait_ready(self.as_fd(), direction, Some(until))? || Instant::now() >= until {
                return Err(no_answer());
            }
            match work(&self.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match (&self.stream, self.waiting) {
            (_, Waiting::Until(until)) => self.until(until, Direction::Read, |stream| match stream {
                Stream::Unix(stream) => (&*stream).read(buffer),
                Stream::Tcp(stream) => (&*stream).read(buffer),
            }),
            (Stream::Unix(stream), waiting) => {
                if waiting == Waiting::Blocking {
                    wait_for_input(stream)?;
                }
                (&*stream).read(buffer)
            }
            (Stream::Tcp(stream), _) => (&*stream).read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match (&self.stream, self.waiting) {
            (_, Waiting::Until(until)) => self.until(until, Direction::Write, |stream| match stream {
                Stream::Unix(stream) => (&*stream).write(bytes),
                Stream::Tcp(stream) => (&*stream).write(bytes),
            }),
            (Stream::Unix(stream), _) => (&*stream).write(bytes),
            (Stream::Tcp(stream), _) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sleeps until there is something to read, or the end of the stream.
fn wait_for_input(stream: &UnixStream) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE) {
            // A signal interrupts `poll`, whatever its handler's flags.
            Err(Errno::EINTR) => {}
            result => return result.map(drop).map_err(io::Error::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_did_not_begin_in_time_reads_nothing_more() {
        let (here, mut there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        there.write_all(b"there is always something to read").unwrap();
        let now = Instant::now();
        let mut late = Connection::unix(here.try_clone().unwrap(), now);
        assert_eq!(late.read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::TimedOut);
        let mut in_time = Connection::unix(here, now + std::time::Duration::from_secs(60));
        assert_eq!(in_time.read(&mut [0; 8]).unwrap(), 8);
    }
}
