//! One `basecase.toml`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file with defaults.
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    pub(crate) is_there: bool,
    pub(crate) settings: Vec<Setting>,
}

/// A default of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The command that it is for; `None` for all that have the option.
    pub(crate) command: Option<String>,
    /// The option without its dashes.
    pub(crate) option: String,
    /// Its values as they are typed; `true` or `false` of a switch.
    pub(crate) values: Vec<String>,
    /// Its line, from 1.
    line: usize,
}

impl ConfigFile {
    /// Reads a file; one that is not there has no settings.
    pub(crate) fn read(path: PathBuf) -> Result<ConfigFile> {
        match fs::read_to_string(&path) {
            Ok(text) => ConfigFile::of(path, &text),
            Err(_) if !is_seen(&path) => Ok(ConfigFile { path, is_there: false, settings: Vec::new() }),
            Err(error) => Err(error).with_context(|| {
                format!("cannot read {}\nhint: check its permissions, or give --no-config", path.display())
            }),
        }
    }

    /// The file with this text.
    pub(crate) fn of(path: PathBuf, text: &str) -> Result<ConfigFile> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            anyhow::anyhow!(
                "{}:{line}: {}\nhint: write lines such as budget = \"20m\"; a table such as [gate] is for one command",
                path.display(),
                error.message()
            )
        })?;
        let mut settings = Vec::new();
        for (key, value) in table.get_ref() {
            match value.get_ref() {
                DeValue::Table(of_command) => {
                    let command = key.get_ref().to_string();
                    for (key, value) in of_command {
                        let setting =
                            setting(text, Some(command.clone()), key.get_ref(), key.span().start, value);
                        settings.push(setting.with_context(|| path.display().to_string())?);
                    }
                }
                _ => {
                    let setting = setting(text, None, key.get_ref(), key.span().start, value);
                    settings.push(setting.with_context(|| path.display().to_string())?);
                }
            }
        }
        settings.sort_by_key(|setting: &Setting| setting.line);
        Ok(ConfigFile { path, is_there: true, settings })
    }

    /// Where a setting stands, e.g. `basecase.toml:3`.
    pub(crate) fn place(&self, setting: &Setting) -> String {
        format!("{}:{}", self.path.display(), setting.line)
    }
}

fn setting(
    text: &str,
    command: Option<String>,
    option: &str,
    at: usize,
    value: &Spanned<DeValue<'_>>,
) -> Result<Setting> {
    let line = line_of(text, at);
    let values = match value.get_ref() {
        DeValue::Array(values) => {
            values.iter().map(|value| scalar(value.get_ref(), line)).collect::<Result<_>>()?
        }
        value => vec![scalar(value, line)?],
    };
    Ok(Setting { command, option: option.to_owned(), values, line })
}

fn scalar(value: &DeValue<'_>, line: usize) -> Result<String> {
    Ok(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(boolean) => boolean.to_string(),
        _ => bail!(
            "line {line}: a default is a text, a number, true, false, or a list of these\nhint: write it as the option is typed"
        ),
    })
}

/// Whether there is such a file. In a folder that is closed to this user, as HOME is where `sudo -u` keeps that of another, there is none.
fn is_seen(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(_) => true,
        Err(error) => !matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
        ),
    }
}

/// The line of a position, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).map_or(0, |before| before.matches('\n').count()) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_their_tables_values_and_lines() {
        let file = ConfigFile::of("f".into(), "a = 1\n\n[gate]\nb = [\"x\", 2.5]\nc = true\n").unwrap();
        let found: Vec<_> = file
            .settings
            .iter()
            .map(|one| (one.command.as_deref(), &*one.option, one.values.clone(), one.line))
            .collect();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            found,
            [
                (None, "a", words(&["1"]), 1),
                (Some("gate"), "b", words(&["x", "2.5"]), 4),
                (Some("gate"), "c", words(&["true"]), 5),
            ]
        );
        assert_eq!(file.place(&file.settings[1]), "f:4");
    }

    #[test]
    fn what_is_no_toml_and_what_is_no_value_is_told_with_its_line() {
        let mistake = |text: &str| format!("{:#}", ConfigFile::of("f".into(), text).map(drop).unwrap_err());
        assert!(mistake("a = 1\nb = \n").starts_with("f:2: "), "{}", mistake("a = 1\nb = \n"));
        assert!(mistake("[gate]\na = { b = 1 }\n").contains("line 2: a default is a text"));
    }
}
