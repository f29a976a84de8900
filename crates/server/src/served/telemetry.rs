//! What a server is asked while a step runs, and at its start and end.

use basecase_client::{Error, Kind, Session};
use basecase_model::{Measures, Value, names};

/// A statement whose rows are pairs of a name and a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inquiry {
    /// The statement.
    pub(crate) sql: String,
    /// The prefix of the names.
    pub(crate) prefix: &'static str,
    /// Whether it is cheap and informative enough to be asked every second.
    pub(crate) is_frequent: bool,
}

impl Inquiry {
    /// An inquiry that is made only at the start and end of a step.
    pub(crate) fn at_ends(prefix: &'static str, sql: impl Into<String>) -> Self {
        Inquiry { sql: sql.into(), prefix, is_frequent: false }
    }

    /// An inquiry that is also made every second.
    pub(crate) fn frequent(prefix: &'static str, sql: impl Into<String>) -> Self {
        Inquiry { sql: sql.into(), prefix, is_frequent: true }
    }
}

/// A name that means the same on every dbms, and lists of the server's own names. Its value is the sum over the first list
/// whose names the server has all.
pub(crate) type Common = (&'static str, &'static [&'static [&'static str]]);

/// What a server can be asked. It holds no connection: any session of the server will do.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    pub(crate) inquiries: Vec<Inquiry>,
    pub(crate) common: &'static [Common],
    /// The names, without their prefixes, of values that are levels instead of counters.
    pub(crate) levels: &'static [&'static str],
    /// Names that are kept as series over time, besides the common ones.
    pub(crate) over_time: &'static [&'static str],
    /// The busy sessions by what they wait for: rows of a name, null if they wait for nothing, and a number of sessions.
    pub(crate) sessions: Option<String>,
}

impl Telemetry {
    /// Everything that the server reports, both counters and levels. What a version lacks is left out.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn read(&self, session: &mut dyn Session) -> Result<Measures, Error> {
        self.ask(session, |_| true)
    }

    /// What the inquiries that are made every second return.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn glance(&self, session: &mut dyn Session) -> Result<Measures, Error> {
        let all = self.ask(session, |inquiry| inquiry.is_frequent)?;
        let mut kept = Measures::new();
        for (name, value) in all.iter() {
            if self.common.iter().any(|(common, _)| *common == name) || self.over_time.contains(&name) {
                kept.set(name, value);
            }
        }
        Ok(kept)
    }

    /// Whether the name is a level's.
    pub fn is_level(&self, name: &str) -> bool {
        let below = |level: &&&str| name.strip_suffix(**level).is_some_and(|prefix| prefix.ends_with('.'));
        self.levels.iter().any(|level| below(&level))
    }

    /// Whether [`Telemetry::sessions`] can return anything.
    pub fn knows_sessions(&self) -> bool {
        self.sessions.is_some()
    }

    /// How many sessions are busy now, by what they wait for, under names that begin with [`names::SESSION_PREFIX`]. `None`
    /// if the server does not tell.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn sessions(&self, session: &mut dyn Session) -> Result<Option<Vec<(String, u64)>>, Error> {
        let Some(sql) = &self.sessions else { return Ok(None) };
        let rows = match session.query(sql) {
            Err(error) if error.kind() == Kind::Refused => return Ok(None),
            rows => rows?,
        };
        let state = |row: Vec<Value>| {
            let count = row.get(1).and_then(number)? as u64;
            let name = match row.into_iter().next()? {
                Value::Text(wait) if !wait.is_empty() => {
                    format!(
                        "{}{}_us",
                        names::SESSION_PREFIX,
                        wait.to_lowercase().replace([' ', ':', '/'], "_")
                    )
                }
                _ => names::SESSION_CPU_US.to_owned(),
            };
            Some((name, count))
        };
        Ok(Some(rows.into_iter().filter_map(state).collect()))
    }

    fn ask(&self, session: &mut dyn Session, is_due: fn(&Inquiry) -> bool) -> Result<Measures, Error> {
        let mut measures = Measures::new();
        for inquiry in self.inquiries.iter().filter(|inquiry| is_due(inquiry)) {
            let rows = match session.query(&inquiry.sql) {
                // This version lacks the view or column, or the user's own server forbids it.
                Err(error) if error.kind() == Kind::Refused => continue,
                rows => rows?,
            };
            for row in rows {
                if let (Some(Value::Text(name)), Some(value)) = (row.first(), row.get(1).and_then(number)) {
                    measures
                        .set(&format!("{}{}", inquiry.prefix, name.to_lowercase().replace(' ', "_")), value);
                }
            }
        }
        for (name, lists) in self.common {
            let sum = |list: &&[&str]| list.iter().map(|theirs| measures.get(theirs)).sum::<Option<f64>>();
            if let Some(value) = lists.iter().find_map(sum) {
                measures.set(name, value);
            }
        }
        Ok(measures)
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(integer) => Some(*integer as f64),
        Value::Text(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Null => None,
    }
}
