//! Events: the units that a thread executes repeatedly.

use super::expression::{Condition, Expression};
use super::mistake::Mistake;
use super::reader::{Entry, Value};
use super::table::read_when;

/// An event: lines in order, within a transaction or not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) at: usize,
    /// When BEGIN and COMMIT enclose it; `None` means never.
    pub(crate) transaction: Option<Condition>,
    /// Another thread may have deleted the row that a statement looks for, so exact counts become upper bounds.
    pub(crate) rows_may_be_missing: bool,
    /// The kind of tables, with its position; `None` means the first kind of the file.
    pub(crate) table: Option<(String, usize)>,
    pub(crate) lines: Vec<Line>,
}

/// Statements on one table, repeated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) at: usize,
    /// Names of statements with their positions.
    pub(crate) statements: Vec<(String, usize)>,
    pub(crate) times: Expression,
    pub(crate) when: Condition,
    pub(crate) choice: Choice,
}

/// Which table a line takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Any table, each equally likely, drawn each time the line is executed.
    Uniform,
    /// Always the thread's own: thread modulo tables.
    Thread,
}

impl Event {
    /// An event that consists of one statement.
    pub(crate) fn of_statement(name: &str, at: usize) -> Self {
        Event {
            name: name.to_owned(),
            at,
            transaction: None,
            rows_may_be_missing: false,
            table: None,
            lines: vec![Line::of_statement(name.to_owned(), at)],
        }
    }

    pub(crate) fn read(entry: &Entry<'_>) -> Result<Self, Mistake> {
        let fields = entry.value.fields()?;
        let lines = fields.need("do")?;
        let event = Event {
            name: entry.name.to_owned(),
            at: entry.at,
            transaction: match fields.get("transaction") {
                None => None,
                Some(value) if value.boolean().is_ok() => value.boolean()?.then_some(Condition::ALWAYS),
                Some(value) => Some(value.condition()?),
            },
            rows_may_be_missing: fields.optional("rows_may_be_missing", Value::boolean)?.unwrap_or(false),
            table: fields.optional("table", |table| Ok((table.string()?, table.at())))?,
            lines: lines.one_or_more()?.iter().map(Line::read).collect::<Result<_, _>>()?,
        };
        fields.finish()?;
        if event.lines.is_empty() {
            return Err(Mistake::new(lines.at(), "an event must do at least one thing"));
        }
        Ok(event)
    }
}

impl Line {
    fn of_statement(name: String, at: usize) -> Self {
        Line {
            at,
            statements: vec![(name, at)],
            times: Expression::Constant(1),
            when: Condition::ALWAYS,
            choice: Choice::Uniform,
        }
    }

    /// The name of a statement, or a table with `do`, `times`, `when` and `choose`.
    fn read(value: &Value<'_>) -> Result<Self, Mistake> {
        let name = |value: &Value<'_>| Ok((value.string()?, value.at()));
        if !value.is_table() {
            let (name, at) = name(value)?;
            return Ok(Line::of_statement(name, at));
        }
        let fields = value.fields()?;
        let line = Line {
            at: value.at(),
            statements: fields.need("do")?.one_or_more()?.iter().map(name).collect::<Result<_, _>>()?,
            times: fields.optional("times", Value::expression)?.unwrap_or(Expression::Constant(1)),
            when: read_when(&fields)?,
            choice: match fields.get("choose") {
                None => Choice::Uniform,
                Some(value) => match value.text()?.text {
                    "uniform" => Choice::Uniform,
                    "thread" => Choice::Thread,
                    other => {
                        let known = ["uniform", "thread"];
                        return Err(Mistake::unknown(value.at(), "choice of a table", other, known));
                    }
                },
            },
        };
        fields.finish()?;
        Ok(line)
    }
}
