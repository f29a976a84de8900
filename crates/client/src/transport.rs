//! The byte stream under a session.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A Unix socket or a TCP connection.
pub(crate) enum Transport {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Transport {
    /// Connects to the socket file at `path`.
    pub(crate) fn unix(path: &Path) -> io::Result<Transport> {
        UnixStream::connect(path).map(Transport::Unix)
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
            Transport::Unix(stream) => stream.try_clone().map(Transport::Unix),
            Transport::Tcp(stream) => stream.try_clone().map(Transport::Tcp),
        }
    }

    pub(crate) fn set_blocking(&self, is_blocking: bool) -> io::Result<()> {
        match self {
            Transport::Unix(stream) => stream.set_nonblocking(!is_blocking),
            Transport::Tcp(stream) => stream.set_nonblocking(!is_blocking),
        }
    }

    pub(crate) fn shutdown(&self) -> io::Result<()> {
        match self {
            Transport::Unix(stream) => stream.shutdown(Shutdown::Both),
            Transport::Tcp(stream) => stream.shutdown(Shutdown::Both),
        }
    }

    /// Whether the server runs on this host, so that its process ids mean something here.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Transport::Unix(_) => true,
            Transport::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Transport::Unix(stream) => stream.as_fd(),
            Transport::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Unix(stream) => stream.read(buffer),
            Transport::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Unix(stream) => stream.write(bytes),
            Transport::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
