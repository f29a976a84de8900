//! The byte stream under a session.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

use super::address::{Address, Host};

/// A Unix socket or a TCP connection.
pub(super) enum Transport {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Transport {
    pub(super) fn connect(address: &Address) -> io::Result<Transport> {
        match &address.host {
            Host::Socket(folder) => {
                UnixStream::connect(folder.join(format!(".s.PGSQL.{}", address.port))).map(Transport::Unix)
            }
            Host::Tcp(name) => {
                let stream = TcpStream::connect((name.as_str(), address.port))?;
                // A request is one write; waiting to join it with a later one would only add delay.
                stream.set_nodelay(true)?;
                Ok(Transport::Tcp(stream))
            }
        }
    }

    pub(super) fn try_clone(&self) -> io::Result<Transport> {
        match self {
            Transport::Unix(stream) => stream.try_clone().map(Transport::Unix),
            Transport::Tcp(stream) => stream.try_clone().map(Transport::Tcp),
        }
    }

    pub(super) fn shutdown(&self) -> io::Result<()> {
        match self {
            Transport::Unix(stream) => stream.shutdown(Shutdown::Both),
            Transport::Tcp(stream) => stream.shutdown(Shutdown::Both),
        }
    }

    /// Whether the server runs on this host, so that its process ids mean something here.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Transport::Unix(_) => true,
            Transport::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
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
