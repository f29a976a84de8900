//! Why an operation on an instance failed.

use std::io;
use std::path::PathBuf;

use basecase_process::{AccountError, ControlGroupError, FolderError, LockError};
use thiserror::Error;

use super::shortage::KilledForMemory;
use crate::check::NoServer;

/// The longest path of a socket that the kernel allows, in bytes, without the final NUL.
pub(crate) const SOCKET_PATH_LIMIT: usize = 107;

/// Why an operation on an instance failed.
#[derive(Debug, Error)]
pub enum InstanceError {
    /// The directory could be somebody else's, or cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The directory is in use.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The account for servers is missing, or cannot reach a folder.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// There is no control group for it.
    #[error(transparent)]
    ControlGroup(#[from] ControlGroupError),
    /// The dbms has no server.
    #[error(transparent)]
    NoServer(#[from] NoServer),
    /// The user wants to stop.
    #[error(transparent)]
    Stopped(#[from] basecase_stop::Stopped),
    /// The server refused a statement, or does not answer.
    #[error(transparent)]
    Session(#[from] basecase_client::Error),
    /// A file or folder of the instance could not be used.
    #[error("cannot use {}: {source}\nhint: check that this user may write there and that the disk is not full", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The directory's path is too long for a socket in it.
    #[error("the socket path {} has {length} bytes, but the kernel allows only {SOCKET_PATH_LIMIT}\nhint: choose a folder with a shorter path (--data)", path.display())]
    SocketPath {
        /// The socket.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// There is no data directory of this build's version.
    #[error("{} contains no data of {build}\nhint: initialise the instance first", directory.display())]
    NotInitialised {
        /// The instance's directory.
        directory: PathBuf,
        /// Dbms and version of the build.
        build: String,
    },
    /// The program that creates a data directory failed.
    #[error(
        "{program} of {build} could not create a data directory ({status}):\n{output}\nhint: if it names a setting, correct that in the config; otherwise run it by hand as an unprivileged user"
    )]
    Initialise {
        /// Dbms and version of the build.
        build: String,
        /// The program's name.
        program: String,
        /// How it ended.
        status: String,
        /// What it says.
        output: String,
    },
    /// The server program cannot be run.
    #[error("cannot run {}: {source}\nhint: check that the file is there and executable", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The server ended before it was ready.
    #[error("{build} ended before it was ready ({status}); its log ends:\n{log_tail}\nhint: the whole log is {}", log.display())]
    Died {
        /// Dbms and version of the build.
        build: String,
        /// How it ended.
        status: String,
        /// The last lines of its log.
        log_tail: String,
        /// The log.
        log: PathBuf,
    },
    /// The kernel killed the server, or the program that creates its data directory.
    #[error(transparent)]
    KilledForMemory(#[from] KilledForMemory),
    /// The server was not ready in time.
    #[error(
        "{build} was not ready within {seconds} s; its log ends:\n{log_tail}\nhint: recovery after a crash can take longer; allow more time"
    )]
    NotReady {
        /// Dbms and version of the build.
        build: String,
        /// How long it was given, in seconds.
        seconds: u64,
        /// The last lines of its log.
        log_tail: String,
    },
    /// A session's process left no counts.
    #[error("process {process} did not end, or left no counts in {}\nhint: see whether valgrind complains in the server's log, and whether the disk is full", folder.display())]
    NoCounts {
        /// The session's process number.
        process: u32,
        /// Where they should be.
        folder: PathBuf,
    },
    /// The server does not stop, whatever signal it gets.
    #[error("{build} does not stop (process {pid})\nhint: see its log, {}; it may be waiting for a disk", log.display())]
    Unstoppable {
        /// Dbms and version of the build.
        build: String,
        /// Its process number.
        pid: u32,
        /// Its log.
        log: PathBuf,
    },
}
