//! Where a Postgres server listens, and who logs in.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// A password, which no message, log or debug output shows.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Wraps a password.
    pub fn new(password: impl Into<String>) -> Self {
        Password(password.into())
    }

    /// The password itself, for the one place that sends or writes it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// How the server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// The folder of its Unix socket.
    Socket(PathBuf),
    /// A host name or address.
    Tcp(String),
}

/// Where a Postgres server listens, and who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// How the server is reached.
    pub host: Host,
    /// The TCP port, also part of the socket's name.
    pub port: u16,
    /// The role that logs in.
    pub user: String,
    /// Its password; empty when none is needed.
    pub password: Password,
    /// The database.
    pub database: String,
}

/// Why a connection URL was refused. Never repeats the URL, which may hold a password.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "the Postgres URL {problem}\nhint: write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password as %XX"
)]
pub struct AddressError {
    problem: &'static str,
}

impl Address {
    /// Reads `postgres://user:password@host:port/database`. A host that begins with `/` (as `%2F…`) is a socket folder.
    ///
    /// # Errors
    /// When the text is not such a URL; options after `?` are refused, for nothing here would obey them.
    pub fn from_url(url: &str) -> Result<Address, AddressError> {
        let refuse = |problem| AddressError { problem };
        let rest = url
            .strip_prefix("postgres://")
            .or_else(|| url.strip_prefix("postgresql://"))
            .ok_or(refuse("does not begin with postgres://"))?;
        if rest.contains('?') {
            return Err(refuse("has options after '?', which are not supported (TLS is not either)"));
        }
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| refuse("has a port that is not a number from 1 to 65535"))?)
            }
            _ => (place, 5432),
        };
        let host = decode(host).ok_or(refuse("has a broken %XX in its host"))?;
        let user = decode(user).ok_or(refuse("has a broken %XX in its user"))?;
        let database = decode(database).ok_or(refuse("has a broken %XX in its database"))?;
        let user = if user.is_empty() { "postgres".to_owned() } else { user };
        Ok(Address {
            host: match host.as_str() {
                "" => Host::Tcp("localhost".into()),
                path if path.starts_with('/') => Host::Socket(path.into()),
                name => Host::Tcp(name.trim_start_matches('[').trim_end_matches(']').to_owned()),
            },
            port,
            password: Password(decode(password).ok_or(refuse("has a broken %XX in its password"))?),
            database: if database.is_empty() { user.clone() } else { database },
            user,
        })
    }

    /// The URL without its password, for people.
    pub fn redacted(&self) -> String {
        let host = match &self.host {
            Host::Socket(folder) => folder.display().to_string(),
            Host::Tcp(name) => name.clone(),
        };
        format!("postgres://{}@{host}:{}/{}", self.user, self.port, self.database)
    }
}

/// Replaces `%XX` by its byte; `None` when a `%` is not followed by two hexadecimal digits or the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
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
