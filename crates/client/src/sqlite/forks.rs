//! A process that forks: each of its children serves one session with SQLite. What a session costs to begin, which is a great deal under a
//! tool that translates the program, is spent once.
#![expect(unsafe_code, reason = "fork is unsafe, and so is telling the system to bury children")]

use std::ffi::OsString;
use std::io::{IoSlice, IoSliceMut, stdin};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{ForkResult, fork};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use super::process::{Meter, ProcessSession, rehearse, serve};
use super::{File, Library};
use crate::Error;

/// What keeps the work of `malloc` from depending on how the heap happens to lie, which was up to one per cent of a short statement: the C
/// library keeps all small blocks that are freed for the next one of their size (`glibc.malloc.tcache_count` of its manual).
const ALLOCATOR: [&str; 2] = ["GLIBC_TUNABLES", "glibc.malloc.tcache_count=65535"];

/// A file of SQLite, each session with which is a process of its own.
#[derive(Debug, Clone)]
pub struct ForkedFile {
    /// Whose children they are.
    pub sessions: Arc<ForkedSessions>,
    /// What they are with. The library is that of [`ForkedSessions`].
    pub file: File,
}

impl ForkedFile {
    pub(crate) fn connect(&self) -> Result<ProcessSession, Error> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| refused(&error))?;
        self.sessions.send(theirs)?;
        ProcessSession::begin(ours, &self.file)
    }
}

/// A program that serves sessions by [`serve_forked`]. It is ended when this is dropped.
#[derive(Debug)]
pub struct ForkedSessions {
    child: Child,
    /// Its standard input, through which it gets a socket for each session.
    sockets: UnixStream,
}

impl ForkedSessions {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(program: &Path, arguments: &[OsString]) -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            Error::refusal(
                format!("cannot run {}: {error}", program.display()),
                "check that it is there and executable",
            )
        };
        let (sockets, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(program);
        let [name, value] = ALLOCATOR;
        command
            .env(name, value)
            .args(arguments)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null());
        Ok(ForkedSessions { child: command.spawn().map_err(failed)?, sockets })
    }

    fn send(&self, socket: UnixStream) -> Result<(), Error> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        let sockets = [socket.as_fd()];
        message.push(SendAncillaryMessage::ScmRights(&sockets));
        let sent = sendmsg(&self.sockets, &[IoSlice::new(b"s")], &mut message, SendFlags::NOSIGNAL);
        sent.map(drop).map_err(|error| refused(&error.into()))
    }
}

impl Drop for ForkedSessions {
    /// It has nothing to save.
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn refused(error: &std::io::Error) -> Error {
    Error::refusal(
        format!("the process that serves sessions with SQLite: {error}"),
        "see what it wrote to standard error",
    )
}

/// Serves sessions with the library at `library`, each in a child of this process, whose standard input brings the sockets. Returns in
/// each child after its session with what `meter` made there, and in this process with `None` once no session can come.
///
/// Nothing but the calling thread may run.
///
/// # Errors
/// When the library cannot be loaded, standard input is not what [`ForkedSessions`] gives, or a session is broken.
pub fn serve_forked<M: Meter, E: From<std::io::Error> + From<Error>>(
    library: &Path,
    meter: impl FnOnce() -> Result<M, E>,
) -> Result<Option<M>, E> {
    let library = Library::load(library)
        .map_err(|error| Error::refusal(error.to_string(), "see whether the file changed"))?;
    rehearse(&library)?;
    let Some(socket) = next_socket()? else { return Ok(None) };
    let mut meter = meter()?;
    serve(&library, &socket, &mut meter)?;
    // The other end takes the end of the socket for that of this process, which has more to write.
    std::mem::forget(socket);
    Ok(Some(meter))
}

/// Forks for each socket that comes. Returns in the child with the socket, and in the parent at the end.
fn next_socket() -> std::io::Result<Option<UnixStream>> {
    // SAFETY: no handler is installed.
    unsafe { signal(Signal::SIGCHLD, SigHandler::SigIgn) }?;
    while let Some(socket) = received()? {
        // SAFETY: no other thread runs that could hold a lock.
        if let ForkResult::Child = unsafe { fork() }? {
            return Ok(Some(socket));
        }
    }
    Ok(None)
}

/// The next socket on standard input; `None` at its end.
fn received() -> std::io::Result<Option<UnixStream>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut letter = [0];
    let read =
        recvmsg(stdin().as_fd(), &mut [IoSliceMut::new(&mut letter)], &mut message, RecvFlags::CMSG_CLOEXEC)?;
    if read.bytes == 0 {
        return Ok(None);
    }
    let sockets = message.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    let socket = sockets.last().ok_or_else(|| std::io::Error::other("a session came without its socket"))?;
    Ok(Some(UnixStream::from(socket)))
}
