//! The settings of one server: a config for one version on one machine.

mod environment;
mod error;
mod file;
mod host;
mod rules;
mod settings;
mod sizing;
mod versions;

use basecase_model::{ConfigFacts, Dbms, hexadecimal};
use sha2::{Digest, Sha256};

pub use error::ConfigError;
pub use file::ConfigFile;
pub(crate) use file::Target;
pub use host::Host;
pub use rules::ConnectionLimit;
pub(crate) use rules::Rules;
pub use settings::SyntaxError;
pub(crate) use settings::quoted;
pub(crate) use sizing::share_of_memory;

use environment::variables;
use rules::{check_line, check_value};

/// The option that tries a setting.
pub(crate) const TRY: &str = "--try";
/// The most letters of a value in the name of a config: data lies in folders of that name, and sockets in them.
const VALUE_LETTERS: usize = 24;

/// The name of a setting as a config spells it.
///
/// # Errors
/// If no config may have it, or the value is not one line.
pub(crate) fn checked_name(
    rules: &Rules,
    option: &'static str,
    name: &str,
    value: &str,
) -> Result<String, ConfigError> {
    let name = rules.spelled(name);
    let checked = check_line(&name, value).and_then(|()| rules.refuse(&name));
    match checked.and_then(|()| check_value(&name, value)) {
        Ok(()) => Ok(name),
        Err((reason, hint)) => Err(ConfigError::Extra { option, name, reason, hint }),
    }
}

/// A value as a part of a name: a word that files can be named by.
fn word_of(value: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '_' };
    value.chars().take(VALUE_LETTERS).map(letter).collect()
}

/// One setting as given to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name in lower case.
    pub name: String,
    /// Its value after sizing, without quotes.
    pub value: String,
    /// Where it was written, for messages: `FILE:LINE`, or `--set` if the caller added it.
    pub place: String,
}

/// The settings of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The dbms it is for.
    pub dbms: Dbms,
    /// The name in reports. A config with sized values includes the machine, e.g. `x10a_c2r24`.
    pub name: String,
    /// The file, for messages.
    pub file: String,
    /// The settings in file order, each name once.
    pub settings: Vec<Setting>,
    /// What is not for the server: text behind each CREATE TABLE.
    pub(crate) table_options: Option<String>,
    /// What is not for the server either: the variables of its process.
    pub(crate) environment: Option<String>,
    /// Which settings are allowed.
    pub(crate) rules: &'static Rules,
}

impl Config {
    /// The config with more settings, which override those that it has.
    ///
    /// # Errors
    /// If a config may not have a setting.
    pub fn with_extra(mut self, extra: &[(String, String)]) -> Result<Self, ConfigError> {
        for (name, value) in extra {
            let name = checked_name(self.rules, "--set", name, value)?;
            self.set(name, Some(value), "--set");
        }
        Ok(self)
    }

    /// The config with one setting changed, under a name that tells it: `x10a_c2r24+jit=off`. Without a value the setting is left out, so
    /// that the server's default holds.
    ///
    /// # Errors
    /// If a config may not have the setting.
    pub fn varied(mut self, name: &str, value: Option<&str>) -> Result<Self, ConfigError> {
        let name = checked_name(self.rules, TRY, name, value.unwrap_or_default())?;
        self.name = format!("{}+{name}={}", self.name, word_of(value.unwrap_or("default")));
        self.set(name, value, TRY);
        Ok(self)
    }

    /// Sets or removes a setting.
    fn set(&mut self, name: String, value: Option<&str>, place: &str) {
        match name.as_str() {
            ConfigFacts::TABLE_OPTIONS => self.table_options = None,
            ConfigFacts::ENVIRONMENT => self.environment = None,
            _ => self.settings.retain(|setting| setting.name != name),
        }
        if let Some(value) = value {
            self.add(Setting { name, value: value.to_owned(), place: place.into() });
        }
    }

    /// Adds a setting that it does not have, to those of the server or to what is not for the server.
    fn add(&mut self, setting: Setting) {
        match setting.name.as_str() {
            ConfigFacts::TABLE_OPTIONS => self.table_options = Some(setting.value),
            // Without variables it is the same config as without the line.
            ConfigFacts::ENVIRONMENT => {
                self.environment = variables(&setting.value).next().map(|_| setting.value.clone());
            }
            _ => self.settings.push(setting),
        }
    }

    /// The value of the setting `name`, if the config has it.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    }

    /// The text that stands behind each CREATE TABLE, if the config has one.
    pub fn table_options(&self) -> Option<&str> {
        self.table_options.as_deref()
    }

    /// The environment variables of the server's process, beside those that basecase sets.
    pub fn environment(&self) -> Vec<(&str, &str)> {
        variables(self.environment.as_deref().unwrap_or_default()).collect()
    }

    /// The facts that results depend on.
    pub fn facts(&self) -> ConfigFacts {
        let beside = [
            (ConfigFacts::TABLE_OPTIONS, &self.table_options),
            (ConfigFacts::ENVIRONMENT, &self.environment),
        ];
        let beside: Vec<(String, String)> =
            beside.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect();
        let mut text = self.to_text();
        text.extend(beside.iter().map(|(name, value)| format!("{name} = {}\n", quoted(value))));
        let digest = Sha256::digest(text.as_bytes());
        ConfigFacts {
            name: self.name.clone(),
            settings: self
                .settings
                .iter()
                .map(|setting| (setting.name.clone(), setting.value.clone()))
                .chain(beside)
                .collect(),
            sha256: hexadecimal(&digest),
        }
    }

    /// The settings in the format of `postgresql.conf`.
    pub(crate) fn to_text(&self) -> String {
        let line = |setting: &Setting| format!("{} = {}\n", setting.name, quoted(&setting.value));
        self.settings.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(dbms: Dbms, text: &str) -> Config {
        let host = Host { cores: 2, memory_bytes: 24 << 30, is_limited: false };
        ConfigFile::parse(dbms, "mine", "mine.conf", text, host)
            .unwrap()
            .for_version(&"18.0".parse().unwrap())
    }

    #[test]
    fn extra_settings_change_values_and_checksum() {
        let config = config(Dbms::Postgres, "a.b = 1\nwork_mem = 4MB");
        let before = config.facts().sha256;
        assert!(config.clone().with_extra(&[("port".into(), "5".into())]).is_err());
        let config = config.with_extra(&[("work_mem".into(), "8MB".into())]).unwrap();
        assert_eq!(config.value("work_mem"), Some("8MB"));
        assert_eq!(config.settings.len(), 2);
        assert_ne!(config.facts().sha256, before);
        assert_eq!(config.to_text(), "a.b = '1'\nwork_mem = '8MB'\n");
    }

    #[test]
    fn a_varied_config_is_named_after_what_was_changed() {
        let config = config(Dbms::Postgres, "jit = on\nwork_mem = 4MB");
        let set = config.clone().varied("JIT", Some("off")).unwrap();
        assert_eq!((set.name.as_str(), set.value("jit")), ("mine+jit=off", Some("off")));
        let left_out = config.clone().varied("work_mem", None).unwrap();
        assert_eq!((left_out.name.as_str(), left_out.value("work_mem")), ("mine+work_mem=default", None));
        let path = config.clone().varied("search_path", Some("/var/log, elsewhere/far/away")).unwrap();
        assert_eq!(path.name, "mine+search_path=_var_log__elsewhere_far_");
        let refusal = config.varied("port", Some("5")).unwrap_err().to_string();
        assert!(refusal.starts_with("--try port: port cannot be set by a config\nhint: "), "{refusal}");
    }

    #[test]
    fn defect_fuzz_a_setting_is_one_line_with_a_name() {
        let extra = |name: &str, value: &str| {
            let with = config(Dbms::Mysql, "a = 1").with_extra(&[(name.into(), value.into())]);
            with.map(|_| ()).map_err(|error| error.to_string())
        };
        for (name, value) in
            [("b", "1\nskip_grant_tables"), ("b", "1\0"), ("b=1\nskip_grant_tables", "1"), ("", "1")]
        {
            let refusal = extra(name, value).unwrap_err();
            assert!(refusal.contains("\nhint: ") && refusal.lines().count() == 2, "{refusal}");
        }
        assert_eq!(extra("b", "1\t2"), Ok(()));
        let host = Host { cores: 2, memory_bytes: 24 << 30, is_limited: false };
        let refusal =
            ConfigFile::parse(Dbms::Mysql, "mine", "mine.conf", "a = 1\nb = x\0y", host).unwrap_err();
        assert!(refusal.to_string().starts_with("mine.conf:2: b: "), "{refusal}");
    }

    #[test]
    fn options_of_tables_are_no_setting_of_the_server_and_part_of_the_facts() {
        let text = "innodb_file_per_table = 1\ntable_options = 'ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8'";
        let config = config(Dbms::Mysql, text);
        assert_eq!(config.table_options(), Some("ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8"));
        assert_eq!(config.to_text(), "innodb_file_per_table = '1'\n");
        assert_eq!(config.facts().settings[1].0, "table_options");
        let other =
            config.clone().with_extra(&[("table_options".into(), "KEY_BLOCK_SIZE=4".into())]).unwrap();
        assert_eq!(other.settings, config.settings);
        assert_ne!(other.facts().sha256, config.facts().sha256);
    }

    #[test]
    fn variables_are_no_setting_of_the_server_and_part_of_the_facts() {
        let plain = config(Dbms::Mysql, "innodb_file_per_table = 1");
        let with = |value: &str| plain.clone().with_extra(&[("environment".into(), value.into())]);
        let one = with("A=1 B=2").unwrap();
        assert_eq!(one.environment(), [("A", "1"), ("B", "2")]);
        assert_eq!((one.settings.len(), one.to_text()), (1, plain.to_text()));
        assert_eq!(one.facts().settings[1], ("environment".to_owned(), "A=1 B=2".to_owned()));
        let digests = [&plain, &one, &with("A=1 B=3").unwrap()].map(|config| config.facts().sha256);
        assert!(digests[0] != digests[1] && digests[1] != digests[2], "{digests:?}");
        assert_eq!(with("").unwrap().facts().sha256, digests[0]);
        let without = one.clone().varied("environment", None).unwrap();
        assert_eq!((without.environment(), without.facts().sha256), (Vec::new(), digests[0].clone()));
        let refusal = with("PATH=/bin").unwrap_err().to_string();
        assert!(refusal.starts_with("--set environment: environment: PATH cannot be set"), "{refusal}");
    }

    #[test]
    fn names_of_mysql_have_one_spelling() {
        let config = config(Dbms::Mysql, "innodb-doublewrite = 0");
        let config = config.with_extra(&[("Innodb-Doublewrite".into(), "1".into())]).unwrap();
        assert_eq!(config.facts().settings, [("innodb_doublewrite".to_owned(), "1".to_owned())]);
        assert!(config.with_extra(&[("skip-networking".into(), "1".into())]).is_err());
    }
}
