//! One binary of a dbms, ready to run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use basecase_model::{BuildFacts, Dbms};
use thiserror::Error;

use crate::account::{Account, AccountError};
use crate::binary;
use crate::disk::sha256_of;
use crate::loader;
use crate::process;
use crate::recipe::{BuildRequest, Recipe};
use crate::server_version::server_version;
use crate::version::Version;

/// Why a tree of programs is no usable build.
#[derive(Debug, Error)]
pub enum BuildError {
    /// There is no server program.
    #[error("no postgres program in {} or its bin folder\nhint: give the prefix of an installation (it has bin/postgres), e.g. path:/usr/lib/postgresql/17", path.display())]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A program that basecase needs beside the server is missing.
    #[error("no {program} in {}\nhint: an installation that basecase can start has postgres and initdb in one folder", folder.display())]
    Incomplete {
        /// The program.
        program: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// The system lacks shared libraries.
    #[error("{} needs shared libraries that this system lacks: {libraries}\nhint: {hint}", program.display())]
    Libraries {
        /// The program.
        program: PathBuf,
        /// Their file names.
        libraries: String,
        /// What installs them.
        hint: String,
    },
    /// The program does not run.
    #[error("{} does not run: {reason}\nhint: run it with --version by hand as the same user", program.display())]
    Broken {
        /// The program.
        program: PathBuf,
        /// What it or the system says.
        reason: String,
    },
    /// The program is of another version than its recipe says.
    #[error("{} is version {actual}, not {expected} as its recipe says\nhint: remove its folder and get it again; if that does not help, the recipe is wrong", program.display())]
    Version {
        /// The program.
        program: PathBuf,
        /// What the recipe says.
        expected: String,
        /// What the program says.
        actual: String,
    },
    /// The user that servers run as cannot reach the tree.
    #[error(transparent)]
    Account(#[from] AccountError),
}

/// One binary of a dbms, ready to run.
#[derive(Debug, Clone)]
pub struct Build {
    /// What a number depends on.
    pub facts: BuildFacts,
    /// Its version.
    pub version: Version,
    bin: PathBuf,
}

impl Build {
    /// The folder of its programs.
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// The program `name`, e.g. `psql`. Whether the build has it is another matter.
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    /// Takes the tree under `path`, a prefix or a folder of programs, as a build.
    ///
    /// # Errors
    /// When programs or libraries are missing, or the version is not the recipe's.
    pub(crate) fn at(
        path: &Path,
        request: &BuildRequest,
        recipe: Option<&Recipe>,
        account: Option<&Account>,
    ) -> Result<Self, BuildError> {
        let bin = [path.join("bin"), path.to_path_buf()]
            .into_iter()
            .find(|folder| folder.join("postgres").is_file())
            .and_then(|folder| folder.canonicalize().ok())
            .ok_or_else(|| BuildError::NotFound { path: path.to_path_buf() })?;
        let program = bin.join("postgres");
        if !bin.join("initdb").is_file() {
            return Err(BuildError::Incomplete { program: "initdb".into(), folder: bin });
        }
        if let Some(account) = account {
            account.check_reaches(&program)?;
        }
        let said = match loader::version_of(&program, account) {
            Ok(text) => text,
            Err(reason) => return Err(why_broken(program, account, reason)),
        };
        let number = said.split_whitespace().nth(2).unwrap_or_default();
        let version = server_version(Dbms::Postgres, &said).ok_or_else(|| BuildError::Broken {
            program: program.clone(),
            reason: format!("it says {said:?}"),
        })?;
        if let Some(recipe) = recipe
            && recipe.version != version
        {
            return Err(BuildError::Version {
                program,
                expected: recipe.version.to_string(),
                actual: number.to_owned(),
            });
        }
        let facts = facts(&bin, number, &version, request, recipe, account);
        Ok(Build { facts, version, bin })
    }
}

fn why_broken(program: PathBuf, account: Option<&Account>, reason: String) -> BuildError {
    if let Some(wanted) = loader::wanted_glibc(&reason) {
        return BuildError::Libraries {
            program,
            libraries: format!("libc.so.6 of at least {wanted}"),
            hint: "this build is for a newer system; use another provider or path:DIR".into(),
        };
    }
    let missing = loader::missing(&program, account, &reason);
    if missing.is_empty() {
        return BuildError::Broken { program, reason };
    }
    let mut packages: Vec<String> = missing.iter().filter_map(|file| loader::debian_package(file)).collect();
    packages.sort();
    packages.dedup();
    let hint = if packages.is_empty() {
        "`apt-file search LIBRARY` names the package that has it".to_owned()
    } else {
        format!("on Debian, run `apt-get install --no-upgrade {}`", packages.join(" "))
    };
    BuildError::Libraries { program, libraries: missing.join(", "), hint }
}

fn facts(
    bin: &Path,
    number: &str,
    version: &Version,
    request: &BuildRequest,
    recipe: Option<&Recipe>,
    account: Option<&Account>,
) -> BuildFacts {
    let mut details = BTreeMap::new();
    let pg_config = process::command(&bin.join("pg_config"), account).output();
    if let Ok(output) = pg_config
        && output.status.success()
    {
        details = binary::parse_pg_config(&String::from_utf8_lossy(&output.stdout));
    }
    let imprint = binary::read(&bin.join("postgres")).unwrap_or_default();
    let of_recipe = |part: fn(&Recipe) -> &Option<String>| recipe.and_then(|recipe| part(recipe).clone());
    let flags = details.remove("cflags").or(imprint.flags);
    if let Some(configure) = imprint.configure {
        details.entry("configure".into()).or_insert(configure);
    }
    if let Some(text) = imprint.version_text {
        details.insert("version_text".into(), text);
    }
    let (provider, artifact) = match (recipe, request) {
        (Some(recipe), _) => (recipe.provider.name.clone(), recipe.artifact.clone()),
        (None, _) => ("path".to_owned(), bin.display().to_string()),
    };
    BuildFacts {
        dbms: Dbms::Postgres,
        short: short_name(version, request),
        requested: request.to_string(),
        version: number.to_owned(),
        provider,
        artifact,
        // An install can be built anew under the same path: then it is another build.
        sha256: match recipe {
            Some(recipe) => recipe.sha256.clone(),
            None => sha256_of(&bin.join("postgres")).ok(),
        },
        compiler: imprint.compiler.or_else(|| of_recipe(|recipe| &recipe.compiler)),
        flags: flags.or_else(|| of_recipe(|recipe| &recipe.flags)),
        details,
    }
}

/// `pg1711`; with the provider or the folder where the user named one, so that two builds of one version are told apart.
fn short_name(version: &Version, request: &BuildRequest) -> String {
    let prefix = Dbms::Postgres.short_prefix();
    let digits = version.digits(Dbms::Postgres);
    match request {
        BuildRequest::Version { provider: Some(provider), .. } => format!("{prefix}{digits}_{provider}"),
        BuildRequest::Version { provider: None, .. } => format!("{prefix}{digits}"),
        BuildRequest::Path(path) => format!("{prefix}{digits}_{}", folder_name(path)),
    }
}

/// The last folder of a path that says which install it is, in letters that a file name may have.
fn folder_name(path: &Path) -> String {
    let names = path.iter().rev().filter_map(|name| name.to_str());
    let name = names.into_iter().find(|name| !matches!(*name, "bin" | "." | "..")).unwrap_or("path");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let plain: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
    match plain.trim_matches('-') {
        "" => "path".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_follow_published_results() {
        let name =
            |number: &str, request: &str| short_name(&number.parse().unwrap(), &request.parse().unwrap());
        assert_eq!(name("17.11", "postgres:17.11"), "pg1711");
        assert_eq!(name("9.6.4", "postgres:9.6.4"), "pg9604");
        assert_eq!(name("17.11", "postgres:17.11:maven"), "pg1711_maven");
        assert_eq!(name("19rc1", "path:/opt/pg"), "pg19rc1_pg");
        assert_eq!(name("17.11", "path:/opt/pg_patched/bin"), "pg1711_pg-patched");
        assert_eq!(name("17.11", "path:/"), "pg1711_path");
    }

    #[test]
    fn a_folder_without_a_server_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let request = BuildRequest::Path(folder.path().to_path_buf());
        let message = Build::at(folder.path(), &request, None, None).unwrap_err().to_string();
        assert!(message.starts_with("no postgres program in /"), "{message}");
    }
}
