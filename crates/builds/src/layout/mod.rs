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
    /// The names that its server program may have. If an installation has several, the first counts.
    fn servers(&self) -> &'static [&'static str];

    /// The other programs without which a server cannot be started.
    fn helpers(&self) -> &'static [&'static str];

    /// The other programs that basecase runs where an installation has them.
    fn optional(&self) -> &'static [&'static str];

    /// Whether an installation is its own that has the program `server`, or the library of this name, in the folder `bin`.
    fn owns(&self, server: &str, _bin: &Path) -> bool {
        self.servers().contains(&server)
    }

    /// The arguments with which its server program tells its version.
    fn version_arguments(&self) -> &'static [&'static str];

    /// The version in the server's answer to [`Layout::version_arguments`], without what packagers and forks add; `None` if
    /// the answer is not this server's.
    fn version(&self, said: &str) -> Option<Version>;

    /// The file that a tree lacks to be initialised and started, and a sentence on what a complete one has.
    fn missing(&self, tree: &Tree, version: &Version) -> Option<(&'static str, &'static str)>;

    /// How the server program was compiled, according to its file and to `said`, its answer to
    /// [`Layout::version_arguments`].
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
pub(crate) fn layout_of(dbms: Dbms) -> &'static dyn Layout {
    match dbms {
        Dbms::Postgres => &postgres::Postgres,
        Dbms::Mysql => &mysql::Mysql { dbms: Dbms::Mysql },
        Dbms::Mariadb => &mysql::Mysql { dbms: Dbms::Mariadb },
        Dbms::Sqlite => &sqlite::Sqlite,
    }
}

/// The names of the server programs of `dbms`; none where it has no server.
pub fn server_programs(dbms: Dbms) -> &'static [&'static str] {
    layout_of(dbms).servers()
}

/// The names of the server programs of every dbms, each once.
pub(crate) fn all_servers() -> Vec<&'static str> {
    let mut names = Vec::new();
    for name in Dbms::ALL.into_iter().flat_map(server_programs) {
        if !names.contains(name) {
            names.push(*name);
        }
    }
    names
}

/// The names of the programs of every dbms that basecase runs.
pub(crate) fn all_programs() -> Vec<&'static str> {
    let of = |layout: &'static dyn Layout| [layout.servers(), layout.helpers(), layout.optional()];
    Dbms::ALL.into_iter().map(layout_of).flat_map(of).flatten().copied().collect()
}
