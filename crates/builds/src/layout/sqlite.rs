//! Shared libraries of SQLite, which have no programs.

use std::io;
use std::path::Path;

use basecase_model::{Version, release_number};

use super::{Layout, Tree, looks_like_library};
use crate::binary::{self, Imprint};

/// Shared libraries of SQLite.
pub(super) struct Sqlite;

impl Layout for Sqlite {
    fn servers(&self) -> &'static [&'static str] {
        &[]
    }

    fn helpers(&self) -> &'static [&'static str] {
        &[]
    }

    fn optional(&self) -> &'static [&'static str] {
        &[]
    }

    fn owns(&self, server: &str, _bin: &Path) -> bool {
        looks_like_library(Path::new(server))
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &[]
    }

    fn version(&self, said: &str) -> Option<Version> {
        release_number(said.strip_prefix("SQLite ")?.split_whitespace().next()?)
    }

    fn missing(&self, _: &Tree, _: &Version) -> Option<(&'static str, &'static str)> {
        None
    }

    fn imprint(&self, library: &Path, _said: &str) -> io::Result<Imprint> {
        binary::read_comment(library)
    }
}
