//! What differs between dbms in the life of a server.

mod mysql;
mod postgres;

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use basecase_client::Endpoint;
use basecase_model::Dbms;
use basecase_process::ServerKind;
use basecase_stop::{Registration, on_stop};

use crate::instance::{Instance, InstanceError};

pub(crate) use mysql::{own_settings as mysql_own_settings, setting as mysql_setting};

/// What differs between dbms in the life of a server: one of Postgres, one of the family of MySQL.
pub(crate) trait Life: Sync {
    /// How a server that a dead owner left is known, and what stops any.
    fn kind(&self) -> ServerKind;

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
fn shut_down_on_stop(stream: &UnixStream) -> io::Result<Registration> {
    let handle = stream.try_clone()?;
    Ok(on_stop(move || {
        // Already closed is what is wanted.
        let _ = handle.shutdown(Shutdown::Both);
    }))
}

/// The life of servers of `dbms`. SQLite has none, and nothing asks for it.
pub(crate) fn of(dbms: Dbms) -> &'static dyn Life {
    match dbms {
        Dbms::Postgres | Dbms::Sqlite => &postgres::Postgres,
        Dbms::Mysql | Dbms::Mariadb => &mysql::Mysql,
    }
}

/// All kinds of servers that a dead owner may have left.
pub(crate) fn kinds() -> [ServerKind; 2] {
    [postgres::Postgres.kind(), mysql::Mysql.kind()]
}
