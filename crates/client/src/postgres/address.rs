//! Where a Postgres server listens, and who logs in.

use std::io;
use std::time::Instant;

use crate::address::{AddressError, Host, Password, UrlForm};
use crate::connecting;
use crate::connection::Connection;

/// Where a Postgres server listens, and who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The host or socket folder.
    pub host: Host,
    /// The TCP port, also part of the socket's name.
    pub port: u16,
    /// The role that logs in.
    pub user: String,
    /// The role's password; empty if none is needed.
    pub password: Password,
    /// The database.
    pub database: String,
}

const URL: UrlForm =
    UrlForm { dbms: "Postgres", schemes: ["postgres://", "postgresql://"], port: 5432, user: "postgres" };

impl Address {
    /// Reads `postgres://user:password@host:port/database`. A host that begins with `/` (as `%2F…`) is a socket folder.
    ///
    /// # Errors
    /// If the text is not such a URL, or has options after `?`, which are not supported.
    pub fn from_url(url: &str) -> Result<Address, AddressError> {
        let parts = URL.read(url)?;
        Ok(Address {
            host: parts.host,
            port: parts.port,
            password: parts.password,
            database: if parts.database.is_empty() { parts.user.clone() } else { parts.database },
            user: parts.user,
        })
    }

    /// Connects, without logging in, until this instant.
    pub(super) fn connect(&self, until: Instant) -> io::Result<Connection> {
        match &self.host {
            Host::Socket(folder) => connecting::unix(&folder.join(format!(".s.PGSQL.{}", self.port)), until),
            Host::Tcp(name) => connecting::tcp(name, self.port, until),
        }
    }

    /// The URL without its password, for messages.
    pub fn redacted(&self) -> String {
        format!("postgres://{}@{}:{}/{}", self.user, self.host, self.port, self.database)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_url() {
        let address = Address::from_url("postgres://me:p%40ss@db.example:5433/ib").unwrap();
        assert_eq!(address.host, Host::Tcp("db.example".into()));
        assert_eq!(address.port, 5433);
        assert_eq!(address.password.reveal(), "p@ss");
        assert_eq!(address.database, "ib");
        assert_eq!(address.redacted(), "postgres://me@db.example:5433/ib");
        assert!(!format!("{address:?}").contains("p@ss"));
    }

    #[test]
    fn what_is_left_out_takes_the_usual_values() {
        let address = Address::from_url("postgresql://").unwrap();
        assert_eq!(address.host, Host::Tcp("localhost".into()));
        assert_eq!(
            (address.port, address.user.as_str(), address.database.as_str()),
            (5432, "postgres", "postgres")
        );
        let address = Address::from_url("postgres://me@%2Frun%2Fpg/ib").unwrap();
        assert_eq!(address.host, Host::Socket("/run/pg".into()));
        let address = Address::from_url("postgres://me@[::1]:6000/ib").unwrap();
        assert_eq!(address.host, Host::Tcp("::1".into()));
    }

    #[test]
    fn a_refusal_never_repeats_the_password() {
        for url in [
            "mysql://me:secret@h/d",
            "postgres://me:secret@h:port/d",
            "postgres://me:secret%@h/d",
            "postgres://me:secret@h/d?sslmode=require",
        ] {
            let text = Address::from_url(url).unwrap_err().to_string();
            assert!(!text.contains("secret"), "{text}");
            assert!(text.contains("hint:"), "{text}");
        }
    }
}
