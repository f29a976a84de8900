//! Configs of every dbms. Lines that begin with `#set ` are settings that a caller adds, as with `--set`.

use std::collections::BTreeSet;

use basecase_model::Dbms;
use basecase_server::{Config, ConfigError, ConfigFile, Host};

use crate::{Marks, check_refusal, shape};

const HOSTS: [Host; 2] = [
    Host { cores: 2, memory_bytes: 24 << 30, is_limited: false },
    Host { cores: 1, memory_bytes: 400 << 20, is_limited: true },
];
const VERSIONS: [&str; 6] = ["3.50.1", "5.5.62", "8.0.30", "10.11.18", "14.0", "18.6"];

/// Reads a config, as that of every dbms.
pub fn config(input: &[u8]) -> Marks {
    let mut marks = Marks::new();
    let Ok(text) = std::str::from_utf8(input) else { return marks };
    for dbms in Dbms::ALL {
        for host in HOSTS {
            match ConfigFile::parse(dbms, "mine", "mine.conf", text, host) {
                Ok(file) => use_file(&file, text, host, &mut marks),
                Err(error) => refused(&error, text, &mut marks),
            }
        }
    }
    marks
}

fn refused(error: &ConfigError, text: &str, marks: &mut Marks) {
    let refusal = error.to_string();
    check_refusal(&refusal, "");
    let lines = text.lines().count();
    let place = match error {
        ConfigError::Syntax(error) => Some((&error.file, error.line)),
        ConfigError::Circle { file, line, .. } | ConfigError::Setting { file, line, .. } => {
            Some((file, *line))
        }
        _ => None,
    };
    if let Some((_, line)) = place.filter(|(file, _)| *file == "mine.conf") {
        assert!((1..=lines).contains(&(line as usize)), "no such line: {refusal}");
    }
    marks.insert(format!("refused: {}", reason(&refusal)));
}

/// What a refusal has in common with others: without the setting, whose name begins most of them.
fn reason(refusal: &str) -> String {
    let shape = shape(refusal);
    if shape.starts_with("--set") {
        return shape.rsplit_once(": ").map_or(shape.clone(), |(_, reason)| format!("--set {reason}"));
    }
    let (place, reason) = shape.split_once(": ").unwrap_or(("", &shape));
    let is_name = |word: &str| !word.contains(' ');
    match reason.split_once([' ', ':']) {
        Some((name, rest)) if is_name(name) && place.ends_with('#') => rest.trim_start().to_owned(),
        _ => reason.to_owned(),
    }
}

fn use_file(file: &ConfigFile, text: &str, host: Host, marks: &mut Marks) {
    for version in VERSIONS {
        let config = file.for_version(&version.parse().expect("a version"));
        check(&config);
        let printed: String = config
            .settings
            .iter()
            .map(|line| format!("{}='{}'\n", line.name, line.value.replace('\'', "''")))
            .collect();
        let again = ConfigFile::parse(config.dbms, "mine", "again.conf", &printed, host);
        let again = again.map(|again| again.for_version(&version.parse().expect("a version")));
        let again = again.unwrap_or_else(|error| panic!("{error} in\n{printed}"));
        assert_eq!(pairs(&again), pairs(&config), "as printed:\n{printed}");
        marks.insert(format!("a config of {} with {}", config.dbms, config.settings.len().min(3)));
        for extra in text.lines().filter_map(|line| line.strip_prefix("#set ")) {
            let (name, value) = extra.split_once('=').unwrap_or((extra, ""));
            let pair = (name.replace("\\n", "\n"), value.replace("\\n", "\n"));
            match config.clone().with_extra(&[pair]) {
                Ok(config) => {
                    check(&config);
                    marks.insert("one more setting".into());
                }
                Err(error) => {
                    check_refusal(&error.to_string(), "");
                    marks.insert(format!("refused: {}", shape(&error.to_string())));
                }
            }
        }
    }
}

/// Each setting stands once, and is one line of a server's file.
fn check(config: &Config) {
    let names: BTreeSet<&str> = config.settings.iter().map(|setting| setting.name.as_str()).collect();
    assert_eq!(names.len(), config.settings.len(), "a setting twice: {config:?}");
    for setting in &config.settings {
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        assert!(setting.name.chars().all(is_of_name) && !setting.name.is_empty(), "{setting:?} has no name");
        assert!(!setting.value.contains(['\n', '\r', '\0']), "{setting:?} is more than a line");
        assert_eq!(config.value(&setting.name), Some(setting.value.as_str()));
    }
    assert_eq!(config.facts().settings.len(), config.settings.len());
}

fn pairs(config: &Config) -> Vec<(&str, &str)> {
    config.settings.iter().map(|setting| (setting.name.as_str(), setting.value.as_str())).collect()
}
