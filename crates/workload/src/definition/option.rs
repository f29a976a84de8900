//! Options of a workload, with defaults and bounds.

use std::fmt;

use toml::de::DeValue;

use super::expression::Expression;
use super::mistake::{Mistake, suggestion};
use super::reader::{Entry, Value};

/// A value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// On or off.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// Any number.
    Number(f64),
    /// A text.
    Text(String),
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Boolean(true) => formatter.write_str("on"),
            Setting::Boolean(false) => formatter.write_str("off"),
            Setting::Integer(integer) => integer.fmt(formatter),
            Setting::Number(number) => number.fmt(formatter),
            Setting::Text(text) => formatter.write_str(text),
        }
    }
}

impl Setting {
    /// Reads a value of the same kind as this one.
    ///
    /// # Errors
    /// What was expected, in words.
    pub(crate) fn read_alike(&self, given: &str) -> Result<Setting, String> {
        let number = |digits: &str| digits.replace('_', "");
        match self {
            Setting::Boolean(_) => match given {
                "on" | "true" | "1" | "yes" => Ok(Setting::Boolean(true)),
                "off" | "false" | "0" | "no" => Ok(Setting::Boolean(false)),
                _ => Err("on or off".to_owned()),
            },
            Setting::Integer(_) => {
                number(given).parse().map(Setting::Integer).map_err(|_| "an integer".to_owned())
            }
            Setting::Number(_) => match number(given).parse() {
                Ok(value) if f64::is_finite(value) => Ok(Setting::Number(value)),
                _ => Err("a number".to_owned()),
            },
            Setting::Text(_) => Ok(Setting::Text(given.to_owned())),
        }
    }

    pub(crate) fn read(value: &Value<'_>) -> Result<Setting, Mistake> {
        match value.inner() {
            DeValue::Boolean(boolean) => Ok(Setting::Boolean(*boolean)),
            DeValue::Integer(_) => value.integer().map(Setting::Integer),
            DeValue::Float(number) => match number.as_str().replace('_', "").parse() {
                Ok(number) if f64::is_finite(number) => Ok(Setting::Number(number)),
                _ => Err(Mistake::new(value.at(), "this is not a finite number")),
            },
            DeValue::String(text) => Ok(Setting::Text(text.as_ref().to_owned())),
            _ => Err(Mistake::new(value.at(), "expected true, false, a number or a text")),
        }
    }
}

/// An option, as the file defines it.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionDefinition {
    /// Its name; on a command line `-` may stand for `_`.
    pub name: String,
    /// A description for people.
    pub help: String,
    /// Its default, which also determines the kind of its values.
    pub default: Setting,
    /// The allowed texts; empty if any is allowed.
    pub choices: Vec<String>,
    pub(crate) at: usize,
    pub(crate) least: Option<i64>,
    pub(crate) most: Option<Expression>,
}

impl OptionDefinition {
    /// `NAME = { default = …, help = "…", least = …, most = …, choices = […] }`.
    pub(crate) fn read(entry: &Entry<'_>) -> Result<Self, Mistake> {
        let fields = entry.value.fields()?;
        let default = fields.need("default")?;
        let definition = OptionDefinition {
            name: entry.name.to_owned(),
            at: entry.at,
            help: fields.need("help")?.string()?,
            choices: fields
                .optional("choices", |choices| choices.list()?.iter().map(Value::string).collect())?
                .unwrap_or_default(),
            least: fields.optional("least", Value::integer)?,
            most: fields.optional("most", Value::expression)?,
            default: Setting::read(&default)?,
        };
        fields.finish()?;
        definition
            .check(&definition.default)
            .map_err(|(problem, hint)| Mistake::new(default.at(), problem).with_hint(hint))?;
        Ok(definition)
    }

    /// Checks a value against what does not depend on other options: its minimum and its choices.
    pub(crate) fn check(&self, setting: &Setting) -> Result<(), (String, String)> {
        let name = &self.name;
        match setting {
            Setting::Integer(integer) if self.least.is_some_and(|least| *integer < least) => {
                let least = self.least.unwrap_or_default();
                Err((format!("{name} is {integer}, which is below {least}"), format!("give {least} or more")))
            }
            Setting::Text(text) if !self.choices.is_empty() && !self.choices.contains(text) => Err((
                format!("{name} cannot be `{text}`"),
                suggestion(text, self.choices.iter().map(String::as_str)),
            )),
            _ => Ok(()),
        }
    }
}
