//! What addresses of all servers have in common: host, password, connection URL.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// A password. No message, log or debug output shows it.
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

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// Its Unix socket: the folder for Postgres, the file itself for MySQL and MariaDB.
    Socket(PathBuf),
    /// A host name or address.
    Tcp(String),
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Socket(path) => write!(formatter, "{}", path.display()),
            Host::Tcp(name) => formatter.write_str(name),
        }
    }
}

/// Why a connection URL was refused. It never repeats the URL, which may contain a password.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "the {dbms} URL {problem}\nhint: write {scheme}USER:PASSWORD@HOST:PORT/DATABASE, with special characters of each part as %XX, such as %40 for @ and %2F for /"
)]
pub struct AddressError {
    dbms: &'static str,
    scheme: &'static str,
    problem: String,
}

/// The connection URLs of one dbms.
pub(crate) struct UrlForm {
    /// The name of the dbms, for messages.
    pub(crate) dbms: &'static str,
    /// How such a URL begins; messages mention the first.
    pub(crate) schemes: [&'static str; 2],
    /// The default port.
    pub(crate) port: u16,
    /// The default user.
    pub(crate) user: &'static str,
}

/// What a connection URL says, with defaults for all but the database.
pub(crate) struct UrlParts {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Password,
    /// Empty if none is given.
    pub(crate) database: String,
}

impl UrlForm {
    /// Reads `scheme://user:password@host:port/database`. A host that begins with `/` (as `%2F…`) is a socket.
    pub(crate) fn read(&self, url: &str) -> Result<UrlParts, AddressError> {
        let refuse = |problem: &str| AddressError {
            dbms: self.dbms,
            scheme: self.schemes[0],
            problem: problem.to_owned(),
        };
        let rest = self
            .schemes
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme))
            .ok_or_else(|| refuse(&format!("does not begin with {}", self.schemes[0])))?;
        if let Some(problem) = ambiguity(rest) {
            return Err(refuse(problem));
        }
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.split_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| refuse("has a port that is not a number from 1 to 65535"))?)
            }
            _ => (place, self.port),
        };
        let part =
            |text, name| decode(text).ok_or_else(|| refuse(&format!("has a broken %XX in its {name}")));
        let host = part(host, "host")?;
        let user = part(user, "user")?;
        let database = part(database, "database")?;
        // The user name is shown in messages, so it must not contain what may have been meant as a password.
        if user.contains(':') {
            return Err(refuse("has a ':' in its user: what follows would be shown if it is the password"));
        }
        if [&host, &user, &database].iter().any(|part| part.contains(char::is_control)) {
            return Err(refuse("has a control character in its host, user or database"));
        }
        Ok(UrlParts {
            host: match host.as_str() {
                "" => Host::Tcp("localhost".into()),
                path if path.starts_with('/') => Host::Socket(path.into()),
                name => Host::Tcp(name.trim_start_matches('[').trim_end_matches(']').to_owned()),
            },
            port,
            user: if user.is_empty() { self.user.to_owned() } else { user },
            password: Password(part(password, "password")?),
            database,
        })
    }
}

/// Why the rest of the URL is ambiguous. Part of a password could otherwise be taken for something that messages show.
fn ambiguity(rest: &str) -> Option<&'static str> {
    let logins = rest.matches('@').count();
    let in_login = rest.split_once('@').map_or("", |(login, _)| login);
    Some(match () {
        () if rest.contains(|letter: char| letter.is_whitespace() || letter.is_control()) => {
            "has a blank or a control character"
        }
        () if rest.contains('#') => "has a '#' in it",
        () if logins > 1 => "has more than one '@'",
        () if in_login.contains(['/', '?']) => "has a '/' or a '?' before its '@'",
        () if rest.contains('?') => "has options after '?', which are not supported (nor is TLS)",
        () if rest.matches('/').count() > 1 => "has more than one '/' after its scheme",
        () => return None,
    })
}

/// Replaces `%XX` by its byte; `None` if a `%` is not followed by two hexadecimal digits, or the result is not UTF-8.
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
    fn escapes() {
        assert_eq!(decode("p%40ss%2f").as_deref(), Some("p@ss/"));
        for broken in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }

    const FORM: UrlForm = UrlForm { dbms: "Some", schemes: ["some://", "other://"], port: 1, user: "me" };

    #[test]
    fn defect_05_a_url_that_can_be_read_in_more_ways_than_one_is_refused() {
        for url in [
            "some://user:123/topsecret@host/db",
            "some://user:top@secret@host/db",
            "some://user:top#secret@host/db",
            "some://user:top?secret@host/db",
            "some://user:top secret@host/db",
            "some://user%3Atopsecret@host/db",
            "some://user:top/secret@",
            "some://host/topsecret/db",
            "some://host/db#topsecret",
            "some://us%0Aer:topsecret@host",
        ] {
            let error = FORM.read(url).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("hint: ") && !error.contains("secret"), "{url}: {error}");
        }
        let parts = FORM.read("some://user:a:b%40%2F%23%3F%20c@[::1]:7/db%2Fx").ok().unwrap();
        assert_eq!((parts.password.reveal(), parts.user.as_str(), parts.port), ("a:b@/#? c", "user", 7));
        assert_eq!((parts.host, parts.database.as_str()), (Host::Tcp("::1".into()), "db/x"));
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(format!("{:?}", Password::new("secret")), "***");
    }
}
