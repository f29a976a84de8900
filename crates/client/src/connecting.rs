//! How a session begins. Connecting and logging in have a time limit, and end when the user wants to stop.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use basecase_stop::{Direction, Stopped, check, pause, wait_ready};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt::socket_error,
};

use crate::connection::Connection;
use crate::error::Hinted;
use crate::{Error, Kind};

/// The default limit for a session to begin.
pub const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// The limit for the whole process, in milliseconds.
static PATIENCE_MS: AtomicU64 = AtomicU64::new(CONNECT_PATIENCE.as_millis() as u64);
/// The interval between attempts at a socket whose queue is full, and between checks of the resolver.
const RETRY_EVERY: Duration = Duration::from_millis(20);

/// Sets how long connecting and logging in together may take, for every session that this process opens from now on. The
/// default is [`CONNECT_PATIENCE`]. Statements have no limit.
pub fn set_connect_patience(patience: Duration) {
    let ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX).max(1);
    PATIENCE_MS.store(ms, Ordering::Relaxed);
}

fn patience() -> Duration {
    Duration::from_millis(PATIENCE_MS.load(Ordering::Relaxed))
}

/// The deadline for a session that starts to connect now.
fn deadline() -> Instant {
    let now = Instant::now();
    // Practically never.
    now.checked_add(patience()).unwrap_or(now + Duration::from_secs(1 << 30))
}

/// The server did not answer in time.
pub(crate) fn no_answer() -> io::Error {
    Hinted::of(
        io::ErrorKind::TimedOut,
        format!("the session did not begin within {} s", patience().as_secs_f64()),
        "check that the server listens there and is not overloaded, or allow more time with --connect-timeout",
    )
}

/// Connects to the server at `address` by `connect`, and logs in by `log_in`. Both share one deadline.
pub(crate) fn begin<T>(
    redacted: &str,
    connect: impl FnOnce(Instant) -> io::Result<Connection>,
    log_in: impl FnOnce(&mut Connection) -> Result<T, Error>,
) -> Result<(Connection, T), Error> {
    let until = deadline();
    let mut connection = connect(until).map_err(|error| {
        Error::new(Kind::Disconnected, format!("cannot connect to {redacted}: {error}")).with_hint(
            Hinted::hint(&error).unwrap_or("check that the server runs and that host and port are right"),
        )
    })?;
    let cannot = |error: Error| {
        error
            .while_trying(&format!("cannot log in to {redacted}"))
            .or_hint("check what listens there: it does not answer as such a server would")
    };
    let agreed = log_in(&mut connection).map_err(cannot)?;
    connection.set_blocking(true).map_err(|error| cannot(Error::of_waiting(error)))?;
    Ok((connection, agreed))
}

/// Connects to the socket file at `path`.
pub(crate) fn unix(path: &Path, until: Instant) -> io::Result<Connection> {
    let address = SocketAddrUnix::new(path)?;
    let socket = socket(AddressFamily::UNIX)?;
    loop {
        check()?;
        match connect(&socket, &address) {
            Ok(()) => return Ok(Connection::unix(UnixStream::from(socket), until)),
            // The server's queue is full at the moment.
            Err(Errno::AGAIN | Errno::INTR) if Instant::now() < until => pause(RETRY_EVERY),
            Err(Errno::AGAIN | Errno::INTR) => return Err(no_answer()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Uses a connection that exists already.
pub(crate) fn over(stream: UnixStream) -> impl FnOnce(Instant) -> io::Result<Connection> {
    move |until| {
        stream.set_nonblocking(true)?;
        Ok(Connection::unix(stream, until))
    }
}

/// Connects over TCP, to the first address of `host` that answers.
pub(crate) fn tcp(host: &str, port: u16, until: Instant) -> io::Result<Connection> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in resolve(host, port, until)? {
        check()?;
        match tcp_to(address, until) {
            Ok(stream) => {
                // Each request is one write, so waiting to merge it with a later one would only add delay.
                stream.set_nodelay(true)?;
                return Ok(Connection::tcp(stream, until));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn tcp_to(address: SocketAddr, until: Instant) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket(family)?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => {
            if !wait_ready(socket.as_fd(), Direction::Write, Some(until))? {
                return Err(no_answer());
            }
            socket_error(&socket)??;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(TcpStream::from(socket))
}

fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// The addresses of a host. The system's resolver has its own time limits and cannot be interrupted, so it runs in a thread.
fn resolve(host: &str, port: u16, until: Instant) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, found) = channel();
    let host = host.to_owned();
    thread::Builder::new().name("resolver".into()).spawn(move || {
        let addresses = (host.as_str(), port).to_socket_addrs().map(Vec::from_iter);
        // If it took too long, nobody is waiting any more.
        let _ = sender.send(addresses);
    })?;
    loop {
        match found.recv_timeout(RETRY_EVERY) {
            Ok(addresses) => return addresses,
            Err(RecvTimeoutError::Timeout) => check()?,
            Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::NotFound.into()),
        }
        if Instant::now() >= until {
            return Err(no_answer());
        }
    }
}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Self {
        Error::new(Kind::Disconnected, stopped.to_string())
    }
}
