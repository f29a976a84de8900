//! Where the programs and files of a build lie.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use basecase_model::Dbms;
use basecase_process::Account;

use super::{all_servers, layout_of};

/// Folders that may hold the server program, below the folder that the user or a recipe names.
const PROGRAM_FOLDERS: &[&str] = &[
    "bin",
    "sbin",
    "libexec",
    "usr/sbin",
    "usr/libexec",
    "",
    // Layouts of MySQL packages from Maven and npm.
    "server",
    "package/server",
    "Linux-x86_64",
];
/// The name of SQLite's library where basecase compiles it, and the names in installations, with their folders.
const LIBRARIES: &[&str] = &["libsqlite3.so", "libsqlite3.so.0"];
const LIBRARY_PLACES: &[&str] = &["", "lib", ".libs", "lib/x86_64-linux-gnu", "lib64"];
/// The folder in a build's tree for libraries that basecase added.
pub(crate) const SUPPLIED: &str = ".basecase-lib";
/// Folders of shared libraries that the loader does not search by itself: those that basecase added, and those that came
/// with a package.
const LIBRARY_FOLDERS: &[&str] = &[SUPPLIED, "libs"];
/// Where MySQL and MariaDB keep messages and bootstrap scripts, below an installation.
const SHARE_FOLDERS: &[&str] = &["share", "share/mysql", "share/mariadb"];
/// Where MySQL and MariaDB keep plugins.
const PLUGIN_FOLDERS: &[&str] = &["lib/plugin", "lib/mysql/plugin", "lib64/mysql/plugin", "lib64/plugin"];
/// The scripts that `mysql_install_db` feeds to a server without `--initialize`, in this order. In later versions of
/// MariaDB, names begin with `mariadb_` instead of `mysql_`. `mysql_system_tables_data.sql` is left out, because it only
/// creates accounts.
const BOOTSTRAP_SCRIPTS: &[&str] = &[
    "{}_system_tables.sql",
    "{}_performance_tables.sql",
    "fill_help_tables.sql",
    "maria_add_gis_sp_bootstrap.sql",
    "{}_sys_schema.sql",
];

/// Where the programs and files of a build lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    bin: PathBuf,
    server: String,
    dbms: Dbms,
    libraries: Vec<PathBuf>,
}

impl Tree {
    /// The installation at `path`, which is its prefix or its folder of programs, or a shared library; `None` if there is no
    /// server program and no library of SQLite.
    pub fn find(path: &Path) -> Option<Self> {
        if looks_like_library(path) && path.is_file() {
            return Tree::of_library(path);
        }
        let folders = PROGRAM_FOLDERS.iter().map(|folder| path.join(folder));
        let servers = all_servers();
        let found = folders
            .flat_map(|folder| servers.iter().map(move |server| (folder.clone(), *server)))
            .find(|(folder, server)| folder.join(server).is_file());
        let Some((folder, server)) = found else {
            let places = LIBRARY_PLACES
                .iter()
                .flat_map(|place| LIBRARIES.iter().map(move |name| path.join(place).join(name)));
            return places
                .into_iter()
                .find(|library| library.is_file())
                .and_then(|one| Tree::of_library(&one));
        };
        let bin = folder.canonicalize().ok()?;
        let dbms = Dbms::ALL.into_iter().find(|dbms| layout_of(*dbms).owns(server, &bin))?;
        let tops = [path.canonicalize().ok()?, prefix(&bin).to_path_buf()];
        let mut libraries: Vec<PathBuf> = tops
            .iter()
            .flat_map(|top| LIBRARY_FOLDERS.iter().map(|folder| top.join(folder)))
            .filter(|folder| folder.is_dir())
            .collect();
        libraries.dedup();
        Some(Tree { bin, server: server.to_owned(), dbms, libraries })
    }

    /// The shared library at `path`, which stays under the name that it has there.
    fn of_library(path: &Path) -> Option<Self> {
        // A bare name has no folder.
        let path = std::path::absolute(path).ok()?;
        let bin = path.parent()?.canonicalize().ok()?;
        let server = path.file_name()?.to_str()?.to_owned();
        Some(Tree { bin, server, dbms: Dbms::Sqlite, libraries: Vec::new() })
    }

    /// The folder of the programs.
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// The name of the server program, or of the library where the dbms has none.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The dbms, judged by files.
    pub fn dbms(&self) -> Dbms {
        self.dbms
    }

    /// What MySQL calls `basedir`.
    pub fn prefix(&self) -> &Path {
        prefix(&self.bin)
    }

    /// A command for the program `name`, which finds the libraries of the tree.
    pub fn command(&self, name: &str, account: Option<&Account>) -> Command {
        let mut command = basecase_process::command(&self.bin.join(name), account);
        let folders: Vec<&str> = self.libraries.iter().filter_map(|folder| folder.to_str()).collect();
        if !folders.is_empty() {
            command.env("LD_LIBRARY_PATH", folders.join(":"));
        }
        command
    }

    /// The folder of MySQL's and MariaDB's messages, with a subfolder for each language.
    pub fn messages(&self) -> Option<PathBuf> {
        shares(&self.bin).find(|folder| folder.join("english/errmsg.sys").is_file())
    }

    /// The folder of MySQL's or MariaDB's plugins.
    pub fn plugins(&self) -> Option<PathBuf> {
        let folders = PLUGIN_FOLDERS.iter().map(|folder| self.prefix().join(folder));
        folders.into_iter().find(|folder| folder.is_dir())
    }

    /// The RocksDB plugin, if RocksDB is not compiled into the server.
    pub fn rocksdb_plugin(&self) -> Option<PathBuf> {
        self.plugins().map(|folder| folder.join("ha_rocksdb.so")).filter(|path| path.is_file())
    }

    /// The scripts that fill a new data directory for a server without `--initialize`, in order; none if the tree lacks the
    /// first.
    pub fn bootstrap_scripts(&self) -> Vec<PathBuf> {
        let scripts_in = |folder: PathBuf| -> Vec<PathBuf> {
            let names = BOOTSTRAP_SCRIPTS.iter().flat_map(|name| {
                let spellings = [name.replace("{}", "mariadb"), name.replace("{}", "mysql")];
                spellings.into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
            });
            names.collect()
        };
        let has_first = |scripts: &Vec<PathBuf>| {
            scripts.first().is_some_and(|path| path.to_string_lossy().ends_with("_system_tables.sql"))
        };
        shares(&self.bin).map(scripts_in).find(has_first).unwrap_or_default()
    }
}

/// The folders of the installation with the programs `bin` that may hold messages and scripts of MySQL and MariaDB.
pub(super) fn shares(bin: &Path) -> impl Iterator<Item = PathBuf> {
    // One package has `share` beside the folder of its program.
    let tops = [Some(prefix(bin)), prefix(bin).parent()];
    let folders =
        tops.into_iter().flatten().flat_map(|top| SHARE_FOLDERS.iter().map(move |folder| top.join(folder)));
    folders.filter(|folder| fs::metadata(folder).is_ok_and(|metadata| metadata.is_dir()))
}

/// Whether the name at the end of `path` is one of a shared library.
pub(crate) fn looks_like_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".so") || name.contains(".so.")
}

/// The parent of `bin` if that has a usual name for a folder of programs, otherwise `bin` itself.
fn prefix(bin: &Path) -> &Path {
    let is_usual = bin.file_name().is_some_and(|name| name == "bin" || name == "sbin" || name == "libexec");
    if is_usual { bin.parent().unwrap_or(bin) } else { bin }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with empty files.
    fn tree(files: &[&str]) -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        for file in files {
            let path = top.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        top
    }

    fn names(paths: &[PathBuf]) -> Vec<&str> {
        paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect()
    }

    #[test]
    fn installations_of_all_shapes_are_recognised() {
        for (file, server, prefix) in [
            ("bin/postgres", "postgres", ""),
            ("bin/mysqld", "mysqld", ""),
            ("usr/sbin/mariadbd", "mariadbd", "usr"),
            ("package/server/mysqld", "mysqld", "package/server"),
            ("Linux-x86_64/mysqld", "mysqld", "Linux-x86_64"),
            ("mysqld", "mysqld", ""),
        ] {
            let top = tree(&[file]);
            let found = Tree::find(top.path()).unwrap();
            assert_eq!(found.server(), server, "{file}");
            assert_eq!(found.prefix(), top.path().join(prefix).canonicalize().unwrap(), "{file}");
        }
        assert!(Tree::find(tree(&["bin/psql"]).path()).is_none());
    }

    #[test]
    fn the_dbms_is_told_by_files() {
        let dbms = |files: &[&str]| Tree::find(tree(files).path()).unwrap().dbms();
        assert_eq!(dbms(&["bin/postgres"]), Dbms::Postgres);
        assert_eq!(dbms(&["bin/mysqld"]), Dbms::Mysql);
        assert_eq!(dbms(&["bin/mysqld", "bin/mariadbd"]), Dbms::Mariadb);
        assert_eq!(dbms(&["bin/mysqld", "share/maria_add_gis_sp_bootstrap.sql"]), Dbms::Mariadb);
    }

    #[test]
    fn a_folder_of_programs_leads_to_its_prefix() {
        let top = tree(&["bin/mysqld", "share/english/errmsg.sys", "lib/plugin/a.so"]);
        let found = Tree::find(&top.path().join("bin")).unwrap();
        let top = top.path().canonicalize().unwrap();
        assert_eq!(found.messages(), Some(top.join("share")));
        assert_eq!(found.plugins(), Some(top.join("lib/plugin")));
    }

    #[test]
    fn libraries_of_the_tree_are_given_to_its_programs() {
        let top = tree(&["bin/mysqld", "libs/libaio.so.1"]);
        let found = Tree::find(top.path()).unwrap();
        let command = found.command("mysqld", None);
        let value = command.get_envs().find(|(name, _)| *name == "LD_LIBRARY_PATH").unwrap().1.unwrap();
        assert_eq!(value, top.path().canonicalize().unwrap().join("libs"));
        assert!(Tree::find(tree(&["bin/mysqld"]).path()).unwrap().libraries.is_empty());
    }

    #[test]
    fn scripts_stand_in_the_order_in_which_they_run() {
        let top = tree(&[
            "usr/sbin/mariadbd",
            "usr/share/mariadb/mariadb_system_tables.sql",
            "usr/share/mariadb/mariadb_system_tables_data.sql",
            "usr/share/mariadb/mariadb_sys_schema.sql",
            "usr/share/mariadb/fill_help_tables.sql",
        ]);
        let scripts = Tree::find(top.path()).unwrap().bootstrap_scripts();
        assert_eq!(
            names(&scripts),
            ["mariadb_system_tables.sql", "fill_help_tables.sql", "mariadb_sys_schema.sql"]
        );
        let top = tree(&["mysqld", "share/fill_help_tables.sql"]);
        assert!(Tree::find(top.path()).unwrap().bootstrap_scripts().is_empty());
    }
}
