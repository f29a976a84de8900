//! TOML with positions: every key and value knows where it is, and unknown keys are mistakes.

use std::cell::RefCell;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::expression::{Condition, Expression};
use super::lexer::Located;
use super::mistake::Mistake;

/// A value of the file.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    file: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

/// A table of the file, whose keys are requested one by one.
pub(crate) struct Fields<'a> {
    file: &'a str,
    table: &'a DeTable<'a>,
    /// Where it begins.
    pub(crate) at: usize,
    asked: RefCell<Vec<&'static str>>,
}

/// A key with its position and value.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) at: usize,
    pub(crate) value: Value<'a>,
}

impl<'a> Value<'a> {
    /// Where it begins.
    pub(crate) fn at(&self) -> usize {
        self.value.span().start
    }

    fn refuse<T>(&self, wanted: &str) -> Result<T, Mistake> {
        Err(Mistake::new(self.at(), format!("expected {wanted}, found {}", kind(self.value.get_ref()))))
    }

    pub(crate) fn inner(&self) -> &'a DeValue<'a> {
        self.value.get_ref()
    }

    /// The text, with the position of its first character.
    pub(crate) fn text(&self) -> Result<Located<'a>, Mistake> {
        let DeValue::String(text) = self.value.get_ref() else { return self.refuse("a text") };
        let span = self.value.span();
        let raw = self.file.get(span.clone()).unwrap_or_default();
        // Text without escapes appears in the file literally; otherwise only its beginning is known.
        Ok(match raw.find(text.as_ref()) {
            Some(offset) => Located { text, start: span.start + offset, is_verbatim: true },
            None => Located { text, start: span.start, is_verbatim: false },
        })
    }

    pub(crate) fn string(&self) -> Result<String, Mistake> {
        self.text().map(|located| located.text.to_owned())
    }

    pub(crate) fn integer(&self) -> Result<i64, Mistake> {
        let DeValue::Integer(integer) = self.value.get_ref() else { return self.refuse("an integer") };
        i64::from_str_radix(integer.as_str(), integer.radix())
            .map_err(|_| Mistake::new(self.at(), "this number exceeds 64 bits"))
    }

    pub(crate) fn boolean(&self) -> Result<bool, Mistake> {
        match self.value.get_ref() {
            DeValue::Boolean(boolean) => Ok(*boolean),
            _ => self.refuse("true or false"),
        }
    }

    /// An integer, or a text that holds an expression.
    pub(crate) fn expression(&self) -> Result<Expression, Mistake> {
        match self.value.get_ref() {
            DeValue::Integer(_) => self.integer().map(Expression::Constant),
            DeValue::String(_) => Expression::parse(self.text()?),
            _ => self.refuse("an integer or a text with an expression"),
        }
    }

    /// A text that holds a condition.
    pub(crate) fn condition(&self) -> Result<Condition, Mistake> {
        Condition::parse(self.text()?)
    }

    /// The values of an array.
    pub(crate) fn list(&self) -> Result<Vec<Value<'a>>, Mistake> {
        let DeValue::Array(array) = self.value.get_ref() else { return self.refuse("an array") };
        Ok(array.iter().map(|value| Value { file: self.file, value }).collect())
    }

    /// The values of an array, or the value itself.
    pub(crate) fn one_or_more(&self) -> Result<Vec<Value<'a>>, Mistake> {
        if self.is_list() { self.list() } else { Ok(vec![*self]) }
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Array(_))
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }

    pub(crate) fn fields(&self) -> Result<Fields<'a>, Mistake> {
        let DeValue::Table(table) = self.value.get_ref() else { return self.refuse("a table") };
        Ok(Fields { file: self.file, table, at: self.at(), asked: RefCell::default() })
    }
}

impl<'a> Fields<'a> {
    /// The whole file.
    pub(crate) fn of_file(file: &'a str, document: &'a Spanned<DeTable<'a>>) -> Self {
        Fields { file, table: document.get_ref(), at: 0, asked: RefCell::default() }
    }

    /// The value of an optional key.
    pub(crate) fn get(&self, key: &'static str) -> Option<Value<'a>> {
        self.asked.borrow_mut().push(key);
        self.table.get(key).map(|value| Value { file: self.file, value })
    }

    /// The value of a required key.
    pub(crate) fn need(&self, key: &'static str) -> Result<Value<'a>, Mistake> {
        self.get(key).ok_or_else(|| Mistake::new(self.at, format!("`{key}` is missing")))
    }

    /// Applies `read` to the value of an optional key.
    pub(crate) fn optional<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Value<'a>) -> Result<T, Mistake>,
    ) -> Result<Option<T>, Mistake> {
        self.get(key).map(|value| read(&value)).transpose()
    }

    /// Every key in the order of the file, for tables whose keys the user chooses.
    pub(crate) fn entries(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<Entry<'a>> = self
            .table
            .iter()
            .map(|(key, value)| Entry {
                name: key.get_ref().as_ref(),
                at: key.span().start,
                value: Value { file: self.file, value },
            })
            .collect();
        entries.sort_by_key(|entry| entry.at);
        entries
    }

    /// Checks that there are no keys besides those requested.
    pub(crate) fn finish(self) -> Result<(), Mistake> {
        let asked = self.asked.borrow();
        match self.entries().into_iter().find(|entry| !asked.contains(&entry.name)) {
            None => Ok(()),
            Some(entry) => Err(Mistake::unknown(entry.at, "key", entry.name, asked.iter().copied())),
        }
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
