//! Candidates as the user names them: a build, after `#` an engine, and after `@` a config.

use std::fmt;
use std::str::FromStr;

use basecase_builds::{BuildRequest, CommitRequest, RecipeError, Setup};
use basecase_client::{AddressError, mysql, postgres};
use basecase_model::{Dbms, Engine, TriedSetting};
use thiserror::Error;

use super::MemorySize;

/// Where the dbms of a candidate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A build that basecase starts.
    Build(BuildRequest),
    /// The SQLite that is part of basecase. Its other versions are builds.
    Embedded,
    /// A Postgres server that basecase must neither start nor stop.
    PostgresUrl(postgres::Address),
    /// A MySQL or MariaDB server that basecase must neither start nor stop.
    MysqlUrl(mysql::Address),
}

/// A candidate as the user named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateSpec {
    /// Where the dbms comes from.
    pub origin: Origin,
    /// The storage engine, where one is named.
    pub engine: Option<Engine>,
    /// Name or file of the config; the dbms's default when none is given.
    pub config: Option<String>,
    /// Limit on the memory of its server, in place of that of the whole request.
    pub memory: Option<MemorySize>,
    /// A setting in place of that of the config.
    pub tried: Option<TriedSetting>,
}

/// How candidates that are commits are compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiling {
    /// The build type or compiler flags.
    pub setup: Setup,
    /// Further arguments of configure or CMake.
    pub configure: Vec<String>,
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
    /// A URL without the prefix `url:`. The text is not repeated, because it may hold a password.
    #[error(
        "a candidate that is a URL begins with url:\nhint: write url:postgres://USER:PASSWORD@HOST:PORT/DATABASE or url:mysql://…"
    )]
    BareUrl,
    /// The engine part names no engine.
    #[error(
        "candidate {candidate:?} names the engine {engine:?}\nhint: write innodb or rocksdb after '#', as in mariadb:10.11.18#rocksdb"
    )]
    UnknownEngine {
        /// The candidate.
        candidate: String,
        /// What stands after `#`.
        engine: String,
    },
    /// The dbms has no engines to choose from.
    #[error(
        "candidate {candidate:?} names the engine {engine}, and {dbms} has no engines to choose from\nhint: leave out #{engine}"
    )]
    NoEngines {
        /// The candidate.
        candidate: String,
        /// The engine.
        engine: Engine,
        /// The dbms.
        dbms: Dbms,
    },
    /// The config part is empty.
    #[error(
        "candidate {0:?} has nothing after '@'\nhint: name a config or a file, as in postgres:18.6@x10b, or leave out '@'"
    )]
    EmptyConfig(String),
}

impl CandidateSpec {
    /// The dbms.
    pub fn dbms(&self) -> Dbms {
        match &self.origin {
            Origin::Build(build) => build.dbms(),
            Origin::PostgresUrl(_) => Dbms::Postgres,
            // What it is exactly, the running server says.
            Origin::MysqlUrl(_) => Dbms::Mysql,
            Origin::Embedded => Dbms::Sqlite,
        }
    }

    /// The build that it asks for; `None` for a server of the user's and for the SQLite that basecase has.
    pub fn build(&self) -> Option<&BuildRequest> {
        match &self.origin {
            Origin::Build(request) => Some(request),
            _ => None,
        }
    }

    /// The commit or working tree, if it is one.
    pub fn commit(&self) -> Option<&CommitRequest> {
        match &self.origin {
            Origin::Build(BuildRequest::Commit(commit)) => Some(commit),
            _ => None,
        }
    }

    /// Whether it is a commit or a working tree.
    pub fn is_commit(&self) -> bool {
        self.commit().is_some()
    }

    /// Whether it is compiled in a folder that is kept.
    pub fn is_incremental(&self) -> bool {
        self.commit().is_some_and(CommitRequest::keeps_folder)
    }

    /// The same, made of another commit.
    pub fn of_commit(&self, commit: CommitRequest) -> Self {
        CandidateSpec { origin: Origin::Build(BuildRequest::Commit(Box::new(commit))), ..self.clone() }
    }

    /// Compiles it in this way if it is a commit.
    pub fn compile_with(&mut self, compiling: &Compiling) {
        if let Origin::Build(BuildRequest::Commit(commit)) = &mut self.origin {
            commit.setup = compiling.setup.clone();
            commit.configure.clone_from(&compiling.configure);
        }
    }

    /// Whether it is the user's own server.
    pub fn is_url(&self) -> bool {
        match self.origin {
            Origin::PostgresUrl(_) | Origin::MysqlUrl(_) => true,
            Origin::Build(_) | Origin::Embedded => false,
        }
    }

    /// The engine of its tables: the one named, or the dbms's usual one; `None` where there is no choice.
    pub fn table_engine(&self) -> Option<Engine> {
        self.engine.or_else(|| self.dbms().default_engine())
    }
}

impl FromStr for CandidateSpec {
    type Err = CandidateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A URL has an `@` of its own, and a server that is not started gets no config.
        if let Some(url) = text.strip_prefix("url:") {
            let (url, engine) = split_url(url);
            let is_mysql = ["mysql://", "mariadb://"].iter().any(|scheme| url.starts_with(scheme));
            let origin = if is_mysql {
                Origin::MysqlUrl(mysql::Address::from_url(url)?)
            } else {
                Origin::PostgresUrl(postgres::Address::from_url(url)?)
            };
            return CandidateSpec { origin, engine, config: None, memory: None, tried: None }
                .with_possible_engine("url:…");
        }
        if may_hold_password(text) && !CommitRequest::is_one(text) {
            return Err(CandidateError::BareUrl);
        }
        let (build, config) = match split_config(text) {
            Some((_, "")) => return Err(CandidateError::EmptyConfig(text.to_owned())),
            Some((build, config)) => (build, Some(config.to_owned())),
            None => (text, None),
        };
        let (build, engine) = split_engine(build, text)?;
        let origin =
            if build == Dbms::Sqlite.as_str() { Origin::Embedded } else { Origin::Build(build.parse()?) };
        CandidateSpec { origin, engine, config, memory: None, tried: None }.with_possible_engine(text)
    }
}

impl CandidateSpec {
    /// Refuses an engine for a dbms without engines.
    fn with_possible_engine(self, text: &str) -> Result<Self, CandidateError> {
        let dbms = self.dbms();
        match self.engine.filter(|_| dbms.default_engine().is_none()) {
            Some(engine) => Err(CandidateError::NoEngines { candidate: text.to_owned(), engine, dbms }),
            None => Ok(self),
        }
    }
}

/// Whether a word may hold a password, because it is a URL or nearly one. Such a word is never repeated.
pub fn may_hold_password(word: &str) -> bool {
    let is_path = word.starts_with("path:") || CommitRequest::is_one(word);
    let begins_like_one = word.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("url:"));
    begins_like_one || word.contains("://") || (!is_path && word.contains(":/") && word.contains('@'))
}

/// The text without the rest of a line after `://`, which may hold a password.
pub(crate) fn without_urls(text: &str) -> String {
    let line = |line: &str| match line.split_once("://") {
        Some((head, _)) => format!("{head}://…"),
        None => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Splits `#ENGINE` off a URL. Any other `#` stays in the URL and is refused there, because it may belong to a password.
fn split_url(url: &str) -> (&str, Option<Engine>) {
    let split = url.rsplit_once('#').and_then(|(head, word)| Some((head, word.parse().ok()?)));
    split.map_or((url, None), |(head, engine)| (head, Some(engine)))
}

/// Splits `@CONFIG` off. A commit has an `@` of its own before its name: `git:PATH@REF@CONFIG`, or `git:PATH@@CONFIG` for a working tree.
fn split_config(text: &str) -> Option<(&str, &str)> {
    if !CommitRequest::is_one(text) {
        return text.rsplit_once('@');
    }
    let first = text.find('@')?;
    // `main@{1}` and `@{upstream}` are names of commits.
    let is_config = |place: usize| !text[place..].starts_with("@{");
    let place = text.rfind('@').filter(|place| *place > first && is_config(*place))?;
    Some((text[..place].trim_end_matches('@'), &text[place + 1..]))
}

/// Splits `#ENGINE` off. In a path, a `#` that is not followed by a word is part of the path.
fn split_engine<'a>(build: &'a str, candidate: &str) -> Result<(&'a str, Option<Engine>), CandidateError> {
    let Some((head, word)) = build.rsplit_once('#') else { return Ok((build, None)) };
    if word.contains(['/', '@', '.']) {
        return Ok((build, None));
    }
    let unknown =
        || CandidateError::UnknownEngine { candidate: candidate.to_owned(), engine: word.to_owned() };
    Ok((head, Some(word.parse().map_err(|()| unknown())?)))
}

impl fmt::Display for CandidateSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Build(request) => write!(formatter, "{request}")?,
            Origin::Embedded => write!(formatter, "{}", Dbms::Sqlite)?,
            Origin::PostgresUrl(address) => write!(formatter, "url:{}", address.redacted())?,
            Origin::MysqlUrl(address) => write!(formatter, "url:{}", address.redacted())?,
        }
        if let Some(engine) = self.engine {
            write!(formatter, "#{engine}")?;
        }
        if let Some(config) = &self.config {
            write!(formatter, "@{config}")?;
        }
        self.tried.as_ref().map_or(Ok(()), |tried| write!(formatter, "+{tried}"))
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
        let old = parse("sqlite:3.45.0@rollback_full");
        assert_eq!(
            (old.dbms(), old.table_engine(), old.to_string().as_str()),
            (Dbms::Sqlite, None, "sqlite:3.45.0@rollback_full")
        );
        assert!(
            matches!(old.origin, Origin::Build(_)) && matches!(parse("sqlite:3.x").origin, Origin::Build(_))
        );
        assert_eq!(parse("path:/opt/lib/libsqlite3.so.0.8.6@default").dbms(), Dbms::Sqlite);
        assert_eq!(parse("path:/opt/pg@my.conf").config.as_deref(), Some("my.conf"));
        let url = parse("url:postgres://me:secret@localhost/ib");
        assert_eq!(url.to_string(), "url:postgres://me@localhost:5432/ib");
        assert_eq!(url.config, None);
        let rocks = parse("mariadb:10.11.18#rocksdb@za1");
        assert_eq!((rocks.dbms(), rocks.table_engine()), (Dbms::Mariadb, Some(Engine::Rocksdb)));
        assert_eq!(rocks.to_string(), "mariadb:10.11.18#rocksdb@za1");
        assert_eq!(parse("mysql:8.0.33").table_engine(), Some(Engine::Innodb));
        let url = parse("url:mysql://me:secret@localhost/ib#rocksdb");
        assert_eq!(url.to_string(), "url:mysql://me@localhost:3306/ib#rocksdb");
    }

    proptest::proptest! {
        #[test]
        fn defect_05_no_piece_of_a_password_is_repeated(
            password in "[zqZQ79@/#?:%&=+ \n\\[\\]\u{e9}-]{4,16}",
            form in proptest::sample::select(vec![
                "url:postgres://user:PASSWORD@host/db",
                "url:mysql://user:PASSWORD@host:3306/db",
                "url:mariadb://user:PASSWORD@host#innodb",
                "postgres://user:PASSWORD@host/db",
                "url:oracle://user:PASSWORD@host/db",
                "postgres:/user:PASSWORD@host/db",
                "URL:mysql://user:PASSWORD@host/db",
            ]),
        ) {
            let text = form.replace("PASSWORD", &password);
            let said = match text.parse::<CandidateSpec>() {
                Ok(spec) => format!("{spec} {spec:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            let letters: Vec<char> = password.chars().collect();
            // Punctuation alone stands in messages as well: "://" at the end of a line does.
            let is_telling = |piece: &String| piece.contains(char::is_alphanumeric);
            for piece in letters.windows(4).map(String::from_iter).filter(is_telling) {
                proptest::prop_assert!(!said.contains(&piece), "{piece:?} in {said}");
            }
        }
    }

    #[test]
    fn defect_05_an_engine_after_a_url_is_one_or_the_url_is_refused() {
        let refused = |text: &str| text.parse::<CandidateSpec>().unwrap_err().to_string();
        for text in
            ["url:mysql://user:top#secret", "url:mysql://user:top#secret@host/db", "url:mysql://h/d#secret"]
        {
            let error = refused(text);
            assert!(error.contains("has a '#' in it") && !error.contains("secret"), "{error}");
        }
        let lines = without_urls("1 | candidates = [\"url:postgres://me:sec ret\n  | ^\nhint");
        assert_eq!(lines, "1 | candidates = [\"url:postgres://…\n  | ^\nhint");
    }

    #[test]
    fn refusals() {
        for text in [
            "postgers:18.6",
            "postgres:18.6@",
            "url:oracle://x",
            "postgres://x",
            "sqlite:",
            "sqlite:3.45.0#innodb",
            "postgres:18.6#rocksdb",
            "sqlite#innodb",
            "mariadb:10.11.18#myisam",
        ] {
            let error = text.parse::<CandidateSpec>().unwrap_err().to_string();
            assert!(error.contains("hint:"), "{text}: {error}");
        }
    }
}
