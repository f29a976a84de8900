//! What an instance needs to know about its dbms.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use basecase_client::Endpoint;
use basecase_process::ServerKind;
use basecase_stop::{Registration, on_stop};

use crate::check::{Answer, CheckError, Question};
use crate::instance::{Instance, InstanceError, Transport};

/// What an instance needs to know about its dbms. Postgres has one, MySQL and MariaDB share one.
pub(crate) trait Adapter: std::fmt::Debug + Sync {
    /// How to recognise a server that a dead owner left, and how to stop a server.
    fn kind(&self) -> ServerKind;

    /// How the clients of published results connect to the dbms.
    fn published_transport(&self) -> Transport;

    /// Checks whether a build would start with a config, and has what it is to be used with.
    ///
    /// # Errors
    /// If the server cannot be asked, or the build lacks the engine.
    fn ask(&self, question: &Question<'_>) -> Result<Answer, CheckError>;

    /// Name of the config file in the instance's directory.
    fn config_file(&self) -> &'static str;

    /// Name of the socket in its folder.
    fn socket_file(&self, port: u16) -> String;

    /// The full text of the config file: the config, then the settings that basecase depends on.
    fn configuration(&self, instance: &Instance) -> String;

    /// The command that creates a data directory with the config in the empty folder `data`.
    ///
    /// # Errors
    /// If a file that the command needs cannot be read or written.
    fn initialise(&self, instance: &Instance) -> Result<Command, InstanceError>;

    /// The command that serves the data directory with the config.
    fn serve(&self, instance: &Instance) -> Command;

    /// Whether the server behind `socket` accepts sessions; it does not while it recovers.
    ///
    /// # Errors
    /// If nobody listens, or the answer is truncated.
    fn accepts_sessions(&self, socket: &Path) -> io::Result<bool>;

    /// Whether the log of a server that has ended says that its port was in use.
    fn is_port_taken(&self, log: &str) -> bool;

    /// The endpoint of the instance's `database`, as [`crate::SUPERUSER`]. An empty name means no database, or the one that
    /// always exists.
    fn endpoint(&self, instance: &Instance, database: &str) -> Endpoint;
}

/// Shuts the socket down once the user wants to stop, so that nobody waits for it.
pub(crate) fn shut_down_on_stop(stream: &UnixStream) -> io::Result<Registration> {
    let handle = stream.try_clone()?;
    Ok(on_stop(move || {
        // It may be closed already.
        let _ = handle.shutdown(Shutdown::Both);
    }))
}
