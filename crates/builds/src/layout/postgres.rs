//! Installations of Postgres.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use basecase_model::{Version, release_number};
use basecase_process::Account;

use super::{Layout, Tree};
use crate::binary::{self, Imprint};

/// Installations of Postgres.
pub(super) struct Postgres;

impl Layout for Postgres {
    fn servers(&self) -> &'static [&'static str] {
        &["postgres"]
    }

    fn helpers(&self) -> &'static [&'static str] {
        &["initdb"]
    }

    fn optional(&self) -> &'static [&'static str] {
        &["pg_config"]
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn version(&self, said: &str) -> Option<Version> {
        let mut words = said.split_whitespace();
        words.find(|word| *word == "(PostgreSQL)")?;
        release_number(words.next()?)
    }

    fn missing(&self, tree: &Tree, _: &Version) -> Option<(&'static str, &'static str)> {
        let hint = "an installation that basecase can start has postgres and initdb in one folder";
        (!tree.bin().join("initdb").is_file()).then_some(("initdb", hint))
    }

    fn imprint(&self, program: &Path, _said: &str) -> io::Result<Imprint> {
        binary::read(program)
    }

    fn details(&self, tree: &Tree, account: Option<&Account>) -> BTreeMap<String, String> {
        match tree.command("pg_config", account).output() {
            Ok(output) if output.status.success() => {
                binary::parse_pg_config(&String::from_utf8_lossy(&output.stdout))
            }
            _ => BTreeMap::new(),
        }
    }
}
