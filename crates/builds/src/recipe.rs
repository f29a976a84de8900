//! What can be requested, and how a build is obtained.

use std::path::PathBuf;
use std::str::FromStr;

use basecase_model::{Dbms, Version};
use thiserror::Error;

use crate::build::Build;
use crate::commit_request::{CommitError, CommitRequest};
use crate::form::Form;
use crate::manifest::Manifest;

/// Why a request matches no recipe.
#[derive(Debug, Error)]
pub enum RecipeError {
    /// The request has none of the known forms.
    #[error(
        "cannot read {request:?} as a build\nhint: write postgres:17.11, mysql:8.0.x (the newest of a branch), postgres:17.11:maven (a given provider) or path:/opt/pg"
    )]
    Form {
        /// What was requested.
        request: String,
    },
    /// The one that is part of basecase itself has no build.
    #[error(
        "{dbms} alone is the one inside basecase, which is always there\nhint: name a version, as in {dbms}:3.45.0; `basecase server list` has them"
    )]
    Bundled {
        /// The dbms.
        dbms: Dbms,
    },
    /// The dbms is not known.
    #[error("unknown dbms {name:?}\nhint: write one of {known}")]
    Dbms {
        /// What was requested.
        name: String,
        /// All names.
        known: String,
    },
    /// No recipe has this version.
    #[error("no recipe for {dbms} {version}\nhint: {near}; or use an installed one with path:DIR")]
    Version {
        /// The dbms.
        dbms: Dbms,
        /// What was requested.
        version: String,
        /// Similar versions, as a clause.
        near: String,
    },
    /// The version exists, but not from this provider.
    #[error("no recipe for {dbms} {version} from provider {provider:?}\nhint: {near}")]
    Provider {
        /// The dbms.
        dbms: Dbms,
        /// The version.
        version: String,
        /// What was requested.
        provider: String,
        /// What is available, as a clause.
        near: String,
    },
    /// The commit cannot be had.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// An embedded recipe file is broken.
    #[error("cannot read {file}: {reason}\nhint: this is a bug in basecase; please report it")]
    Data {
        /// The file.
        file: String,
        /// What the parser says.
        reason: String,
    },
}

/// Who offers builds, and how they are fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name, e.g. `pypi` or `maven`.
    pub name: String,
    /// The program that downloads: `pip`, `mvn`, `npm`, `cargo` or `apt-get`.
    pub client: String,
    /// Where its builds run, e.g. `linux-x86_64`.
    pub platform: String,
}

/// Packages of a Debian suite, whose versions change by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packages {
    /// The suite, e.g. `trixie`, `bookworm-security`.
    pub suite: String,
    /// The package of the server.
    pub server: String,
    /// Packages that are fetched as well, each with its dependencies.
    pub with: Vec<String>,
    /// Packages that are unpacked over the others, without their dependencies: those are not needed to run, or apt refuses
    /// them.
    pub over: Vec<String>,
}

/// How to get one build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The dbms.
    pub dbms: Dbms,
    /// The version that the running server must report.
    pub version: Version,
    /// Who offers it.
    pub provider: Provider,
    /// The artifact in the provider's own coordinates.
    pub artifact: String,
    /// The SHA-256 that identifies this build, in hexadecimal: of the artifact, or of the server program if that comes in
    /// packages, `None` while those have not been fetched; of the archive of the source for what basecase compiles.
    pub sha256: Option<String>,
    /// The compiler that the binary names, e.g. `gcc 12.2.0`; `None` if that is not known beforehand.
    pub compiler: Option<String>,
    /// The optimisation flag, e.g. `-O2`; `None` if the build does not tell.
    pub flags: Option<String>,
    /// Shared libraries that the build needs from the system and that not every system has.
    pub needs: Vec<String>,
    /// How the artifact becomes a tree.
    pub form: Form,
    /// The packages, if the artifact is not a single file.
    pub packages: Option<Packages>,
}

impl Recipe {
    /// Whether the artifact is source code, which basecase compiles.
    pub fn is_source(&self) -> bool {
        self.dbms.is_embedded()
    }

    /// What two recipes must share for their results to differ by version alone; `None` if the compiler is unknown.
    pub fn toolchain(&self) -> Option<String> {
        let compiler = self.compiler.as_ref()?;
        Some(self.flags.as_ref().map_or_else(|| compiler.clone(), |flags| format!("{compiler} {flags}")))
    }

    /// The name of its folder among the builds, e.g. `postgres-17.11-pypi`.
    pub fn folder(&self) -> String {
        format!("{}-{}-{}", self.dbms, self.version, self.provider.name)
    }

    /// The version in the folder name of a build, if that is of this dbms and provider.
    pub(crate) fn version_in(&self, folder: &str) -> Option<Version> {
        let text = folder.strip_prefix(self.dbms.as_str())?.strip_prefix('-')?;
        text.strip_suffix(&self.provider.name)?.strip_suffix('-')?.parse().ok()
    }

    /// The recipe of the build that has `manifest`; `None` if the manifest is of another artifact. For packages, it names
    /// those that were fetched.
    pub(crate) fn found(&self, manifest: Manifest) -> Option<Recipe> {
        match (&self.packages, manifest.got) {
            (None, None) => (self.sha256.as_ref() == Some(&manifest.sha256)).then(|| self.clone()),
            (Some(packages), Some(got)) => {
                let is_same =
                    got.artifact.strip_prefix(&packages.server).is_some_and(|text| text.starts_with(' '))
                        && got.artifact.ends_with(&format!(" ({})", packages.suite));
                is_same.then(|| Recipe {
                    artifact: got.artifact,
                    sha256: Some(manifest.sha256),
                    compiler: got.compiler,
                    flags: got.flags,
                    ..self.clone()
                })
            }
            _ => None,
        }
    }

    pub(crate) fn is_comparable_with(&self, other: &Recipe) -> bool {
        self.provider.name == other.provider.name
            && self.toolchain().is_some()
            && self.toolchain() == other.toolchain()
    }
}

/// What a user asks for: `postgres:17.11`, `postgres:17.x`, `postgres:17.11:maven` or `path:/opt/pg`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildRequest {
    /// A build by version.
    Version {
        /// The dbms.
        dbms: Dbms,
        /// The version, or a branch with `.x` for its newest version.
        version: String,
        /// The provider, if one is requested.
        provider: Option<String>,
    },
    /// An installation: its prefix or its folder of programs, or a shared library of SQLite.
    Path(PathBuf),
    /// A commit or a working tree of a repository.
    Commit(Box<CommitRequest>),
}

impl BuildRequest {
    /// The dbms that it is a build of; of an installation, by its files.
    pub fn dbms(&self) -> Dbms {
        match self {
            BuildRequest::Version { dbms, .. } => *dbms,
            BuildRequest::Path(path) => Build::dbms_at(path),
            BuildRequest::Commit(commit) => commit.dbms,
        }
    }
}

impl FromStr for BuildRequest {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || RecipeError::Form { request: text.to_owned() };
        if CommitRequest::is_one(text) {
            return Ok(BuildRequest::Commit(Box::new(text.parse()?)));
        }
        let (head, rest) = text.split_once(':').unwrap_or((text, ""));
        if head == "path" {
            return if rest.is_empty() { Err(form()) } else { Ok(BuildRequest::Path(PathBuf::from(rest))) };
        }
        let dbms = head.parse::<Dbms>().map_err(|()| RecipeError::Dbms {
            name: head.to_owned(),
            known: Dbms::ALL.map(Dbms::as_str).join(", "),
        })?;
        if dbms.is_embedded() && !text.contains(':') {
            return Err(RecipeError::Bundled { dbms });
        }
        let (version, provider) = match rest.split_once(':') {
            Some((version, provider)) => (version, Some(provider.to_owned())),
            None => (rest, None),
        };
        if version.is_empty() || provider.as_deref().is_some_and(|name| name.is_empty() || name.contains(':'))
        {
            return Err(form());
        }
        Ok(BuildRequest::Version { dbms, version: version.to_owned(), provider })
    }
}

impl std::fmt::Display for BuildRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildRequest::Version { dbms, version, provider: None } => write!(formatter, "{dbms}:{version}"),
            BuildRequest::Version { dbms, version, provider: Some(provider) } => {
                write!(formatter, "{dbms}:{version}:{provider}")
            }
            BuildRequest::Path(path) => write!(formatter, "path:{}", path.display()),
            BuildRequest::Commit(commit) => write!(formatter, "{commit}"),
        }
    }
}

/// Where one requested build comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What the user asked for.
    pub request: BuildRequest,
    /// The recipe; `None` for an installed build.
    pub recipe: Option<Recipe>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_print_as_they_were_written() {
        for text in ["postgres:17.11", "postgres:17.x:maven", "mysql:8.0.x", "path:/opt/pg"] {
            assert_eq!(text.parse::<BuildRequest>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for form in ["postgres", "postgres:", "path:", "postgres:17.6:", "postgres:1:2:3"] {
            assert!(matches!(form.parse::<BuildRequest>(), Err(RecipeError::Form { .. })), "{form}");
        }
        assert!(matches!("sqlite".parse::<BuildRequest>(), Err(RecipeError::Bundled { .. })));
        let message = "postgre:17.6".parse::<BuildRequest>().unwrap_err().to_string();
        assert!(message.contains("postgres, mysql, mariadb, sqlite"), "{message}");
    }
}
