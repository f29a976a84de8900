//! Named configs. They are sized for one machine, and may differ between versions.

use std::path::Path;

use basecase_builds::{Version, nearest};
use basecase_model::Dbms;
use include_dir::{Dir, include_dir};

use super::error::ConfigError;
use super::host::Host;
use super::rules::{Rules, check_line, check_value};
use super::settings::{self, Line};
use super::sizing::{self, Sized};
use super::versions::Versions;
use super::{Config, Setting};

static CONFIGS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../configs");

/// The dbms and machine that a config is read for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) dbms: Dbms,
    pub(crate) rules: &'static Rules,
    pub(crate) host: Host,
}

/// One setting with the versions that it applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ranged {
    setting: Setting,
    versions: Versions,
    is_sized: bool,
}

/// A config as written in its file, for any version; every line is checked and sized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    dbms: Dbms,
    name: String,
    file: String,
    host: Host,
    settings: Vec<Ranged>,
    rules: &'static Rules,
}

impl ConfigFile {
    /// The config that is used if none is named. Every dbms has it.
    pub const DEFAULT: &'static str = "default";

    /// The names of basecase's own configs.
    pub fn names(dbms: Dbms) -> Vec<String> {
        let folder = CONFIGS.get_dir(dbms.as_str());
        let files = folder.into_iter().flat_map(Dir::files);
        let stems = files.filter_map(|file| file.path().file_stem()?.to_str().map(str::to_owned));
        let mut names: Vec<String> = stems.collect();
        names.sort();
        names
    }

    /// [`ConfigFile::find`] for a given target.
    pub(crate) fn find_by(target: Target, name_or_file: &str) -> Result<Self, ConfigError> {
        find(target, name_or_file, None, &mut Vec::new())
    }

    /// [`ConfigFile::parse`] for a given target.
    pub(crate) fn parse_by(target: Target, name: &str, file: &str, text: &str) -> Result<Self, ConfigError> {
        read(target, name, file, text, &mut Vec::new())
    }

    /// The dbms it is for.
    pub fn dbms(&self) -> Dbms {
        self.dbms
    }

    /// Every value that the setting `name` has for any version.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.settings.iter().filter(move |ranged| ranged.setting.name == name);
        named.map(|ranged| ranged.setting.value.as_str())
    }

    /// The settings that apply to `version`. The last of several with one name wins, so a config overrides what it includes.
    pub fn for_version(&self, version: &Version) -> Config {
        let mut settings: Vec<&Ranged> = Vec::new();
        for ranged in self.settings.iter().filter(|ranged| ranged.versions.contains(version)) {
            match settings.iter_mut().find(|other| other.setting.name == ranged.setting.name) {
                Some(earlier) => *earlier = ranged,
                None => settings.push(ranged),
            }
        }
        let name = if settings.iter().any(|ranged| ranged.is_sized) {
            format!("{}_{}", self.name, self.host.label())
        } else {
            self.name.clone()
        };
        let mut config = Config {
            dbms: self.dbms,
            name,
            file: self.file.clone(),
            settings: Vec::new(),
            table_options: None,
            environment: None,
            rules: self.rules,
        };
        settings.into_iter().for_each(|ranged| config.add(ranged.setting.clone()));
        config
    }
}

/// Finds a config. `beside` is the file that includes it, and `above` are the files being read.
fn find(
    target: Target,
    name_or_file: &str,
    beside: Option<&Path>,
    above: &mut Vec<String>,
) -> Result<ConfigFile, ConfigError> {
    if name_or_file.contains('/') || name_or_file.ends_with(".conf") {
        let folder = beside.and_then(Path::parent).unwrap_or(Path::new(""));
        let path = folder.join(name_or_file);
        let text = basecase_probe::read_text(&path)
            .map_err(|source| ConfigError::Read { path: path.clone(), source })?;
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(ConfigError::Name { path });
        }
        return read(target, name, &path.display().to_string(), &text, above);
    }
    let dbms = target.dbms;
    let file = format!("{}/{name_or_file}.conf", dbms.as_str());
    let Some(text) = CONFIGS.get_file(&file).and_then(|file| file.contents_utf8()) else {
        let names = ConfigFile::names(dbms);
        let near = nearest(name_or_file, names.iter().map(String::as_str));
        let near = if near.is_empty() {
            format!("the configs are {}", names.join(", "))
        } else {
            format!("similar configs: {}", near.join(", "))
        };
        return Err(ConfigError::Unknown { dbms, name: name_or_file.to_owned(), near });
    };
    read(target, name_or_file, &format!("configs/{file}"), text, above)
}

fn read(
    target: Target,
    name: &str,
    file: &str,
    text: &str,
    above: &mut Vec<String>,
) -> Result<ConfigFile, ConfigError> {
    let Target { dbms, rules, host } = target;
    above.push(file.to_owned());
    let mut settings: Vec<Ranged> = Vec::new();
    for line in settings::parse(file, text)? {
        match line {
            Line::Include { name, number } => {
                if above.iter().filter(|other| *other == file).count() > 1 {
                    return Err(ConfigError::Circle { file: file.to_owned(), line: number, name });
                }
                let included = find(target, &name, Some(Path::new(file)), above)?;
                settings.extend(included.settings);
            }
            Line::Setting { name, value, versions, number } => {
                let wrong = |reason: String, hint: String| ConfigError::Setting {
                    file: file.to_owned(),
                    line: number,
                    reason,
                    hint,
                };
                let name = rules.spelled(&name);
                let checked = check_line(&name, &value).and_then(|()| rules.refuse(&name));
                checked.map_err(|(reason, hint)| wrong(reason, hint))?;
                let sized = sizing::evaluate(&value, rules.megabyte, host).map_err(|reason| {
                    let hint = "configs/README.md describes how values are sized";
                    wrong(format!("{name}: {reason}"), hint.into())
                })?;
                let (value, is_sized) = match sized {
                    Sized::Fixed => (value, false),
                    Sized::To(size) => (size, true),
                    Sized::Default => continue,
                };
                check_value(&name, &value).map_err(|(reason, hint)| wrong(reason, hint))?;
                let place = format!("{file}:{number}");
                let setting = Setting { name, value, place };
                settings.push(Ranged { setting, versions, is_sized });
            }
        }
    }
    above.pop();
    Ok(ConfigFile { dbms, name: name.to_owned(), file: file.to_owned(), host, settings, rules })
}

#[cfg(test)]
mod tests {
    use super::*;
    use basecase_model::Dbms;

    const HOST: Host = Host { cores: 2, memory_bytes: 24 << 30, is_limited: false };

    fn embedded(dbms: Dbms, name: &str, version: &str) -> Config {
        ConfigFile::find(dbms, name, HOST).unwrap().for_version(&version.parse().unwrap())
    }

    #[test]
    fn every_embedded_config_can_be_used() {
        for dbms in Dbms::ALL {
            let names = ConfigFile::names(dbms);
            assert!(names.iter().any(|name| name == ConfigFile::DEFAULT), "{dbms}");
            for name in names {
                let config = ConfigFile::find(dbms, &name, HOST).unwrap();
                assert!(!config.settings.is_empty(), "{name}");
            }
        }
    }

    #[test]
    fn the_x10_line_differs_in_io_alone() {
        let without_io = |name: &str| {
            let settings = embedded(Dbms::Postgres, name, "18.6").facts().settings;
            settings.into_iter().filter(|(name, _)| !name.starts_with("io_")).collect::<Vec<_>>()
        };
        for name in ["x10b", "x10c", "x10cw4", "x10d"] {
            assert_eq!(without_io(name), without_io("x10a"), "{name}");
        }
    }

    #[test]
    fn a_sized_config_carries_the_machine_in_its_name() {
        let config = embedded(Dbms::Postgres, "x10a", "17.11");
        assert_eq!(config.name, "x10a_c2r24");
        assert_eq!(config.value("shared_buffers"), Some("6144MB"));
        assert_eq!(config.value("autovacuum_max_workers"), Some("2"));
        assert_eq!(embedded(Dbms::Sqlite, "wal_normal", "3.50").name, "wal_normal");
    }

    #[test]
    fn mistakes_name_what_is_near() {
        let message = ConfigFile::find(Dbms::Postgres, "x10q", HOST).unwrap_err().to_string();
        assert!(message.contains("x10a"), "{message}");
        let parse = |dbms, text| ConfigFile::parse(dbms, "mine", "mine.conf", text, HOST);
        let message = parse(Dbms::Postgres, "port = 5433").unwrap_err().to_string();
        assert!(message.starts_with("mine.conf:1: port cannot be set by a config"), "{message}");
        let message = parse(Dbms::Sqlite, "\njournal_mod = wal").unwrap_err().to_string();
        assert!(message.starts_with("mine.conf:2: ") && message.contains("journal_mode"), "{message}");
        let missing = ConfigFile::find(Dbms::Postgres, "./no.conf", HOST);
        assert!(matches!(missing, Err(ConfigError::Read { .. })));
    }

    #[test]
    fn environments_are_checked_with_file_and_line() {
        let parse = |dbms, text| ConfigFile::parse(dbms, "mine", "mine.conf", text, HOST);
        let refusal = |dbms, text| parse(dbms, text).unwrap_err().to_string();
        let message = refusal(Dbms::Mariadb, "a = 1\nenvironment = 'A=1 LD_PRELOAD=/x.so'");
        assert!(
            message.starts_with("mine.conf:2: environment: LD_PRELOAD cannot be set by a config\nhint: "),
            "{message}"
        );
        let message = refusal(Dbms::Sqlite, "environment = 'A=1'");
        assert!(
            message.starts_with("mine.conf:1: environment cannot be set where there is no server\nhint: "),
            "{message}"
        );
        let sized = parse(Dbms::Mariadb, "environment = 'A={memory:25%, 1MB..8MB} B={cores:100%}'").unwrap();
        assert_eq!(sized.for_version(&"11.4".parse().unwrap()).environment(), [("A", "8m"), ("B", "2")]);
    }

    #[test]
    fn za1ps0_arena1_differs_from_za1ps0_in_the_environment_alone() {
        let settings = |name: &str| embedded(Dbms::Mariadb, name, "10.11").facts().settings;
        let mut expected = settings("za1ps0");
        expected.push(("environment".into(), "MALLOC_ARENA_MAX=1".into()));
        assert_eq!(settings("za1ps0_arena1"), expected);
    }

    #[test]
    fn included_settings_are_replaced_in_their_place() {
        let text = "include x10a\nwal_compression = pglz\n[18..]\nio_method = sync";
        let file = ConfigFile::parse(Dbms::Postgres, "mine", "mine.conf", text, HOST).unwrap();
        let config = file.for_version(&"17.11".parse().unwrap());
        assert_eq!((config.value("wal_compression"), config.value("io_method")), (Some("pglz"), None));
        assert_eq!(config.settings.len(), embedded(Dbms::Postgres, "x10a", "17.11").settings.len());
        let config = file.for_version(&"18.1".parse().unwrap());
        assert_eq!(config.value("io_method"), Some("sync"));
        let own = |name: &str| config.settings.iter().find(|one| one.name == name).unwrap().place.clone();
        assert_eq!(own("wal_compression"), "mine.conf:2");
        assert!(own("shared_buffers").starts_with("configs/postgres/x10a.conf:"));
    }

    #[test]
    fn files_that_include_each_other_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (name, other) in [("a", "b"), ("b", "a")] {
            let text = format!("include {other}.conf\nwork_mem = 4MB\n");
            std::fs::write(folder.path().join(format!("{name}.conf")), text).unwrap();
        }
        let path = folder.path().join("a.conf");
        let error = ConfigFile::find(Dbms::Postgres, path.to_str().unwrap(), HOST).unwrap_err();
        assert!(matches!(error, ConfigError::Circle { .. }), "{error}");
    }
}
