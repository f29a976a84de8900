//! Kinds of tables: how they are created and what they hold after the load.

use super::expression::{Condition, Expression};
use super::mistake::Mistake;
use super::placeholder::{Placeholder, parse_value};
use super::reader::{Entry, Fields, Value};
use super::spelling::Spelling;

/// One kind of table. There are `count` of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) kind: String,
    pub(crate) at: usize,
    /// Name with `{number}` for the table's number, counted from 1.
    pub(crate) name: String,
    pub(crate) count: Expression,
    /// Rows loaded into each.
    pub(crate) rows: Expression,
    pub(crate) columns: Vec<Column>,
    pub(crate) primary_key: Option<PrimaryKey>,
    pub(crate) indexes: Vec<Index>,
    /// Options' texts behind the closing parenthesis of CREATE TABLE, with `{option}`.
    pub(crate) suffix: Spelling<String>,
    /// Columns in the order in which their contents are drawn, when it is not that of the columns.
    pub(crate) draws: Vec<(String, usize)>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) when: Condition,
    pub(crate) sql_type: Spelling<String>,
    /// What the load puts into it; `None` leaves it to the dbms.
    pub(crate) content: Option<Placeholder>,
}

/// A primary key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PrimaryKey {
    pub(crate) columns: String,
    pub(crate) when: Condition,
}

/// A secondary index. Its name may hold `{number}`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) columns: String,
    pub(crate) when: Condition,
    /// Made with the table instead of after the load.
    pub(crate) is_early: bool,
}

/// The condition under `when`; without one it always holds.
pub(crate) fn read_when(fields: &Fields<'_>) -> Result<Condition, Mistake> {
    Ok(fields.optional("when", Value::condition)?.unwrap_or(Condition::ALWAYS))
}

impl Table {
    pub(crate) fn read(entry: &Entry<'_>) -> Result<Self, Mistake> {
        let fields = entry.value.fields()?;
        let table = Table {
            kind: entry.name.to_owned(),
            at: entry.at,
            name: fields
                .optional("name", Value::string)?
                .unwrap_or_else(|| format!("{}{{number}}", entry.name)),
            count: fields.optional("count", Value::expression)?.unwrap_or(Expression::Constant(1)),
            rows: fields.optional("rows", Value::expression)?.unwrap_or(Expression::Constant(0)),
            columns: fields.need("columns")?.list()?.iter().map(Column::read).collect::<Result<_, _>>()?,
            primary_key: fields.optional("primary_key", PrimaryKey::read)?,
            indexes: fields
                .optional("indexes", |list| list.list()?.iter().map(Index::read).collect())?
                .unwrap_or_default(),
            suffix: fields
                .optional("suffix", |suffix| Spelling::read(suffix, Value::string))?
                .unwrap_or_else(|| Spelling::same(String::new())),
            draws: fields
                .optional("draws", |draws| {
                    draws.list()?.iter().map(|name| Ok((name.string()?, name.at()))).collect()
                })?
                .unwrap_or_default(),
        };
        fields.finish()?;
        let unknown = |(name, _): &&(String, usize)| !table.columns.iter().any(|column| column.name == *name);
        if let Some((name, at)) = table.draws.iter().find(unknown) {
            let known = table.columns.iter().map(|column| column.name.as_str());
            return Err(Mistake::unknown(*at, "column", name, known));
        }
        Ok(table)
    }
}

impl Column {
    fn read(value: &Value<'_>) -> Result<Self, Mistake> {
        let fields = value.fields()?;
        let column = Column {
            name: fields.need("name")?.string()?,
            when: read_when(&fields)?,
            sql_type: Spelling::read(&fields.need("type")?, Value::string)?,
            content: fields.optional("content", |content| parse_value(content.text()?))?,
        };
        fields.finish()?;
        Ok(column)
    }
}

impl PrimaryKey {
    /// Columns as a text, or a table with `columns` and `when`.
    fn read(value: &Value<'_>) -> Result<Self, Mistake> {
        if !value.is_table() {
            return Ok(PrimaryKey { columns: value.string()?, when: Condition::ALWAYS });
        }
        let fields = value.fields()?;
        let key = PrimaryKey { columns: fields.need("columns")?.string()?, when: read_when(&fields)? };
        fields.finish()?;
        Ok(key)
    }
}

impl Index {
    fn read(value: &Value<'_>) -> Result<Self, Mistake> {
        let fields = value.fields()?;
        let index = Index {
            name: fields.need("name")?.string()?,
            columns: fields.need("columns")?.string()?,
            when: read_when(&fields)?,
            is_early: fields.optional("early", Value::boolean)?.unwrap_or(false),
        };
        fields.finish()?;
        Ok(index)
    }
}
