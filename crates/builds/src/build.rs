//! One binary of a dbms, ready to run.

use std::path::{Path, PathBuf};
use std::process::Command;

use basecase_client::sqlite::{Library, LibraryError};
use basecase_model::{BuildFacts, Dbms, Version};
use basecase_process::{Account, AccountError};
use thiserror::Error;

use crate::checksum::sha256_of;
use crate::layout::{Tree, all_servers, layout_of, looks_like_library};
use crate::loader;
use crate::programs::{self, ProgramsError};
use crate::recipe::{BuildRequest, Recipe};
use crate::supply;

/// Why a tree of programs is not a usable build.
#[derive(Debug, Error)]
pub enum BuildError {
    /// There is no server program.
    #[error("no server program ({}) in {} or its folders bin and sbin, and no libsqlite3.so there or in lib\nhint: give the prefix of an installation, e.g. path:/usr/lib/postgresql/17 or path:/usr/local/mysql, or a shared library of SQLite", all_servers().join(", "), path.display())]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A program that basecase needs besides the server is missing.
    #[error("no {what} in {}\nhint: {hint}", folder.display())]
    Incomplete {
        /// What is missing.
        what: &'static str,
        /// Where it was looked for.
        folder: PathBuf,
        /// What a complete installation has.
        hint: &'static str,
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
        /// What it or the operating system says.
        reason: String,
    },
    /// The program's version differs from its recipe's.
    #[error("{} is version {actual}, not {expected} as its recipe says\nhint: remove its folder and get it again; if that does not help, the recipe is wrong", program.display())]
    Version {
        /// The program.
        program: PathBuf,
        /// What the recipe says.
        expected: String,
        /// What the program says.
        actual: String,
    },
    /// It is no library of SQLite that can be used.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The account that servers run under cannot reach the tree.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// Its programs are not run, since somebody else could have changed them.
    #[error(transparent)]
    Programs(#[from] ProgramsError),
}

/// One binary of a dbms, ready to run.
#[derive(Debug, Clone)]
pub struct Build {
    /// The facts that results depend on.
    pub facts: BuildFacts,
    /// Its version.
    pub version: Version,
    tree: Tree,
    library: Option<Library>,
}

impl Build {
    /// The dbms of the installation at `path`, judged by its files; where there is none, SQLite if that is the name of a
    /// shared library, and otherwise Postgres.
    pub fn dbms_at(path: &Path) -> Dbms {
        let missing = if looks_like_library(path) { Dbms::Sqlite } else { Dbms::Postgres };
        Tree::find(path).map_or(missing, |tree| tree.dbms())
    }

    /// The loaded library, if the dbms is SQLite.
    pub fn library(&self) -> Option<&Library> {
        self.library.as_ref()
    }

    /// The file of the shared library, if the dbms is SQLite.
    pub fn library_path(&self) -> Option<PathBuf> {
        self.library.as_ref().map(|_| self.program(self.tree.server()))
    }

    /// The folder of its programs.
    pub fn bin(&self) -> &Path {
        self.tree.bin()
    }

    /// The path of the program `name`, e.g. `psql`, whether or not the build has it.
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin().join(name)
    }

    /// Drops the server program from the page cache, so that the next start reads it again. Where its pages lie in memory
    /// changes the server's speed by a few per cent, and cached pages stay where they are from start to start. Pages that
    /// cannot be dropped stay cached.
    pub fn forget_server(&self) {
        basecase_process::forget_file(&self.program(self.tree.server())).ok();
    }

    /// A command for the program `name` as `account`, with an empty environment except for what it needs to find the
    /// libraries that come with the build.
    pub fn command(&self, name: &str, account: Option<&Account>) -> Command {
        self.tree.command(name, account)
    }

    /// Where its files lie.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Dbms and version for messages, e.g. `mysql 8.0.33`.
    pub fn title(&self) -> String {
        format!("{} {}", self.facts.dbms, self.facts.version)
    }

    /// Opens the tree at `path`, a prefix or a folder of programs, as a build.
    ///
    /// # Errors
    /// If programs or libraries are missing, or the dbms or version is not the recipe's.
    pub(crate) fn at(
        path: &Path,
        request: &BuildRequest,
        recipe: Option<&Recipe>,
        account: Option<&Account>,
    ) -> Result<Self, BuildError> {
        let tree = Tree::find(path).ok_or_else(|| BuildError::NotFound { path: path.to_path_buf() })?;
        let program = tree.bin().join(tree.server());
        programs::check_installed(tree.bin(), tree.server())?;
        let library = if tree.dbms().is_embedded() { Some(Library::load(&program)?) } else { None };
        let said = match &library {
            Some(library) => format!("SQLite {} {}", library.version(), library.source_id()),
            None => {
                if let Some(account) = account {
                    account.check_reaches(&program)?;
                }
                said_of_version(&tree, account).map_err(|reason| why_broken(&tree, account, reason))?
            }
        };
        let announced = Announcement::read(&said).ok_or_else(|| BuildError::Broken {
            program: program.clone(),
            reason: format!("it says {said:?}"),
        })?;
        let Announcement { dbms, version } = &announced;
        if let Some((what, hint)) = layout_of(*dbms).missing(&tree, version) {
            let folder = tree.prefix().to_path_buf();
            return Err(BuildError::Incomplete { what, folder, hint });
        }
        if let Some(recipe) = recipe
            && (recipe.version != *version || recipe.dbms != *dbms)
        {
            return Err(BuildError::Version {
                program,
                expected: format!("{} {}", recipe.dbms, recipe.version),
                actual: format!("{dbms} {version}"),
            });
        }
        let facts = facts(&tree, &announced, &said, request, recipe, account);
        Ok(Build { facts, version: announced.version, tree, library })
    }
}

/// Dbms and version, as a server program reports them.
#[derive(Debug, PartialEq, Eq)]
struct Announcement {
    dbms: Dbms,
    version: Version,
}

impl Announcement {
    /// Reads what the server program prints when it is asked for its version.
    fn read(said: &str) -> Option<Self> {
        let versions = Dbms::ALL.into_iter().filter_map(|dbms| Some((dbms, layout_of(dbms).version(said)?)));
        versions.map(|(dbms, version)| Announcement { dbms, version }).next()
    }
}

/// What the server program prints when it is asked for its version.
fn said_of_version(tree: &Tree, account: Option<&Account>) -> Result<String, String> {
    let mut command = tree.command(tree.server(), account);
    match command.args(layout_of(tree.dbms()).version_arguments()).output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn why_broken(tree: &Tree, account: Option<&Account>, reason: String) -> BuildError {
    let program = tree.bin().join(tree.server());
    if let Some(wanted) = loader::wanted_glibc(&reason) {
        return BuildError::Libraries {
            program,
            libraries: format!("libc.so.6 of at least {wanted}"),
            hint: "this build is for a newer system; use another provider or path:DIR".into(),
        };
    }
    let mut missing = loader::missing(tree, account);
    missing.extend(loader::from_loader(&reason));
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
    BuildError::Libraries { program, libraries: supply::names(&missing), hint }
}

fn facts(
    tree: &Tree,
    announced: &Announcement,
    said: &str,
    request: &BuildRequest,
    recipe: Option<&Recipe>,
    account: Option<&Account>,
) -> BuildFacts {
    let program = tree.bin().join(tree.server());
    let layout = layout_of(announced.dbms);
    let mut details = layout.details(tree, account);
    let imprint = layout.imprint(&program, said).unwrap_or_default();
    let recipe_says = |part: fn(&Recipe) -> &Option<String>| recipe.and_then(|recipe| part(recipe).clone());
    let flags = details.remove("cflags").or(imprint.flags);
    if let Some(configure) = imprint.configure {
        details.entry("configure".into()).or_insert(configure);
    }
    if let Some(text) = imprint.version_text {
        details.insert("version_text".into(), text);
    }
    let (provider, artifact) = match (recipe, request) {
        (Some(recipe), _) => (recipe.provider.name.clone(), recipe.artifact.clone()),
        (None, _) if tree.dbms().is_embedded() => ("path".to_owned(), program.display().to_string()),
        (None, _) => ("path".to_owned(), tree.bin().display().to_string()),
    };
    BuildFacts {
        dbms: announced.dbms,
        short: short_name(announced, request),
        requested: request.to_string(),
        version: announced.version.to_string(),
        provider,
        artifact,
        // An installation can be rebuilt under the same path, and is then another build.
        sha256: match recipe {
            Some(recipe) => recipe.sha256.clone(),
            None => sha256_of(&program).ok(),
        },
        compiler: imprint.compiler.or_else(|| recipe_says(|recipe| &recipe.compiler)),
        flags: flags.or_else(|| recipe_says(|recipe| &recipe.flags)),
        details,
    }
}

/// E.g. `pg1711`, with the provider or the folder if the user named one, to tell two builds of one version apart.
fn short_name(announced: &Announcement, request: &BuildRequest) -> String {
    let prefix = announced.dbms.short_prefix();
    let digits = announced.version.digits(announced.dbms);
    match request {
        BuildRequest::Version { provider: Some(provider), .. } => format!("{prefix}{digits}_{provider}"),
        BuildRequest::Version { provider: None, .. } => format!("{prefix}{digits}"),
        BuildRequest::Path(path) => format!("{prefix}{digits}_{}", folder_name(path)),
        // What was built of a commit is asked for by its label.
        BuildRequest::Commit(commit) => format!("{prefix}{digits}_{}", folder_name(&commit.repository)),
    }
}

/// The last folder name of a path that identifies the installation, limited to letters that a file name may have.
fn folder_name(path: &Path) -> String {
    let names = path.iter().rev().filter_map(|name| name.to_str());
    let name = names
        .into_iter()
        // Of a library, what is before `.so`.
        .map(|name| name.split(".so").next().unwrap_or(name))
        .find(|name| !matches!(*name, "libsqlite3" | "lib" | "" | "bin" | "sbin" | "usr" | "." | ".."))
        .unwrap_or("path");
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
        let name = |said: &str, request: &str| {
            short_name(&Announcement::read(said).unwrap(), &request.parse().unwrap())
        };
        let postgres = |number: &str| format!("postgres (PostgreSQL) {number}");
        assert_eq!(name(&postgres("17.11"), "postgres:17.11"), "pg1711");
        assert_eq!(name(&postgres("9.6.4"), "postgres:9.6.4"), "pg9604");
        assert_eq!(name(&postgres("17.11"), "postgres:17.11:maven"), "pg1711_maven");
        assert_eq!(name(&postgres("19rc1"), "path:/opt/pg"), "pg19rc1_pg");
        assert_eq!(name(&postgres("17.11"), "path:/opt/pg_patched/bin"), "pg1711_pg-patched");
        assert_eq!(name(&postgres("17.11"), "path:/"), "pg1711_path");
        assert_eq!(name("mysqld  Ver 8.0.33 for Linux on x86_64", "path:/opt/my/usr/sbin"), "my8033_my");
        assert_eq!(name("mariadbd  Ver 10.11.18-MariaDB for x", "path:/opt/ma"), "ma101118_ma");
    }

    #[test]
    fn servers_announce_dbms_and_version() {
        for (said, dbms, number) in [
            ("postgres (PostgreSQL) 17.11 (Debian 17.11-1)", Dbms::Postgres, "17.11"),
            ("postgres (PostgreSQL) 19rc1", Dbms::Postgres, "19rc1"),
            (
                "./mysqld  Ver 5.5.34 for linux2.6 on x86_64 (MySQL Community Server (GPL))",
                Dbms::Mysql,
                "5.5.34",
            ),
            ("/MariaDB/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", Dbms::Mysql, "9.7.4"),
            (
                "/t/mariadbd  Ver 11.8.6-MariaDB-0+deb13u1 from Debian for debian-linux-gnu on x86_64",
                Dbms::Mariadb,
                "11.8.6",
            ),
        ] {
            let announced = Announcement::read(said).unwrap();
            assert_eq!((announced.dbms, announced.version.to_string().as_str()), (dbms, number));
        }
        for said in ["", "mysqld", "mysqld Ver", "mysqld Ver x", "postgres (PostgreSQL)"] {
            assert_eq!(Announcement::read(said), None, "{said}");
        }
    }

    #[test]
    fn a_folder_without_a_server_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let request = BuildRequest::Path(folder.path().to_path_buf());
        let message = Build::at(folder.path(), &request, None, None).unwrap_err().to_string();
        assert!(message.starts_with("no server program (postgres, mariadbd, mysqld) in /"), "{message}");
    }
}
