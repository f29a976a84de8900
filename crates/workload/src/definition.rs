//! Workload files: read and checked.

mod check;
mod event;
mod expression;
mod lexer;
mod mistake;
mod name;
mod option;
mod placeholder;
mod reader;
mod spelling;
mod statement;
mod step;
mod table;
mod variant;

use std::path::Path;

use toml::de::DeTable;

pub(crate) use event::{Choice, Event, Line};
pub(crate) use expression::{Condition, Expression, Operator};
pub use mistake::WorkloadError;
pub(crate) use mistake::{Mistake, suggestion};
pub(crate) use name::MOST_TABLES;
pub use option::{OptionDefinition, Setting};
pub(crate) use placeholder::{Count, DistributionUse, Parameter, Piece, Placeholder, Repeat, Value};
pub(crate) use statement::{Expected, Quantity, Statement};
pub(crate) use step::{List, ListedStep, StepBody, StepDefinition};
pub(crate) use table::{Column, Index, Table};

use reader::{Entry, Fields};

use crate::timing::MOST_SECONDS;

/// Option names for the number of rows of a table: ours and sysbench's.
const ROWS: [&str; 2] = ["rows", "table_size"];

/// A workload as its file defines it, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Its name: as the file says, else that of the built-in workload, or of the file without folders and ending. It is part of what identifies
    /// a measurement, wherever the file lies.
    pub name: String,
    /// A description for people.
    pub about: String,
    /// The options that a user can set.
    pub options: Vec<OptionDefinition>,
    /// The file's name.
    pub(crate) file: String,
    /// The file's text, to locate mistakes that are found later.
    pub(crate) text: String,
    /// Names, positions and texts.
    pub(crate) templates: Vec<(String, usize, String)>,
    /// Parameters of distributions used without any.
    pub(crate) parameters: Vec<(String, Vec<Parameter>)>,
    /// The distribution of draws that do not name one.
    pub(crate) distribution: Option<DistributionUse>,
    /// The distribution of draws of the load that do not name one.
    pub(crate) load_distribution: Option<DistributionUse>,
    /// Seconds before a step's window opens, unless the user gives others.
    pub(crate) warm_up_seconds: f64,
    /// The option whose value is part of a step's label.
    pub(crate) label: Option<(String, usize)>,
    pub(crate) tables: Vec<Table>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) events: Vec<Event>,
    pub(crate) steps: Vec<StepDefinition>,
    pub(crate) lists: Vec<List>,
}

impl Workload {
    /// Reads and checks a workload file; `name` is its path, or the name of a built-in workload.
    ///
    /// # Errors
    /// The first mistake, with its place and, for unknown names, the nearest known one.
    pub fn load(text: &str, name: &str) -> Result<Workload, WorkloadError> {
        let located = |mistake: Mistake| mistake.in_file(name, text);
        let document = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            located(Mistake::new(at, error.message()))
        })?;
        let workload = Workload::read(Fields::of_file(text, &document), name, text).map_err(located)?;
        workload.check().map_err(located)?;
        Ok(workload)
    }

    fn read(fields: Fields<'_>, name: &str, text: &str) -> Result<Workload, Mistake> {
        let distribution = |key| {
            fields.optional(key, |value: &reader::Value<'_>| placeholder::parse_distribution(value.text()?))
        };
        let workload = Workload {
            name: fields.optional("name", reader::Value::string)?.unwrap_or_else(|| stem(name)),
            about: fields.optional("about", reader::Value::string)?.unwrap_or_default(),
            file: name.to_owned(),
            text: text.to_owned(),
            options: named(&fields, "options", OptionDefinition::read)?,
            templates: named(&fields, "templates", |entry| {
                Ok((entry.name.to_owned(), entry.at, entry.value.string()?))
            })?,
            parameters: named(&fields, "distributions", read_parameters)?,
            distribution: distribution("distribution")?,
            load_distribution: distribution("load_distribution")?,
            warm_up_seconds: fields.optional("warm_up_seconds", read_warm_up)?.unwrap_or(0.0),
            label: fields.optional("label", |value| Ok((value.string()?, value.at())))?,
            tables: named(&fields, "tables", Table::read)?,
            statements: named(&fields, "statements", Statement::read)?,
            events: named(&fields, "events", Event::read)?,
            steps: fields
                .optional("steps", |steps| steps.list()?.iter().map(StepDefinition::read).collect())?
                .unwrap_or_default(),
            lists: named(&fields, "lists", List::read)?,
        };
        fields.finish()?;
        Ok(workload.with_plain_events())
    }

    /// A step may name a statement as its event; the event is then this statement alone.
    fn with_plain_events(mut self) -> Workload {
        for step in &self.steps {
            for (name, at) in step.body.event.iter().chain(&step.clean.event) {
                let is_known = self.events.iter().any(|event| event.name == *name);
                if !is_known && self.statements.iter().any(|statement| statement.name == *name) {
                    self.events.push(Event::of_statement(name, *at));
                }
            }
        }
        self
    }

    /// The option for the number of rows of each table: `rows`, or sysbench's `table_size`.
    pub fn rows_option(&self) -> Option<&OptionDefinition> {
        ROWS.into_iter().find_map(|name| self.options.iter().find(|option| option.name == name))
    }

    /// The file as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Locates a mistake in this file.
    pub(crate) fn located(&self, mistake: Mistake) -> WorkloadError {
        mistake.in_file(&self.file, &self.text)
    }

    /// Refuses what was asked of this workload.
    pub(crate) fn refused(&self, problem: impl Into<String>, hint: impl Into<String>) -> WorkloadError {
        WorkloadError::Request { workload: self.name.clone(), problem: problem.into(), hint: hint.into() }
    }
}

/// The name of a file without its folders and its ending.
fn stem(path: &str) -> String {
    Path::new(path).file_stem().map_or_else(|| path.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Applies `read` to every entry of the table under `key`, in the order of the file.
fn named<'a, T>(
    fields: &Fields<'a>,
    key: &'static str,
    read: impl Fn(&Entry<'a>) -> Result<T, Mistake>,
) -> Result<Vec<T>, Mistake> {
    match fields.get(key) {
        None => Ok(Vec::new()),
        Some(value) => value.fields()?.entries().iter().map(read).collect(),
    }
}

fn read_warm_up(value: &reader::Value<'_>) -> Result<f64, Mistake> {
    let seconds = match Setting::read(value)? {
        Setting::Integer(seconds) => Some(seconds as f64),
        Setting::Number(seconds) => Some(seconds),
        Setting::Text(_) | Setting::Boolean(_) => None,
    };
    seconds.filter(|seconds| (0.0..=MOST_SECONDS).contains(seconds)).ok_or_else(|| {
        Mistake::new(value.at(), format!("expected a number of seconds from 0 to {MOST_SECONDS}"))
    })
}

/// `NAME = ["option", 0.8, …]`.
fn read_parameters(entry: &Entry<'_>) -> Result<(String, Vec<Parameter>), Mistake> {
    use crate::distribution::Distribution;
    if Distribution::parameters(entry.name).is_none() {
        return Err(Mistake::unknown(entry.at, "distribution", entry.name, Distribution::names()));
    }
    let parameter = |value: reader::Value<'_>| match Setting::read(&value)? {
        Setting::Text(name) => Ok(Parameter::Option { name, at: value.at() }),
        Setting::Integer(integer) => Ok(Parameter::Number(integer as f64)),
        Setting::Number(number) => Ok(Parameter::Number(number)),
        Setting::Boolean(_) => Err(Mistake::new(value.at(), "expected a number or an option")),
    };
    let parameters: Result<Vec<_>, _> = entry.value.list()?.into_iter().map(parameter).collect();
    Ok((entry.name.to_owned(), parameters?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_called_the_same_wherever_its_file_lies() {
        let step = "[statements]\nq = \"select 1\"\n[[steps]]\nname = \"q\"\nevent = \"q\"\n";
        let name = |text: &str, path: &str| Workload::load(text, path).unwrap().name;
        for path in ["shop.toml", "./shop.toml", "/srv/benchmarks/shop.toml", "shop"] {
            assert_eq!(name(step, path), "shop", "{path}");
        }
        assert_eq!(name(&format!("name = \"mix\"\n{step}"), "/srv/shop.toml"), "mix");
    }

    #[test]
    fn defect_fuzz_a_warm_up_of_a_file_has_the_bounds_of_one_that_is_given() {
        let problem = |warm_up: &str| {
            let file = format!(
                "warm_up_seconds = {warm_up}\n[statements]\nq = \"select 1\"\n[[steps]]\nname = \"q\"\nevent = \"q\"\n"
            );
            Workload::load(&file, "mine.toml").err().map(|error| error.to_string())
        };
        assert_eq!(["0", "2.5", "10000000"].map(problem), [None, None, None]);
        for refused in ["1e300", "-1", "10000001", "true"] {
            let problem = problem(refused).unwrap();
            assert!(
                problem.contains("line 1, column 19") && problem.contains("from 0 to 10000000"),
                "{problem}"
            );
        }
        assert!(["inf", "nan"].map(problem).iter().all(Option::is_some));
    }
}
