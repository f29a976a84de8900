//! Named settings files, sized for one machine.

use std::path::{Path, PathBuf};

use basecase_model::{ConfigFacts, Dbms};
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::host::Host;
use crate::settings::{self, SyntaxError};
use crate::sizing;
use crate::suggestion::{alternatives, nearest};

static CONFIGS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../configs");

/// Settings of Postgres that basecase gives itself, because its own work depends on them.
const OWN_SETTINGS: &[&str] = &[
    "config_file",
    "data_directory",
    "event_source",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "include",
    "include_dir",
    "include_if_exists",
    "listen_addresses",
    "log_destination",
    "log_directory",
    "log_filename",
    "logging_collector",
    "port",
    "syslog_facility",
    "syslog_ident",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
];

/// The pragmas that a config of SQLite may set. SQLite ignores one that it does not know, so a typo must be found here.
const PRAGMAS: &[&str] = &[
    "analysis_limit",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "checkpoint_fullfsync",
    "foreign_keys",
    "fullfsync",
    "hard_heap_limit",
    "journal_mode",
    "journal_size_limit",
    "locking_mode",
    "mmap_size",
    "page_size",
    "read_uncommitted",
    "recursive_triggers",
    "secure_delete",
    "soft_heap_limit",
    "synchronous",
    "temp_store",
    "threads",
    "wal_autocheckpoint",
];

/// Why a config cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// No embedded config has this name.
    #[error("unknown config {name:?} for {dbms}\nhint: {near}; or give a file: ./{name}.conf")]
    Unknown {
        /// The dbms.
        dbms: Dbms,
        /// What was asked for.
        name: String,
        /// The nearest names, as a clause.
        near: String,
    },
    /// The file cannot be read.
    #[error("cannot read config {}: {source}\nhint: a name without / and .conf means a config that basecase comes with", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file's name cannot be part of a candidate's name.
    #[error("config {} has a name that cannot stand in tables\nhint: use letters, digits, - and _ only", path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// A line cannot be read.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A setting of the caller is not one that a config may have.
    #[error("--set {name}: {reason}\nhint: {hint}")]
    Extra {
        /// The setting.
        name: String,
        /// What is wrong.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// A setting is not one that a config may have, or its size cannot be worked out.
    #[error("{file}:{line}: {reason}\nhint: {hint}")]
    Setting {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u32,
        /// What is wrong.
        reason: String,
        /// What to do.
        hint: String,
    },
}

/// One setting as given to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name in small letters.
    pub name: String,
    /// Its value after sizing, without quotes.
    pub value: String,
    /// The line of the config, from 1; `None` of a setting added by the caller.
    pub line: Option<u32>,
}

/// One settings file, sized for one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The dbms it is for.
    pub dbms: Dbms,
    /// The printed name. A config that sizes itself carries the machine, e.g. `x10a_c2r24`: one name is one set of values.
    pub name: String,
    /// The file, for messages.
    pub file: String,
    /// The settings in file order.
    pub settings: Vec<Setting>,
}

impl Config {
    /// The config that is used when none is named. Every dbms has one.
    pub const DEFAULT: &'static str = "default";

    /// The names of the configs that basecase comes with.
    pub fn names(dbms: Dbms) -> Vec<String> {
        let folder = CONFIGS.get_dir(dbms.as_str());
        let files = folder.into_iter().flat_map(Dir::files);
        let stems = files.filter_map(|file| file.path().file_stem()?.to_str().map(str::to_owned));
        let mut names: Vec<String> = stems.collect();
        names.sort();
        names
    }

    /// The config `name_or_file`, sized for `host`. With a `/` or ending in `.conf` it is a file, else a name.
    ///
    /// # Errors
    /// When there is none, naming near ones, and when a line is wrong.
    pub fn find(dbms: Dbms, name_or_file: &str, host: Host) -> Result<Self, ConfigError> {
        if name_or_file.contains('/') || name_or_file.ends_with(".conf") {
            return Config::read(dbms, Path::new(name_or_file), host);
        }
        let file = format!("{}/{name_or_file}.conf", dbms.as_str());
        let Some(text) = CONFIGS.get_file(&file).and_then(|file| file.contents_utf8()) else {
            let names = Config::names(dbms);
            let near = nearest(name_or_file, names.iter().map(String::as_str));
            let near = if near.is_empty() {
                format!("there are {}", names.join(", "))
            } else {
                format!("near is {}", alternatives(&near))
            };
            return Err(ConfigError::Unknown { dbms, name: name_or_file.to_owned(), near });
        };
        Config::parse(dbms, name_or_file, &format!("configs/{file}"), text, host)
    }

    fn read(dbms: Dbms, path: &Path, host: Host) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_path_buf(), source })?;
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(ConfigError::Name { path: path.to_path_buf() });
        }
        Config::parse(dbms, name, &path.display().to_string(), &text, host)
    }

    /// Reads the text of a config and sizes it for `host`. `file` is for messages.
    ///
    /// # Errors
    /// When a line is wrong.
    pub fn parse(dbms: Dbms, name: &str, file: &str, text: &str, host: Host) -> Result<Self, ConfigError> {
        let mut config = Config { dbms, name: name.to_owned(), file: file.to_owned(), settings: Vec::new() };
        let mut is_sized = false;
        for line in settings::parse(file, text)? {
            let wrong = |reason: String, hint: String| ConfigError::Setting {
                file: file.to_owned(),
                line: line.number,
                reason,
                hint,
            };
            refuse(dbms, &line.name).map_err(|(reason, hint)| wrong(reason, hint))?;
            let sized = sizing::evaluate(&line.value, host).map_err(|reason| {
                let hint =
                    "sizes are taken from the machine's memory or cores, as configs/README.md describes";
                wrong(format!("{}: {reason}", line.name), hint.into())
            })?;
            is_sized |= sized.is_some();
            let value = sized.unwrap_or(line.value);
            config.settings.push(Setting { name: line.name, value, line: Some(line.number) });
        }
        if is_sized {
            config.name = format!("{name}_{}", host.label());
        }
        Ok(config)
    }

    /// The config with more settings. One that it has already gets the new value.
    ///
    /// # Errors
    /// When a setting is not one that a config may have.
    pub fn with_extra(mut self, extra: &[(String, String)]) -> Result<Self, ConfigError> {
        for (name, value) in extra {
            refuse(self.dbms, name).map_err(|(reason, hint)| ConfigError::Extra {
                name: name.clone(),
                reason,
                hint,
            })?;
            self.settings.retain(|setting| setting.name != *name);
            self.settings.push(Setting { name: name.clone(), value: value.clone(), line: None });
        }
        Ok(self)
    }

    /// The value of the setting `name`, where the config has it.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    }

    /// What a number depends on.
    pub fn facts(&self) -> ConfigFacts {
        let digest = Sha256::digest(self.to_text().as_bytes());
        ConfigFacts {
            name: self.name.clone(),
            settings: self
                .settings
                .iter()
                .map(|setting| (setting.name.clone(), setting.value.clone()))
                .collect(),
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }

    /// The settings as Postgres reads them from a file.
    pub(crate) fn to_text(&self) -> String {
        let line = |setting: &Setting| format!("{} = {}\n", setting.name, settings::quoted(&setting.value));
        self.settings.iter().map(line).collect()
    }
}

/// Why a config may not have the setting `name`, and what to do.
fn refuse(dbms: Dbms, name: &str) -> Result<(), (String, String)> {
    match dbms {
        Dbms::Postgres if OWN_SETTINGS.contains(&name) => {
            let hint = "leave it away; basecase sets it for every server that it starts";
            Err((format!("{name} is not for configs to set"), hint.into()))
        }
        Dbms::Sqlite if !PRAGMAS.contains(&name) => {
            let near = nearest(name, PRAGMAS.iter().copied());
            let near = if near.is_empty() { PRAGMAS.join(", ") } else { alternatives(&near) };
            Err((format!("{name} is no pragma that a config may set"), format!("did you mean {near}?")))
        }
        Dbms::Postgres | Dbms::Mysql | Dbms::Mariadb | Dbms::Sqlite => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Host = Host { cores: 2, memory_bytes: 24 << 30 };

    fn postgres(text: &str) -> Result<Config, ConfigError> {
        Config::parse(Dbms::Postgres, "mine", "mine.conf", text, HOST)
    }

    #[test]
    fn every_embedded_config_can_be_used() {
        for dbms in Dbms::ALL {
            let names = Config::names(dbms);
            assert!(names.iter().any(|name| name == Config::DEFAULT));
            for name in names {
                let config = Config::find(dbms, &name, HOST).unwrap();
                assert!(!config.settings.is_empty(), "{name}");
            }
        }
        assert_eq!(
            Config::names(Dbms::Postgres),
            ["default", "x10a", "x10b", "x10c", "x10cw4", "x10d", "x9a"]
        );
    }

    #[test]
    fn the_x10_line_differs_in_io_alone() {
        let without_io = |name: &str| {
            let settings = Config::find(Dbms::Postgres, name, HOST).unwrap().facts().settings;
            settings.into_iter().filter(|(name, _)| !name.starts_with("io_")).collect::<Vec<_>>()
        };
        for name in ["x10b", "x10c", "x10cw4", "x10d"] {
            assert_eq!(without_io(name), without_io("x10a"), "{name}");
        }
    }

    #[test]
    fn a_sized_config_carries_the_machine_in_its_name() {
        let config = Config::find(Dbms::Postgres, "x10a", HOST).unwrap();
        assert_eq!(config.name, "x10a_c2r24");
        assert_eq!(config.value("shared_buffers"), Some("6144MB"));
        assert_eq!(config.value("autovacuum_max_workers"), Some("2"));
        assert_eq!(Config::find(Dbms::Sqlite, "wal_normal", HOST).unwrap().name, "wal_normal");
    }

    #[test]
    fn mistakes_name_what_is_near() {
        let message = Config::find(Dbms::Postgres, "x10q", HOST).unwrap_err().to_string();
        assert!(message.contains("x10a"), "{message}");
        let message = postgres("port = 5433").unwrap_err().to_string();
        assert!(message.starts_with("mine.conf:1: port is not for configs"), "{message}");
        let sqlite = Config::parse(Dbms::Sqlite, "s", "s.conf", "\njournal_mod = wal", HOST);
        let message = sqlite.unwrap_err().to_string();
        assert!(message.starts_with("s.conf:2: ") && message.contains("journal_mode"), "{message}");
        assert!(matches!(Config::find(Dbms::Postgres, "./no.conf", HOST), Err(ConfigError::Read { .. })));
    }

    #[test]
    fn extra_settings_change_values_and_checksum() {
        let config = postgres("a.b = 1\nwork_mem = 4MB").unwrap();
        let before = config.facts().sha256;
        assert!(config.clone().with_extra(&[("port".into(), "5".into())]).is_err());
        let config = config.with_extra(&[("work_mem".into(), "8MB".into())]).unwrap();
        assert_eq!(config.value("work_mem"), Some("8MB"));
        assert_eq!(config.settings.len(), 2);
        assert_ne!(config.facts().sha256, before);
        assert_eq!(config.to_text(), "a.b = '1'\nwork_mem = '8MB'\n");
    }
}
