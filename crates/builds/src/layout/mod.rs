//! Where the programs and files of installations lie, and how that differs by dbms: their programs, what these report of themselves, and what a
//! complete installation has.

mod mysql;
mod postgres;
mod sqlite;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use basecase_model::{Dbms, Version};
use basecase_process::Account;

use crate::binary::Imprint;
pub use mysql::initialises_itself;
pub use tree::Tree;
pub(crate) use tree::{SUPPLIED, looks_like_library};

/// How installations differ by dbms.
pub(crate) trait Layout: Sync {
    /// The names of its server programs.
    fn programs(&self) -> &'static [&'static str];

    /// The version in the server's answer to `--version`, without what packagers and forks add; `None` if the answer is not
    /// this server's.
    fn version(&self, said: &str) -> Option<Version>;

    /// The file that a tree lacks to be initialised and started, and a sentence on what a complete one has.
    fn missing(&self, tree: &Tree, version: &Version) -> Option<(&'static str, &'static str)>;

    /// How the server program was compiled, according to its file and to `said`, its answer to `--version`.
    ///
    /// # Errors
    /// If the program cannot be read.
    fn imprint(&self, program: &Path, said: &str) -> io::Result<Imprint>;

    /// What its other programs report about how they were compiled, by name.
    fn details(&self, _tree: &Tree, _account: Option<&Account>) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// The layout of installations of `dbms`.
pub(crate) fn layout_of(dbms: Dbms) -> Option<&'static dyn Layout> {
    match dbms {
        Dbms::Postgres => Some(&postgres::Postgres),
        Dbms::Mysql => Some(&mysql::Mysql { dbms: Dbms::Mysql }),
        Dbms::Mariadb => Some(&mysql::Mysql { dbms: Dbms::Mariadb }),
        Dbms::Sqlite => Some(&sqlite::Sqlite),
    }
}

/// The names of the server programs of `dbms`; none where it has no server.
pub fn server_programs(dbms: Dbms) -> &'static [&'static str] {
    layout_of(dbms).map_or(&[], Layout::programs)
}
