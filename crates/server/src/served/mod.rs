//! A dbms that is ready for sessions: started by basecase, embedded in it, or the user's own.

mod settle;
mod side_by_side;
mod table_name;
mod telemetry;

use std::collections::BTreeMap;

use basecase_client::{Endpoint, Error, Session};
use basecase_model::{Dbms, Measures, TableState, Value, names};

use crate::instance::{Instance, InstanceError, KilledForMemory, ServerEnd};

pub use settle::{POLL_INTERVAL, Patience, Settle, SettleLimit, Settled, Settling, debt, drain, settle};
pub(crate) use side_by_side::execute_all;
pub(crate) use table_name::{bare, literal, literals};
pub use telemetry::Telemetry;
pub(crate) use telemetry::{Common, Inquiry};

/// The database that the tables are in.
pub(crate) const DATABASE: &str = "ib";

/// How thoroughly a table's content is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Count every row and search the smallest id from the beginning.
    Full,
    /// Count nothing, and search the smallest id from this one on: reading a large table, or stepping over its
    /// deleted rows, would change what the next step finds in the caches and the indexes.
    From(i64),
}

/// A table to look at.
#[derive(Debug, Clone, Copy)]
pub struct TableCheck<'a> {
    /// Its name.
    pub table: &'a str,
    /// The column of integers that tells its rows apart, if there is one.
    pub key: Option<&'a str>,
    /// How thoroughly.
    pub depth: Depth,
    /// Whether the last value that the dbms gave the key is asked for.
    pub asks_last_value: bool,
}

/// What a dbms has put off: deleted rows, log and dirty pages that somebody's time will pay for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Debt {
    /// Whether little is left, and nobody at work on it.
    pub at_rest: bool,
    /// Whether moreover nothing at all is left to purge, where the dbms purges; else as `at_rest`.
    pub is_purged: bool,
    /// What was looked at.
    pub measures: Measures,
}

/// What the binary says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelfReport {
    /// The version, e.g. `17.11`.
    pub version: String,
    /// Compiler, e.g. `gcc 12.2.0`.
    pub compiler: Option<String>,
    /// Compiler flags.
    pub flags: Option<String>,
    /// Anything else, by name.
    pub details: Vec<(String, String)>,
}

/// A dbms that is ready for sessions.
pub trait Served {
    /// Which one it is.
    fn dbms(&self) -> Dbms;

    /// Where sessions are opened.
    fn endpoint(&self) -> &Endpoint;

    /// The server that basecase started; `None` for the user's own server, and for a dbms without a server.
    fn instance(&self) -> Option<&Instance> {
        None
    }

    /// The same, to be changed or taken.
    fn instance_mut(&mut self) -> Option<&mut Option<Instance>> {
        None
    }

    /// Root of the server's process tree on this host, if basecase started it.
    fn pid(&self) -> Option<u32> {
        self.instance().and_then(Instance::pid)
    }

    /// What the binary says of itself.
    ///
    /// # Errors
    /// When the dbms does not answer.
    fn report(&self, session: &mut dyn Session) -> Result<SelfReport, Error>;

    /// Whether the name, in the session's database and search path, is that of a table that basecase did not make. On a server that
    /// basecase started there is none.
    ///
    /// # Errors
    /// When the name is not plain, or the dbms does not answer.
    fn is_foreign(&self, session: &mut dyn Session, table: &str) -> Result<bool, Error>;

    /// Refuses a user of whom it is known that the dbms will refuse what settling does, on the user's own server.
    ///
    /// # Errors
    /// When the right is missing; the text names it, and how it is granted. When the dbms does not answer.
    fn check_rights(&self, _session: &mut dyn Session) -> Result<(), Error> {
        Ok(())
    }

    /// Drops the table of this name if there is one, and returns `true`; `false` when basecase did not make it. That is asked here, and
    /// not taken from an earlier answer.
    ///
    /// # Errors
    /// As [`Served::is_foreign`], and when the dbms refuses.
    fn drop_table(&self, session: &mut dyn Session, table: &str) -> Result<bool, Error> {
        if self.is_foreign(session, table)? {
            return Ok(false);
        }
        session.query(&format!("drop table if exists {}", bare(table)?)).map(|_| true)
    }

    /// The last value that the dbms gave the key of a table, where it can tell.
    ///
    /// # Errors
    /// When there is no such table or the dbms does not answer.
    fn last_value(&self, session: &mut dyn Session, table: &str, key: &str) -> Result<Option<i64>, Error>;

    /// What one table holds.
    ///
    /// # Errors
    /// When there is no such table or the dbms does not answer.
    fn table(&self, session: &mut dyn Session, check: TableCheck<'_>) -> Result<TableState, Error> {
        let table = bare(check.table)?;
        let rows = match check.depth {
            Depth::Full => integer(session, &format!("select count(*) from {table}"))?,
            Depth::From(_) => None,
        };
        let mut state = TableState {
            table: table.to_owned(),
            rows: rows.map(|rows| rows as u64),
            min_id: None,
            max_id: None,
            last_value: None,
        };
        if let Some(key) = check.key.map(bare).transpose()? {
            state.min_id = match check.depth {
                Depth::Full => integer(session, &format!("select min({key}) from {table}"))?,
                Depth::From(id) => integer(
                    session,
                    &format!("select {key} from {table} where {key} >= {id} order by 1 limit 1"),
                )?,
            };
            state.max_id = integer(session, &format!("select max({key}) from {table}"))?;
            if check.asks_last_value {
                state.last_value = self.last_value(session, table, key)?;
            }
        }
        Ok(state)
    }

    /// How many secondary indexes a table has that are complete.
    ///
    /// # Errors
    /// When there is no such table or the dbms does not answer.
    fn secondary_indexes(&self, session: &mut dyn Session, table: &str) -> Result<u64, Error>;

    /// The server's own counters, ever growing, under the names of [`basecase_model::names`] that begin with `server.`, and under
    /// the engine's. Counters that lose what several of `writers` sessions add at once are among the engine's only.
    ///
    /// # Errors
    /// When the dbms does not answer.
    fn statistics(
        &self,
        session: &mut dyn Session,
        tables: &[String],
        writers: usize,
    ) -> Result<Measures, Error>;

    /// Waits until [`Served::statistics`] holds that `session` began, and what sessions of basecase did that have ended, so that
    /// neither counts as a part of what comes next. Nothing to wait for by default.
    ///
    /// # Errors
    /// When the dbms does not answer.
    fn catch_up(&self, _session: &mut dyn Session) -> Result<(), Error> {
        Ok(())
    }

    /// Whether [`Served::statistics`] may lack some of what was done, for good. Not by default.
    fn may_lose_counts(&self) -> bool {
        false
    }

    /// What the server can be asked of itself while a step runs; nothing by default.
    fn telemetry(&self) -> Telemetry {
        Telemetry::default()
    }

    /// Every setting as the server runs, by name. Those that may hold a secret are left out.
    ///
    /// # Errors
    /// When the dbms does not answer.
    fn settings(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>, Error>;

    /// How the dbms would execute a statement, a line for each node of its plan.
    ///
    /// # Errors
    /// When the dbms refuses to explain it or does not answer.
    fn explain(&self, session: &mut dyn Session, sql: &str) -> Result<String, Error>;

    /// Sizes on disk, under the names that begin with `size.`.
    ///
    /// # Errors
    /// When the dbms does not answer.
    fn sizes(&self, session: &mut dyn Session) -> Result<Measures, Error>;

    /// Makes the dbms pay its debt faster than the config would, for the time of settling. Puts the statements that undo it into `undo`.
    ///
    /// # Errors
    /// When the dbms refuses or does not answer; `undo` sets back what had been set.
    fn hasten(&self, _session: &mut dyn Session, _undo: &mut Vec<String>) -> Result<(), Error> {
        Ok(())
    }

    /// Pays the debt as far as statements can: vacuum, flush, checkpoint. What it waits for in between, it waits for no longer
    /// than `patience`.
    ///
    /// # Errors
    /// When the dbms refuses or does not answer.
    fn pay_debt(
        &self,
        session: &mut dyn Session,
        tables: &[String],
        patience: &Patience<'_>,
    ) -> Result<(), Error>;

    /// What is left of the dbms's own debt; [`crate::debt`] is that of its host as well.
    ///
    /// # Errors
    /// When the dbms does not answer.
    fn own_debt(&self, session: &mut dyn Session, tables: &[String]) -> Result<Debt, Error>;

    /// Drops the log of changes that the dbms has written for replicas. Each step begins and ends with it, as in the reference, so
    /// that the log does not fill the disk. Never on the user's own server.
    ///
    /// # Errors
    /// When the dbms refuses or does not answer.
    fn drop_logs(&self, _session: &mut dyn Session) -> Result<(), Error> {
        Ok(())
    }

    /// The last lines of the server's log; empty if there is none that basecase can read.
    fn log_tail(&self, lines: usize) -> String {
        self.instance().map(|instance| instance.log_tail(lines)).unwrap_or_default()
    }

    /// Whether the kernel's out-of-memory killer has killed the server since its start, if basecase started it.
    fn killed_for_memory(&mut self) -> Option<KilledForMemory> {
        self.instance_mut()?.as_mut()?.killed_for_memory()
    }

    /// Stops the server, if basecase started it, and leaves its data. Returns a note if that did not go smoothly.
    fn stop(&mut self) -> Option<String> {
        self.instance_mut()?.as_mut().and_then(stop)
    }

    /// Stops the server and removes its data, if basecase started it. On the user's own server, drops the tables; the note names
    /// those that basecase did not create, which stay.
    ///
    /// # Errors
    /// If files cannot be removed, or the user's server refuses.
    fn discard(
        mut self: Box<Self>,
        mut control: Box<dyn Session>,
        tables: &[String],
    ) -> Result<Option<String>, InstanceError> {
        if let Some(mut instance) = self.instance_mut().and_then(Option::take) {
            drop(control);
            let note = stop(&mut instance);
            return instance.destroy().map(|()| note);
        }
        let mut kept = Vec::new();
        for table in tables {
            if !self.drop_table(control.as_mut(), table)? {
                kept.push(table.as_str());
            }
        }
        Ok((!kept.is_empty())
            .then(|| format!("not dropped, for basecase did not make it: {}", kept.join(", "))))
    }
}

/// Stops an instance. Returns a note if that did not go smoothly.
fn stop(instance: &mut Instance) -> Option<String> {
    match instance.stop() {
        Ok(ServerEnd::Unclean(note)) => Some(note),
        Ok(ServerEnd::Clean | ServerEnd::WasNotRunning) => None,
        Err(error) => Some(error.to_string()),
    }
}

/// Relations of which each is kept; of more only their sums are.
const MOST_RELATIONS: usize = 40;

/// Sizes of tables and indexes out of rows of a name that begins with `table.` or `index.`, and bytes: each, and their sums.
pub(crate) fn set_relations(measures: &mut Measures, rows: Vec<Vec<Value>>) {
    let sizes: Vec<(String, f64)> = rows
        .into_iter()
        .filter_map(|row| match row.as_slice() {
            [Value::Text(name), Value::Integer(bytes)] => Some((name.clone(), *bytes as f64)),
            [Value::Text(name), Value::Text(bytes)] => Some((name.clone(), bytes.parse().ok()?)),
            _ => None,
        })
        .collect();
    for (prefix, sum) in [("table.", names::TABLES_BYTES), ("index.", names::INDEXES_BYTES)] {
        let bytes = sizes.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, bytes)| bytes);
        measures.set(sum, bytes.sum());
    }
    if sizes.len() <= MOST_RELATIONS {
        for (name, bytes) in &sizes {
            measures.set(&format!("size.{name}_bytes"), *bytes);
        }
    }
}

/// The first column of the first row as an integer.
pub(crate) fn integer(session: &mut dyn Session, sql: &str) -> Result<Option<i64>, Error> {
    let rows = session.query(sql)?;
    Ok(match rows.first().and_then(|row| row.first()) {
        Some(Value::Integer(integer)) => Some(*integer),
        _ => None,
    })
}

/// The first column of the first row as text.
pub(crate) fn text(session: &mut dyn Session, sql: &str) -> Result<String, Error> {
    let rows = session.query(sql)?;
    Ok(match rows.into_iter().next().and_then(|row| row.into_iter().next()) {
        Some(Value::Text(text)) => text,
        Some(Value::Integer(integer)) => integer.to_string(),
        Some(Value::Null) | None => String::new(),
    })
}

/// Settings out of rows that begin with a name and a value.
pub(crate) fn settings(rows: Vec<Vec<Value>>) -> BTreeMap<String, String> {
    let setting = |row: Vec<Value>| {
        let mut row = row.into_iter();
        let Value::Text(name) = row.next()? else { return None };
        let value = match row.next()? {
            Value::Text(text) => text,
            Value::Integer(integer) => integer.to_string(),
            Value::Null => String::new(),
        };
        let may_be_secret = ["password", "conninfo", "passphrase", "secret"];
        (!may_be_secret.iter().any(|word| name.contains(word))).then_some((name, value))
    };
    rows.into_iter().filter_map(setting).collect()
}

/// Sets a measure when there is a value.
pub(crate) fn set(measures: &mut Measures, name: &str, value: Option<i64>) {
    if let Some(value) = value {
        measures.set(name, value as f64);
    }
}
