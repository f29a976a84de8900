//! Where a MySQL or MariaDB server listens, and who logs in.

use std::io;
use std::time::Instant;

use crate::address::{AddressError, Host, Password, UrlForm};
use crate::connecting;
use crate::connection::Connection;

/// Where a MySQL or MariaDB server listens, and who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The host or socket.
    pub host: Host,
    /// The TCP port; unused for a socket.
    pub port: u16,
    /// The user who logs in.
    pub user: String,
    /// The user's password; empty if none is needed.
    pub password: Password,
    /// The database; empty for none.
    pub database: String,
}

const URL: UrlForm = UrlForm { dbms: "MySQL", schemes: ["mysql://", "mariadb://"], port: 3306, user: "root" };

impl Address {
    /// Reads `mysql://user:password@host:port/database` or the same with `mariadb://`. A host that begins with `/` (as
    /// `%2F…`) is the file of a socket.
    ///
    /// # Errors
    /// If the text is not such a URL, or has options after `?`, which are not supported.
    pub fn from_url(url: &str) -> Result<Address, AddressError> {
        let parts = URL.read(url)?;
        Ok(Address {
            host: parts.host,
            port: parts.port,
            user: parts.user,
            password: parts.password,
            database: parts.database,
        })
    }

    /// Connects, without logging in, until this instant.
    pub(super) fn connect(&self, until: Instant) -> io::Result<Connection> {
        match &self.host {
            Host::Socket(file) => connecting::unix(file, until),
            Host::Tcp(name) => connecting::tcp(name, self.port, until),
        }
    }

    /// The URL without its password, for messages.
    pub fn redacted(&self) -> String {
        match &self.host {
            Host::Socket(_) => format!("mysql://{}@{}/{}", self.user, self.host, self.database),
            Host::Tcp(_) => format!("mysql://{}@{}:{}/{}", self.user, self.host, self.port, self.database),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_urls() {
        let address = Address::from_url("mysql://me:p%40ss@db.example:3307/ib").unwrap();
        assert_eq!(address.host, Host::Tcp("db.example".into()));
        assert_eq!(address.password.reveal(), "p@ss");
        assert_eq!(address.redacted(), "mysql://me@db.example:3307/ib");
        let address = Address::from_url("mariadb://me:secret@%2Frun%2Fmysqld.sock/ib").unwrap();
        assert_eq!(address.host, Host::Socket("/run/mysqld.sock".into()));
        assert_eq!(address.redacted(), "mysql://me@/run/mysqld.sock/ib");
    }

    #[test]
    fn what_is_left_out_takes_the_usual_values() {
        let address = Address::from_url("mysql://[::1]").unwrap();
        assert_eq!(address.host, Host::Tcp("::1".into()));
        assert_eq!((address.port, address.user.as_str(), address.database.as_str()), (3306, "root", ""));
    }

    #[test]
    fn a_refusal_names_the_form_and_never_repeats_the_password() {
        for url in ["postgres://me:secret@h/d", "mysql://me:secret@h:port/d", "mysql://me:secret@h/d?ssl=1"] {
            let text = Address::from_url(url).unwrap_err().to_string();
            assert!(!text.contains("secret"), "{text}");
            assert!(text.contains("hint: write mysql://USER"), "{text}");
        }
    }
}
