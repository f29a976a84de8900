//! What an instance needs to know of its dbms.

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

/// What an instance needs to know of its dbms. Postgres has one, MySQL and MariaDB share one.
pub(crate) trait Adapter: std::fmt::Debug + Sync {
    /// How a server that a dead owner left is known, and what stops any.
    fn kind(&self) -> ServerKind;

    /// How the clients of published results reach the dbms.
    fn published_transport(&self) -> Transport;

    /// Asks a build whether it would start with a config, and lacks nothing that it is to be used with.
    ///
    /// # Errors
    /// When the server cannot be asked, or the build lacks the engine.
    fn ask(&self, question: &Question<'_>) -> Result<Answer, CheckError>;

    /// Name of the config file in the instance's directory.
    fn config_file(&self) -> &'static str;

    /// Name of the socket in its folder.
    fn socket_file(&self, port: u16) -> String;

    /// The whole text of the config file: the config, then what basecase's own work depends on.
    fn configuration(&self, instance: &Instance) -> String;

    /// The command that makes a new data directory with the config in the empty folder `data`.
    ///
    /// # Errors
    /// When a file that the command needs cannot be read or written.
    fn initialise(&self, instance: &Instance) -> Result<Command, InstanceError>;

    /// The command that serves the data directory with the config.
    fn serve(&self, instance: &Instance) -> Command;

    /// Whether the server behind `socket` takes sessions: one that still recovers does not.
    ///
    /// # Errors
    /// When nobody listens, or the answer is cut short.
    fn accepts_sessions(&self, socket: &Path) -> io::Result<bool>;

    /// Whether a server that has ended says in its log that its port was taken.
    fn is_port_taken(&self, log: &str) -> bool;

    /// Where the instance's `database` is reached as [`crate::SUPERUSER`]; with an empty name, none or the one that is always there.
    fn endpoint(&self, instance: &Instance, database: &str) -> Endpoint;
}

/// Lets nobody wait at a socket once the user wants to stop.
pub(crate) fn shut_down_on_stop(stream: &UnixStream) -> io::Result<Registration> {
    let handle = stream.try_clone()?;
    Ok(on_stop(move || {
        // Already closed is what is wanted.
        let _ = handle.shutdown(Shutdown::Both);
    }))
}
