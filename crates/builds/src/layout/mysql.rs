//! Installations of MySQL and MariaDB.

use std::io;
use std::path::Path;

use basecase_model::{Dbms, Version, release_number};

use super::tree::shares;
use super::{Layout, Tree};
use crate::binary::{self, Imprint};

/// Installations of MySQL or MariaDB.
pub(super) struct Mysql {
    /// Which of the two.
    pub(super) dbms: Dbms,
}

impl Layout for Mysql {
    fn servers(&self) -> &'static [&'static str] {
        // If MariaDB has both of its names, the older is a link.
        &["mariadbd", "mysqld"]
    }

    fn helpers(&self) -> &'static [&'static str] {
        &[]
    }

    fn optional(&self) -> &'static [&'static str] {
        &[]
    }

    fn owns(&self, server: &str, bin: &Path) -> bool {
        // Older versions of MariaDB also call their server `mysqld`, but have a script of their own.
        let has_script = || shares(bin).any(|folder| folder.join("maria_add_gis_sp_bootstrap.sql").is_file());
        let is_mariadb = || server == "mariadbd" || has_script();
        self.servers().contains(&server) && is_mariadb() == (self.dbms == Dbms::Mariadb)
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        // It first reads the host's option files otherwise, and fails on any option that it does not know.
        &["--no-defaults", "--version"]
    }

    fn version(&self, said: &str) -> Option<Version> {
        // Some versions print a log line first.
        let mut words = said.split_whitespace();
        words.find(|word| *word == "Ver")?;
        let word = words.next()?;
        // Both servers may be called `mysqld`; MariaDB's names itself.
        let is_mariadb = word.contains("MariaDB");
        if is_mariadb == (self.dbms == Dbms::Mariadb) { release_number(word) } else { None }
    }

    fn missing(&self, tree: &Tree, version: &Version) -> Option<(&'static str, &'static str)> {
        let is_whole = initialises_itself(self.dbms, version) || !tree.bootstrap_scripts().is_empty();
        let hint =
            "this version is initialised by scripts in its share folder, so the installation must have them";
        (!is_whole).then_some(("share/mysql_system_tables.sql", hint))
    }

    fn imprint(&self, program: &Path, said: &str) -> io::Result<Imprint> {
        let version_text = said.split_once("Ver ").map(|(_, text)| text.to_owned());
        Ok(Imprint { version_text, ..binary::read_mysqld(program)? })
    }
}

/// Whether the server of `dbms` can create its own data directory. No version of MariaDB can.
pub fn initialises_itself(dbms: Dbms, version: &Version) -> bool {
    dbms == Dbms::Mysql && version.is_at_least(&[5, 7])
}
