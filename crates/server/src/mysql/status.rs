//! The server's status counters and variables.

use std::collections::BTreeMap;

use basecase_client::{Error, Session};
use basecase_model::Value;

/// Named values from the server, with names in lower case.
#[derive(Debug, Default)]
pub(super) struct Figures(BTreeMap<String, Value>);

impl Figures {
    /// Reads those of the status counters `names` that the server has.
    pub(super) fn status(session: &mut dyn Session, names: &[&str]) -> Result<Self, Error> {
        Self::shown(session, "status", names)
    }

    /// Reads those of the global variables `names` that the server has.
    pub(super) fn variables(session: &mut dyn Session, names: &[&str]) -> Result<Self, Error> {
        Self::shown(session, "variables", names)
    }

    fn shown(session: &mut dyn Session, what: &str, names: &[&str]) -> Result<Self, Error> {
        let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        let sql = format!("show global {what} where variable_name in ({})", list.join(", "));
        let rows = session.query(&sql)?;
        Ok(Figures(rows.into_iter().filter_map(figure).collect()))
    }

    /// A value as a number.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        number(self.0.get(name)?)
    }

    /// A value as text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Value::Text(text) => Some(text),
            Value::Integer(_) | Value::Null => None,
        }
    }

    /// A value as the server prints it.
    pub(super) fn spelling(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::Text(text) => Some(text.clone()),
            Value::Integer(integer) => Some(integer.to_string()),
            Value::Null => None,
        }
    }

    /// Whether a switch is on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.text(name) == Some("ON") || self.number(name) == Some(1.0)
    }
}

fn figure(row: Vec<Value>) -> Option<(String, Value)> {
    let mut row = row.into_iter();
    match (row.next()?, row.next()?) {
        (Value::Text(name), value) => Some((name.to_lowercase(), value)),
        _ => None,
    }
}

/// The number in the first column of the first row.
pub(super) fn first_number(session: &mut dyn Session, sql: &str) -> Result<Option<f64>, Error> {
    Ok(session.query(sql)?.first().and_then(|row| number(row.first()?)))
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(integer) => Some(*integer as f64),
        Value::Text(text) => text.parse().ok(),
        Value::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_in_all_spellings() {
        let rows = [
            ("Innodb_Rows", Value::Integer(7)),
            ("pct", Value::Text("75.000000".into())),
            ("log_bin", Value::Text("ON".into())),
            ("empty", Value::Null),
        ];
        let rows = rows.map(|(name, value)| vec![Value::Text(name.to_owned()), value]);
        let figures = Figures(rows.into_iter().filter_map(figure).collect());
        assert_eq!(figures.number("innodb_rows"), Some(7.0));
        assert_eq!(figures.number("pct"), Some(75.0));
        assert_eq!(figures.spelling("pct").as_deref(), Some("75.000000"));
        assert!(figures.is_on("log_bin") && !figures.is_on("pct") && !figures.is_on("none"));
        assert_eq!((figures.number("empty"), figures.spelling("empty")), (None, None));
    }
}
