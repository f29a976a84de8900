//! Where a MySQL or MariaDB server listens, and who logs in.

use std::path::PathBuf;

use crate::postgres::Password;

/// How the server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// Its Unix socket.
    Socket(PathBuf),
    /// A host name or address.
    Tcp(String),
}

/// Where a MySQL or MariaDB server listens, and who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// How the server is reached.
    pub host: Host,
    /// The TCP port; of no meaning for a socket.
    pub port: u16,
    /// The user who logs in.
    pub user: String,
    /// Its password; empty when none is needed.
    pub password: Password,
    /// The database; empty for none.
    pub database: String,
}
