//! Build types and arguments of each kind of source, as data.

use std::collections::BTreeMap;

use basecase_model::Version;
use serde::Deserialize;

use super::error::CompileError;
use crate::setup::Setup;
use crate::source_tree::SourceKind;

/// One file under `recipes/source`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    flags: Vec<String>,
    argument: Vec<Argument>,
    #[serde(rename = "type")]
    types: Vec<Type>,
    #[serde(default)]
    words: BTreeMap<String, String>,
    /// Source packages of Debian.
    #[serde(default)]
    pub(crate) debian: Vec<DebianSource>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Argument {
    text: String,
    from: Option<String>,
    library: Option<String>,
    without_library: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Type {
    name: String,
    flags: Option<String>,
    #[serde(default)]
    arguments: Vec<String>,
}

/// A source package of Debian that has one version.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DebianSource {
    pub(crate) version: String,
    pub(crate) suite: String,
    pub(crate) package: String,
}

/// The arguments of configure or CMake, and their short name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// The arguments in order; `{source}` in one stands for the folder of the source.
    pub(crate) arguments: Vec<String>,
    /// The short name of the build: its type, or its flags as a name.
    pub(crate) name: String,
    /// The compiler flags, if they are known.
    pub(crate) flags: Option<String>,
}

impl Table {
    /// The table of `kind`.
    ///
    /// # Errors
    /// If an embedded file is broken, which a test rules out.
    pub(crate) fn of(kind: SourceKind) -> Result<Table, CompileError> {
        let text = match kind {
            SourceKind::Postgres => include_str!("../../../../recipes/source/postgres.toml"),
            SourceKind::Mysql => include_str!("../../../../recipes/source/mysql.toml"),
            SourceKind::FbMysql => include_str!("../../../../recipes/source/fb-mysql.toml"),
            SourceKind::Mariadb => include_str!("../../../../recipes/source/mariadb.toml"),
            SourceKind::Sqlite => include_str!("../../../../recipes/source/sqlite.toml"),
        };
        toml::from_str(text).map_err(|error| CompileError::Data {
            file: format!("recipes/source/{}.toml", kind.as_str()),
            reason: error.to_string(),
        })
    }

    /// The configuration for `setup` on a version of `branch`. `has_library` tells whether the system has a library with
    /// that pkg-config name. `extra` are the user's own arguments, which come last and so take precedence.
    ///
    /// # Errors
    /// If there is no such type.
    pub(crate) fn configuration(
        &self,
        kind: SourceKind,
        branch: &Version,
        setup: &Setup,
        has_library: &dyn Fn(&str) -> bool,
        extra: &[String],
    ) -> Result<Configuration, CompileError> {
        let with_flags = |flags: &str| -> Vec<String> {
            self.flags.iter().map(|template| template.replace("{flags}", flags)).collect()
        };
        let (name, flags, mut chosen) = match setup {
            Setup::Flags(flags) => {
                let same = self.types.iter().find(|one| {
                    one.arguments.is_empty()
                        && one.flags.as_deref().is_some_and(|text| words(text) == words(flags))
                });
                let name = same.map_or_else(|| super::label::of_flags(flags), |one| one.name.clone());
                (name, Some(flags.clone()), with_flags(flags))
            }
            Setup::Default | Setup::Type(_) => {
                let one = self.type_of(kind, setup)?;
                let flags = one.flags.as_deref().map(with_flags).unwrap_or_default();
                (one.name.clone(), one.flags.clone(), [flags, one.arguments.clone()].concat())
            }
        };
        for argument in &mut chosen {
            for (word, text) in &self.words {
                *argument = argument.replace(&format!("{{{word}}}"), text);
            }
        }
        let common = self.argument.iter().filter(|argument| {
            let is_known = argument
                .from
                .as_ref()
                .is_none_or(|from| from.parse::<Version>().is_ok_and(|from| *branch >= from));
            is_known
                && argument.library.as_deref().is_none_or(has_library)
                && argument.without_library.as_deref().is_none_or(|library| !has_library(library))
        });
        let mut arguments: Vec<String> = common.map(|argument| argument.text.clone()).collect();
        arguments.extend(chosen);
        arguments.extend_from_slice(extra);
        Ok(Configuration { arguments, name, flags })
    }

    fn type_of(&self, kind: SourceKind, setup: &Setup) -> Result<&Type, CompileError> {
        let found = match setup {
            Setup::Type(name) => self.types.iter().find(|one| one.name == *name),
            _ => self.types.first(),
        };
        found.ok_or_else(|| CompileError::Type {
            tree: kind.as_str().to_owned(),
            name: if let Setup::Type(name) = setup { name.clone() } else { String::new() },
            known: self.types.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [SourceKind; 5] = [
        SourceKind::Postgres,
        SourceKind::Mysql,
        SourceKind::FbMysql,
        SourceKind::Mariadb,
        SourceKind::Sqlite,
    ];

    fn configuration(kind: SourceKind, branch: &str, setup: &Setup, libraries: &[&str]) -> Configuration {
        let has = |name: &str| libraries.contains(&name);
        let table = Table::of(kind).unwrap();
        table.configuration(kind, &branch.parse().unwrap(), setup, &has, &["--extra".into()]).unwrap()
    }

    #[test]
    fn every_type_of_every_table_is_whole() {
        for kind in KINDS {
            let table = Table::of(kind).unwrap();
            assert!(
                table
                    .argument
                    .iter()
                    .all(|one| one.from.as_ref().is_none_or(|from| from.parse::<Version>().is_ok()))
            );
            for one in &table.types {
                let made = configuration(kind, "18", &Setup::Type(one.name.clone()), &[]);
                assert_eq!(made.name, one.name);
                let rest = made.arguments.iter().map(|text| text.replace("{source}", "")).collect::<String>();
                assert!(!rest.contains('{'), "{rest}");
                assert!(!kind.uses_cmake() || rest.contains("-DCMAKE_BUILD_TYPE="), "{rest}");
            }
        }
    }

    #[test]
    fn arguments_of_postgres_depend_on_branch_and_libraries() {
        let o2nofp = Setup::Type("o2nofp".into());
        let old = configuration(SourceKind::Postgres, "9.6", &o2nofp, &["liblz4", "libzstd", "liburing"]);
        assert_eq!(
            old.arguments,
            ["--enable-debug", "--without-readline", "CFLAGS=-O2 -fno-omit-frame-pointer", "--extra"]
        );
        let new =
            configuration(SourceKind::Postgres, "18", &Setup::Default, &["liblz4", "libzstd", "liburing"]);
        assert_eq!(new.name, "def");
        assert_eq!(
            new.arguments,
            [
                "--enable-debug",
                "--without-readline",
                "--without-icu",
                "--with-lz4",
                "--with-zstd",
                "--with-liburing",
                "--extra"
            ]
        );
        let icu = configuration(SourceKind::Postgres, "16", &Setup::Default, &["icu-uc"]);
        assert_eq!(icu.arguments, ["--enable-debug", "--without-readline", "--extra"]);
    }

    #[test]
    fn flags_that_are_a_type_have_its_name() {
        let name_of =
            |flags: &str| configuration(SourceKind::Postgres, "17", &Setup::Flags(flags.into()), &[]).name;
        assert_eq!(name_of(" -O2  -fno-omit-frame-pointer"), "o2nofp");
        assert_eq!(name_of("-O0"), "o0");
        // This type has an argument beside its flags.
        assert_ne!(name_of("-O3 -march=native -mtune=native -flto"), "o3_native_lto");
    }

    #[test]
    fn the_types_of_published_results_are_there() {
        for name in ["rel", "rel_o2nofp", "rel_withdbg", "rel_native", "rel_lto", "rel_lessps"] {
            for kind in [SourceKind::Mysql, SourceKind::Mariadb] {
                configuration(kind, "10.11", &Setup::Type(name.into()), &[]);
            }
        }
        let fb = configuration(SourceKind::FbMysql, "8.0", &Setup::Type("rel".into()), &[]);
        assert!(fb.arguments.iter().any(|text| text.contains("-DROCKSDB_PLATFORM_POSIX")), "{fb:?}");
        let table = Table::of(SourceKind::FbMysql).unwrap();
        let wrong = table.configuration(
            SourceKind::FbMysql,
            &"8.0".parse().unwrap(),
            &Setup::Type("o3".into()),
            &|_| false,
            &[],
        );
        assert!(
            wrong
                .unwrap_err()
                .to_string()
                .starts_with("fb-mysql has no build type \"o3\"\nhint: choose from rel, ")
        );
    }
}
