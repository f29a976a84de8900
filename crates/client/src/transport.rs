//! The byte stream under a session.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// A Unix socket or a TCP connection.
pub(crate) enum Transport {
    Unix(UnixStream, Waiting),
    Tcp(TcpStream),
}

/// How a read of a Unix socket waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// For the event that there is something to read, and then it reads. A thread that sleeps in `read` itself is also woken
    /// when the peer takes in what was sent (`unix_write_space` of the kernel), which costs half a context switch per reply.
    Polling,
    /// Not at all.
    Never,
}

impl Transport {
    /// Connects to the socket file at `path`.
    pub(crate) fn unix(path: &Path) -> io::Result<Transport> {
        UnixStream::connect(path).map(|stream| Transport::Unix(stream, Waiting::Polling))
    }

    /// Connects over TCP.
    pub(crate) fn tcp(host: &str, port: u16) -> io::Result<Transport> {
        let stream = TcpStream::connect((host, port))?;
        // A request is one write; waiting to join it with a later one would only add delay.
        stream.set_nodelay(true)?;
        Ok(Transport::Tcp(stream))
    }

    pub(crate) fn try_clone(&self) -> io::Result<Transport> {
        match self {
            Transport::Unix(stream, waiting) => {
                stream.try_clone().map(|stream| Transport::Unix(stream, *waiting))
            }
            Transport::Tcp(stream) => stream.try_clone().map(Transport::Tcp),
        }
    }

    pub(crate) fn set_blocking(&mut self, is_blocking: bool) -> io::Result<()> {
        match self {
            Transport::Unix(stream, waiting) => {
                *waiting = if is_blocking { Waiting::Polling } else { Waiting::Never };
                stream.set_nonblocking(!is_blocking)
            }
            Transport::Tcp(stream) => stream.set_nonblocking(!is_blocking),
        }
    }

    pub(crate) fn shutdown(&self) -> io::Result<()> {
        match self {
            Transport::Unix(stream, _) => stream.shutdown(Shutdown::Both),
            Transport::Tcp(stream) => stream.shutdown(Shutdown::Both),
        }
    }

    /// Whether the server runs on this host, so that its process ids mean something here.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Transport::Unix(..) => true,
            Transport::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Transport::Unix(stream, _) => stream.as_fd(),
            Transport::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Unix(stream, waiting) => {
                if *waiting == Waiting::Polling {
                    wait_for_input(stream)?;
                }
                stream.read(buffer)
            }
            Transport::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Unix(stream, _) => stream.write(bytes),
            Transport::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sleeps until there is something to read, or the end.
fn wait_for_input(stream: &UnixStream) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE) {
            // A signal ends it, whatever its handler's flags.
            Err(Errno::EINTR) => {}
            result => return result.map(drop).map_err(io::Error::from),
        }
    }
}
