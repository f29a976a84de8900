//! Recognises what a folder of source code is.

use std::fs;
use std::path::{Path, PathBuf};

use basecase_model::Dbms;
use basecase_repository::Repository;

const CMAKE: &str = "cmake";

/// Whose source it is. Each kind is configured and compiled in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    Postgres,
    Mysql,
    /// Meta's MySQL with MyRocks.
    FbMysql,
    Mariadb,
    Sqlite,
}

impl SourceKind {
    /// The kinds of tree that are sources of `dbms`.
    pub(crate) fn of(dbms: Dbms) -> &'static [SourceKind] {
        match dbms {
            Dbms::Postgres => &[SourceKind::Postgres],
            Dbms::Mysql => &[SourceKind::Mysql, SourceKind::FbMysql],
            Dbms::Mariadb => &[SourceKind::Mariadb],
            Dbms::Sqlite => &[SourceKind::Sqlite],
        }
    }

    pub(crate) fn dbms(self) -> Dbms {
        match self {
            SourceKind::Postgres => Dbms::Postgres,
            SourceKind::Mysql | SourceKind::FbMysql => Dbms::Mysql,
            SourceKind::Mariadb => Dbms::Mariadb,
            SourceKind::Sqlite => Dbms::Sqlite,
        }
    }

    /// Its name in messages.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            SourceKind::FbMysql => "fb-mysql",
            other => other.dbms().as_str(),
        }
    }

    /// The programs besides compilers that each of its builds needs.
    pub(crate) fn tools(self) -> &'static [&'static str] {
        match self {
            SourceKind::Postgres => &["make"],
            SourceKind::Mysql | SourceKind::FbMysql | SourceKind::Mariadb => &["make", CMAKE],
            SourceKind::Sqlite => &[],
        }
    }

    pub(crate) fn uses_cmake(self) -> bool {
        self.tools().contains(&CMAKE)
    }
}

/// A recognised source: its kind, and its version as it states it, e.g. `17.6` or `19devel`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceTree {
    pub(crate) kind: SourceKind,
    pub(crate) version: String,
}

/// The files by which a source is recognised.
pub(crate) trait SourceFiles {
    /// The text of a file; `None` if it is not there.
    fn text(&self, name: &str) -> Option<String>;
    /// Whether there is a file or folder of this name.
    fn has(&self, name: &str) -> bool;
}

impl SourceFiles for &Path {
    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.join(name)).ok()
    }

    fn has(&self, name: &str) -> bool {
        self.join(name).exists()
    }
}

/// The files of a commit, without unpacking them.
pub(crate) struct CommitFiles<'a> {
    pub(crate) repository: &'a Repository<'a>,
    pub(crate) commit: &'a str,
}

impl SourceFiles for CommitFiles<'_> {
    fn text(&self, name: &str) -> Option<String> {
        let bytes = self.repository.file(self.commit, name).ok()??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn has(&self, name: &str) -> bool {
        self.repository.present(self.commit, &[name]).is_ok_and(|present| !present.is_empty())
    }
}

/// Recognises a source; `None` if it is of no known kind.
pub(crate) fn recognise(files: &dyn SourceFiles) -> Option<SourceTree> {
    if let Some(configure) = files.text("configure")
        && shell_value(&configure, "PACKAGE_NAME").as_deref() == Some("PostgreSQL")
    {
        let version = shell_value(&configure, "PACKAGE_VERSION")?;
        return Some(SourceTree { kind: SourceKind::Postgres, version });
    }
    if let Some(version) = sqlite_version(files) {
        return Some(SourceTree { kind: SourceKind::Sqlite, version });
    }
    let file = files.text("MYSQL_VERSION").or_else(|| files.text("VERSION"))?;
    let number = |name: &str| shell_value(&file, &format!("MYSQL_VERSION_{name}"));
    let extra = number("EXTRA").unwrap_or_default();
    let version = format!("{}.{}.{}{extra}", number("MAJOR")?, number("MINOR")?, number("PATCH")?);
    let kind = if files.has("storage/maria") {
        SourceKind::Mariadb
    } else if files.has("storage/rocksdb") && files.has("rocksdb") {
        // Only this tree has RocksDB itself as a submodule at the top.
        SourceKind::FbMysql
    } else {
        SourceKind::Mysql
    };
    Some(SourceTree { kind, version })
}

/// The version of the SQLite whose amalgamation or own tree it is.
fn sqlite_version(files: &dyn SourceFiles) -> Option<String> {
    let is_amalgamation =
        |place: &&&str| AMALGAMATION.iter().all(|file| files.has(&format!("{place}{file}")));
    match AMALGAMATION_PLACES.iter().find(is_amalgamation) {
        Some(place) => {
            let header = files.text(&format!("{place}sqlite3.h"))?;
            let line = header.lines().find_map(|line| line.strip_prefix("#define SQLITE_VERSION "))?;
            Some(line.trim().trim_matches('"').to_owned())
        }
        None if files.has("src/sqlite.h.in") => Some(files.text("VERSION")?.trim().to_owned()),
        None => None,
    }
}

/// The files of SQLite's amalgamation.
const AMALGAMATION: [&str; 2] = ["sqlite3.c", "sqlite3.h"];
/// Where they lie: packages have them below their top.
const AMALGAMATION_PLACES: [&str; 2] = ["", "sqlite3/"];

/// The folder of SQLite's amalgamation, which packages have below their top; `None` where it is still to be made from SQLite's
/// own tree.
pub(crate) fn amalgamation(folder: &Path) -> Option<PathBuf> {
    let places = AMALGAMATION_PLACES.map(|place| folder.join(place));
    places.into_iter().find(|place| AMALGAMATION.iter().all(|file| place.join(file).is_file()))
}

/// The first submodule that is an empty folder, as git leaves it unless it is told to check it out.
pub(crate) fn missing_submodule(folder: &Path) -> Option<String> {
    let modules = fs::read_to_string(folder.join(".gitmodules")).ok()?;
    let paths = modules.lines().filter_map(|line| line.trim().strip_prefix("path"));
    let mut paths = paths.filter_map(|rest| rest.trim_start().strip_prefix('=')).map(str::trim);
    let is_empty = |path: &str| fs::read_dir(folder.join(path)).map_or(true, |mut all| all.next().is_none());
    paths.find(|path| is_empty(path)).map(str::to_owned)
}

/// The file at the top of `folder` which shows that somebody has compiled there.
pub(crate) fn trace_of_use(folder: &Path) -> Option<&'static str> {
    ["config.status", "CMakeCache.txt"].into_iter().find(|file| folder.join(file).exists())
}

/// The value of a line `NAME=value` or `NAME='value'`.
fn shell_value(text: &str, name: &str) -> Option<String> {
    let mut values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    values.next().map(|value| value.trim().trim_matches(['\'', '"']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Option<(SourceKind, String)> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        recognise(&folder.path()).map(|tree| (tree.kind, tree.version))
    }

    #[test]
    fn trees_are_recognised_by_their_files() {
        let postgres = "#! /bin/sh\nPACKAGE_NAME='PostgreSQL'\nPACKAGE_TARNAME='postgresql'\nPACKAGE_VERSION='19devel'\n";
        assert_eq!(tree(&[("configure", postgres)]), Some((SourceKind::Postgres, "19devel".into())));
        let numbers = |major: u32, minor: u32, patch: u32| {
            format!(
                "MYSQL_VERSION_MAJOR={major}\nMYSQL_VERSION_MINOR={minor}\nMYSQL_VERSION_PATCH={patch}\nMYSQL_VERSION_EXTRA=\n"
            )
        };
        let (eight, eleven) = (numbers(8, 0, 32), numbers(11, 8, 6));
        assert_eq!(tree(&[("MYSQL_VERSION", &eight)]), Some((SourceKind::Mysql, "8.0.32".into())));
        let fb = [("MYSQL_VERSION", eight.as_str()), ("storage/rocksdb/a", ""), ("rocksdb/a", "")];
        assert_eq!(tree(&fb), Some((SourceKind::FbMysql, "8.0.32".into())));
        let mariadb = [("VERSION", eleven.as_str()), ("storage/maria/a", ""), ("storage/rocksdb/a", "")];
        assert_eq!(tree(&mariadb), Some((SourceKind::Mariadb, "11.8.6".into())));
        let header =
            "/* SQLite */\n#define SQLITE_VERSION        \"3.45.0\"\n#define SQLITE_VERSION_NUMBER 3045000\n";
        let sqlite = |version: &str| Some((SourceKind::Sqlite, version.to_owned()));
        assert_eq!(tree(&[("sqlite3.c", ""), ("sqlite3.h", header)]), sqlite("3.45.0"));
        assert_eq!(tree(&[("sqlite3/sqlite3.c", ""), ("sqlite3/sqlite3.h", header)]), sqlite("3.45.0"));
        assert_eq!(tree(&[("VERSION", "3.50.2\n"), ("src/sqlite.h.in", "")]), sqlite("3.50.2"));
        assert_eq!(tree(&[("sqlite3.h", header)]), None);
        assert_eq!(tree(&[("configure", "PACKAGE_NAME='hello'"), ("VERSION", "1.0")]), None);
    }

    #[test]
    fn an_empty_submodule_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(missing_submodule(folder.path()), None);
        let modules = "[submodule \"rocksdb\"]\n\tpath = rocksdb\n\turl = git@example.org:rocksdb.git\n";
        fs::write(folder.path().join(".gitmodules"), modules).unwrap();
        fs::create_dir(folder.path().join("rocksdb")).unwrap();
        assert_eq!(missing_submodule(folder.path()).as_deref(), Some("rocksdb"));
        fs::write(folder.path().join("rocksdb/Makefile"), "").unwrap();
        assert_eq!(missing_submodule(folder.path()), None);
    }
}
