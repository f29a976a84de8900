//! Kinds of tables: how they are created, and what they hold after the load.

use super::expression::{Condition, Expression};
use super::mistake::Mistake;
use super::name::{NumberedName, read_column};
use super::placeholder::{Placeholder, parse_value};
use super::reader::{Entry, Fields, Value};
use super::spelling::Spelling;

/// One kind of table, of which there are `count`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) kind: String,
    pub(crate) at: usize,
    pub(crate) name: NumberedName,
    pub(crate) count: Expression,
    /// Rows loaded into each.
    pub(crate) rows: Expression,
    pub(crate) columns: Vec<Column>,
    pub(crate) primary_key: Option<PrimaryKey>,
    pub(crate) indexes: Vec<Index>,
    /// Text after the closing parenthesis of CREATE TABLE, with `{option}`.
    pub(crate) suffix: Spelling<String>,
    /// Columns in the order in which their contents are drawn, if it differs from column order.
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
    /// Names of columns of the table.
    pub(crate) columns: Vec<String>,
    /// Their position.
    at: usize,
    pub(crate) when: Condition,
}

/// A secondary index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Index {
    pub(crate) name: NumberedName,
    /// SQL: columns, expressions, orders.
    pub(crate) columns: String,
    pub(crate) when: Condition,
    /// Whether it is created with the table instead of after the load.
    pub(crate) is_early: bool,
}

/// The condition under `when`; if it is missing, it always holds.
pub(crate) fn read_when(fields: &Fields<'_>) -> Result<Condition, Mistake> {
    Ok(fields.optional("when", Value::condition)?.unwrap_or(Condition::ALWAYS))
}

impl Table {
    pub(crate) fn read(entry: &Entry<'_>) -> Result<Self, Mistake> {
        let fields = entry.value.fields()?;
        let table = Table {
            kind: entry.name.to_owned(),
            at: entry.at,
            name: fields.optional("name", |name| NumberedName::read(name, "table"))?.map_or_else(
                || NumberedName::parse(&format!("{}{{number}}", entry.name), entry.at, "table"),
                Ok,
            )?,
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
        let keys = table.primary_key.iter().flat_map(|key| key.columns.iter().map(|name| (name, key.at)));
        let draws = table.draws.iter().map(|(name, at)| (name, *at));
        let unknown =
            |(name, _): &(&String, usize)| !table.columns.iter().any(|column| column.name == **name);
        if let Some((name, at)) = keys.chain(draws).find(unknown) {
            let known = table.columns.iter().map(|column| column.name.as_str());
            return Err(Mistake::unknown(at, "column", name, known));
        }
        Ok(table)
    }
}

impl Column {
    fn read(value: &Value<'_>) -> Result<Self, Mistake> {
        let fields = value.fields()?;
        let column = Column {
            name: read_column(&fields.need("name")?)?,
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
            return PrimaryKey::of(value, Condition::ALWAYS);
        }
        let fields = value.fields()?;
        let key = PrimaryKey::of(&fields.need("columns")?, read_when(&fields)?)?;
        fields.finish()?;
        Ok(key)
    }

    fn of(columns: &Value<'_>, when: Condition) -> Result<Self, Mistake> {
        let names = columns.string()?.split(',').map(|name| name.trim().to_owned()).collect();
        Ok(PrimaryKey { columns: names, at: columns.at(), when })
    }
}

impl Index {
    fn read(value: &Value<'_>) -> Result<Self, Mistake> {
        let fields = value.fields()?;
        let index = Index {
            name: NumberedName::read(&fields.need("name")?, "index")?,
            columns: fields.need("columns")?.string()?,
            when: read_when(&fields)?,
            is_early: fields.optional("early", Value::boolean)?.unwrap_or(false),
        };
        fields.finish()?;
        Ok(index)
    }
}
