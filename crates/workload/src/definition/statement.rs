//! Statements: SQL with placeholders, and the expected reply.

use super::expression::Expression;
use super::mistake::Mistake;
use super::placeholder::{Piece, parse};
use super::reader::{Entry, Fields, Value};
use super::spelling::Spelling;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) sql: Spelling<Vec<Piece>>,
    /// Whether it is prepared, unless the user wants text.
    pub(crate) is_prepared: bool,
    pub(crate) expected: Option<Expected>,
}

/// The expected reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expected {
    pub(crate) quantity: Quantity,
    /// Whether fewer rows are also correct.
    pub(crate) is_bound: bool,
    pub(crate) rows: Expression,
}

/// Which rows are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Rows that a query returns.
    Fetched,
    /// Rows that a statement changes.
    Affected,
}

impl Statement {
    /// `NAME = "SQL"`, or a table with `sql`, `prepared` and an expectation.
    pub(crate) fn read(entry: &Entry<'_>) -> Result<Self, Mistake> {
        let sql = |value: &Value<'_>| parse(value.text()?);
        if !entry.value.is_table() {
            return Ok(Statement {
                name: entry.name.to_owned(),
                at: entry.at,
                sql: Spelling::same(sql(&entry.value)?),
                is_prepared: true,
                expected: None,
            });
        }
        let fields = entry.value.fields()?;
        let statement = Statement {
            name: entry.name.to_owned(),
            at: entry.at,
            sql: Spelling::read(&fields.need("sql")?, sql)?,
            is_prepared: fields.optional("prepared", Value::boolean)?.unwrap_or(true),
            expected: read_expected(&fields)?,
        };
        fields.finish()?;
        Ok(statement)
    }
}

fn read_expected(fields: &Fields<'_>) -> Result<Option<Expected>, Mistake> {
    let forms = [
        ("fetches", Quantity::Fetched, false),
        ("fetches_at_most", Quantity::Fetched, true),
        ("affects", Quantity::Affected, false),
        ("affects_at_most", Quantity::Affected, true),
    ];
    let mut expected = None;
    for (key, quantity, is_bound) in forms {
        let Some(value) = fields.get(key) else { continue };
        if expected.is_some() {
            return Err(Mistake::new(value.at(), "a statement can have at most one expectation"));
        }
        expected = Some(Expected { quantity, is_bound, rows: value.expression()? });
    }
    Ok(expected)
}
