//! Candidates as the user names them: a build, and after `@` a config.

use std::fmt;
use std::str::FromStr;

use basecase_client::postgres::{Address, AddressError};
use basecase_model::Dbms;
use basecase_server::{BuildRequest, RecipeError};
use thiserror::Error;

/// Where the dbms of a candidate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A build that basecase starts.
    Build(BuildRequest),
    /// SQLite, embedded in basecase.
    Embedded,
    /// A server that basecase must neither start nor stop.
    Url(Address),
}

/// A candidate as the user named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateSpec {
    /// Where the dbms comes from.
    pub origin: Origin,
    /// Name or file of the config; the dbms's default when none is given.
    pub config: Option<String>,
}

/// Why a candidate's name was refused.
#[derive(Debug, Error)]
pub enum CandidateError {
    /// The build part names nothing that basecase knows.
    #[error(transparent)]
    Build(#[from] RecipeError),
    /// The URL cannot be read.
    #[error(transparent)]
    Url(#[from] AddressError),
    /// A URL without the word that says so. The text is not repeated, for it may hold a password.
    #[error(
        "a candidate that is a URL begins with url:\nhint: write url:postgres://USER:PASSWORD@HOST:PORT/DATABASE"
    )]
    BareUrl,
    /// The config part is empty.
    #[error(
        "candidate {0:?} has nothing after '@'\nhint: name a config or a file, as in postgres:18.6@x10b, or leave '@' away"
    )]
    EmptyConfig(String),
}

impl CandidateSpec {
    /// The dbms.
    pub fn dbms(&self) -> Dbms {
        match &self.origin {
            Origin::Build(BuildRequest::Version { dbms, .. }) => *dbms,
            Origin::Build(BuildRequest::Path(_)) | Origin::Url(_) => Dbms::Postgres,
            Origin::Embedded => Dbms::Sqlite,
        }
    }
}

impl FromStr for CandidateSpec {
    type Err = CandidateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A URL has an `@` of its own, and a server that is not started gets no config.
        if let Some(url) = text.strip_prefix("url:") {
            return Ok(CandidateSpec { origin: Origin::Url(Address::from_url(url)?), config: None });
        }
        if text.contains("://") {
            return Err(CandidateError::BareUrl);
        }
        let (build, config) = match text.rsplit_once('@') {
            Some((_, "")) => return Err(CandidateError::EmptyConfig(text.to_owned())),
            Some((build, config)) => (build, Some(config.to_owned())),
            None => (text, None),
        };
        let origin =
            if build == Dbms::Sqlite.as_str() { Origin::Embedded } else { Origin::Build(build.parse()?) };
        Ok(CandidateSpec { origin, config })
    }
}

impl fmt::Display for CandidateSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Build(request) => write!(formatter, "{request}")?,
            Origin::Embedded => write!(formatter, "{}", Dbms::Sqlite)?,
            Origin::Url(address) => write!(formatter, "url:{}", address.redacted())?,
        }
        self.config.as_ref().map_or(Ok(()), |config| write!(formatter, "@{config}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let parse = |text: &str| text.parse::<CandidateSpec>().unwrap();
        let spec = parse("postgres:18.6@x10b");
        assert_eq!((spec.dbms(), spec.config.as_deref()), (Dbms::Postgres, Some("x10b")));
        assert_eq!(spec.to_string(), "postgres:18.6@x10b");
        assert_eq!(parse("sqlite").origin, Origin::Embedded);
        assert_eq!(parse("path:/opt/pg@my.conf").config.as_deref(), Some("my.conf"));
        let url = parse("url:postgres://me:secret@localhost/ib");
        assert_eq!(url.to_string(), "url:postgres://me@localhost:5432/ib");
        assert_eq!(url.config, None);
    }

    #[test]
    fn refusals() {
        for text in ["postgers:18.6", "postgres:18.6@", "url:mysql://x", "postgres://x", "sqlite:3"] {
            let error = text.parse::<CandidateSpec>().unwrap_err().to_string();
            assert!(error.contains("hint:"), "{text}: {error}");
        }
    }
}
