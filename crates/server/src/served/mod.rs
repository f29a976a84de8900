//! A dbms that is ready for sessions: started by basecase, embedded in it, or the user's own.

mod settle;
mod side_by_side;
mod table_name;
mod telemetry;

use std::collections::BTreeMap;

use basecase_client::{Endpoint, Error, Session};
use basecase_model::{Dbms, Measures, PlanKind, TableState, Value, names};
use basecase_probe::ServerGroup;

use crate::instance::{Instance, InstanceError, KilledForMemory, ServerEnd};

pub use settle::{POLL_INTERVAL, Patience, Settle, SettleLimit, Settled, Settling, debt, drain, settle};
pub(crate) use side_by_side::execute_all;
pub(crate) use table_name::{bare, literal, literals};
pub use telemetry::Telemetry;
pub(crate) use telemetry::{Common, Inquiry};

/// The database that the tables are in.
pub(crate) const DATABASE: &str = "ib";

/// How thoroughly to check a table's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Count every row, and search for the smallest id from the beginning.
    Full,
    /// Count nothing, and search for the smallest id from this one on. Reading a large table, or skipping its deleted rows,
    /// would change the caches and indexes that the next step starts with.
    From(i64),
}

/// What to find out about a table.
#[derive(Debug, Clone, Copy)]
pub struct TableCheck<'a> {
    /// Its name.
    pub table: &'a str,
    /// The integer column that identifies its rows, if there is one.
    pub key: Option<&'a str>,
    /// How thoroughly.
    pub depth: Depth,
    /// Whether to find out the last value that the dbms generated for the key.
    pub asks_last_value: bool,
}

/// Work that a dbms has deferred: deleted rows, log and dirty pages that cost time later.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Debt {
    /// Whether little is left, and nothing is working on it.
    pub at_rest: bool,
    /// Whether also nothing at all is left to purge, if the dbms purges; otherwise the same as `at_rest`.
    pub is_purged: bool,
    /// The measured amounts.
    pub measures: Measures,
}

/// What the binary reports of itself.
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
    /// Which dbms it is.
    fn dbms(&self) -> Dbms;

    /// Where to open sessions.
    fn endpoint(&self) -> &Endpoint;

    /// The server that basecase started; `None` for the user's own server, and for a dbms without a server.
    fn instance(&self) -> Option<&Instance> {
        None
    }

    /// The place of [`Served::instance`], to change or take it.
    fn instance_mut(&mut self) -> Option<&mut Option<Instance>> {
        None
    }

    /// Root of the server's process tree on this host, if basecase started it.
    fn pid(&self) -> Option<u32> {
        self.instance().and_then(Instance::pid)
    }

    /// What the kernel counts for the control group that basecase gave the server, if its memory is limited.
    fn group_counts(&self) -> Option<ServerGroup> {
        self.instance().and_then(Instance::group_counts)
    }

    /// What the binary reports of itself.
    ///
    /// # Errors
    /// If the dbms does not answer.
    fn report(&self, session: &mut dyn Session) -> Result<SelfReport, Error>;

    /// Whether the name, in the session's database and search path, is that of a table that basecase did not create. There
    /// is none on a server that basecase started.
    ///
    /// # Errors
    /// If the name is not plain, or the dbms does not answer.
    fn is_foreign(&self, session: &mut dyn Session, table: &str) -> Result<bool, Error>;

    /// On the user's own server, refuses a database user who lacks a right that settling needs.
    ///
    /// # Errors
    /// If the right is missing; the text names it, and how to grant it. If the dbms does not answer.
    fn check_rights(&self, _session: &mut dyn Session) -> Result<(), Error> {
        Ok(())
    }

    /// Drops the table with this name if there is one, and returns `true`; returns `false` if basecase did not create it.
    /// This is checked here, right before dropping it.
    ///
    /// # Errors
    /// As [`Served::is_foreign`], or if the dbms refuses.
    fn drop_table(&self, session: &mut dyn Session, table: &str) -> Result<bool, Error> {
        if self.is_foreign(session, table)? {
            return Ok(false);
        }
        session.query(&format!("drop table if exists {}", bare(table)?)).map(|_| true)
    }

    /// The last value that the dbms generated for the key of a table, if it can tell.
    ///
    /// # Errors
    /// If there is no such table or the dbms does not answer.
    fn last_value(&self, session: &mut dyn Session, table: &str, key: &str) -> Result<Option<i64>, Error>;

    /// The state of one table.
    ///
    /// # Errors
    /// If there is no such table or the dbms does not answer.
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

    /// How many complete secondary indexes a table has.
    ///
    /// # Errors
    /// If there is no such table or the dbms does not answer.
    fn secondary_indexes(&self, session: &mut dyn Session, table: &str) -> Result<u64, Error>;

    /// Reads all pages of a table and of its indexes, so that they are in the dbms's cache if that holds them.
    ///
    /// # Errors
    /// If there is no such table or the dbms does not answer.
    fn warm(&self, session: &mut dyn Session, table: &str) -> Result<(), Error>;

    /// What the dbms calls `session` by number: the process of Postgres, the connection of MySQL and MariaDB.
    /// `None` if it does not number them.
    ///
    /// # Errors
    /// If the dbms does not answer.
    fn session_number(&self, session: &mut dyn Session) -> Result<Option<u32>, Error>;

    /// What the operating system calls the process or thread that executes the statements of `session`. `None` if it has none of its own.
    ///
    /// # Errors
    /// If the dbms does not answer, or cannot tell.
    fn session_thread(&self, session: &mut dyn Session) -> Result<Option<u32>, Error> {
        self.session_number(session)
    }

    /// Gives `session` a number by which its thread is known in counts of instructions: so many calls of one function, see
    /// [`crate::is_mark`]. All marks cost about the same. Nothing happens where sessions are processes.
    ///
    /// # Errors
    /// If the dbms does not answer.
    fn mark(&self, session: &mut dyn Session, mark: usize) -> Result<(), Error> {
        let _ = (session, mark);
        Ok(())
    }

    /// Keeps the dbms from removing old versions of rows while `session` is open and executes nothing else. When it would do so is chance,
    /// and decides how much work it is to write. By default there is nothing to hold back.
    ///
    /// # Errors
    /// If the dbms refuses or does not answer.
    fn hold_purge(&self, _session: &mut dyn Session) -> Result<(), Error> {
        Ok(())
    }

    /// The server's own cumulative counters, under the names of [`basecase_model::names`] that begin with `server.`, and
    /// under the engine's names. Counters that lose concurrent increments of several `writers` are only under the engine's.
    ///
    /// # Errors
    /// If the dbms does not answer.
    fn statistics(
        &self,
        session: &mut dyn Session,
        tables: &[String],
        writers: usize,
    ) -> Result<Measures, Error>;

    /// Waits until [`Served::statistics`] includes the start of `session` and the work of basecase's ended sessions, so that
    /// neither counts as part of what comes next. By default there is nothing to wait for.
    ///
    /// # Errors
    /// If the dbms does not answer.
    fn catch_up(&self, _session: &mut dyn Session) -> Result<(), Error> {
        Ok(())
    }

    /// Whether [`Served::statistics`] may permanently lack some of the work. By default it does not.
    fn may_lose_counts(&self) -> bool {
        false
    }

    /// The inquiries that the server answers while a step runs; none by default.
    fn telemetry(&self) -> Telemetry {
        Telemetry::default()
    }

    /// Every setting of the running server, by name, except those that may contain a secret.
    ///
    /// # Errors
    /// If the dbms does not answer.
    fn settings(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>, Error>;

    /// How the dbms would execute a statement, a line for each node of its plan; a prepared one with a plan of this kind, if the dbms
    /// knows kinds.
    ///
    /// # Errors
    /// If the dbms refuses to explain it or does not answer.
    fn explain(&self, session: &mut dyn Session, sql: &str, kind: Option<PlanKind>) -> Result<String, Error>;

    /// Sizes on disk, under the names that begin with `size.`.
    ///
    /// # Errors
    /// If the dbms does not answer.
    fn sizes(&self, session: &mut dyn Session) -> Result<Measures, Error>;

    /// Whether the dbms works while no statement does: checkpoints, vacuum, compaction. One without it stays at rest once it is.
    fn has_background_work(&self) -> bool {
        true
    }

    /// Makes the dbms pay its debt faster than the config would, while it settles. Adds the statements that undo this to
    /// `undo`.
    ///
    /// # Errors
    /// If the dbms refuses or does not answer; `undo` resets what was set until then.
    fn hasten(&self, _session: &mut dyn Session, _undo: &mut Vec<String>) -> Result<(), Error> {
        Ok(())
    }

    /// Pays the debt as far as statements can: vacuum, flush, checkpoint. It waits in between for no longer than `patience`.
    ///
    /// # Errors
    /// If the dbms refuses or does not answer.
    fn pay_debt(
        &self,
        session: &mut dyn Session,
        tables: &[String],
        patience: &Patience<'_>,
    ) -> Result<(), Error>;

    /// Wakes what pays the debt in the background, where it can fall asleep before all is paid.
    ///
    /// # Errors
    /// If the dbms refuses or does not answer.
    fn wake(&self, _session: &mut dyn Session) -> Result<(), Error> {
        Ok(())
    }

    /// What is left of the dbms's own debt; [`crate::debt`] includes the host's.
    ///
    /// # Errors
    /// If the dbms does not answer.
    fn own_debt(&self, session: &mut dyn Session, tables: &[String]) -> Result<Debt, Error>;

    /// Drops the log of changes that the dbms writes for replicas, but never on the user's own server. As in the reference,
    /// this happens at the start and end of each step, so that the log does not fill the disk.
    ///
    /// # Errors
    /// If the dbms refuses or does not answer.
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
            .then(|| format!("not dropped, because basecase did not create it: {}", kept.join(", "))))
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

/// The most relations whose sizes are kept one by one. If there are more, only the sums are kept.
const MOST_RELATIONS: usize = 40;

/// Sets the sizes of tables and indexes, each and in sum, from rows of a name that begins with `table.` or `index.` and a
/// number of bytes.
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

/// Settings from rows that begin with a name and a value.
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

/// Sets a measure if there is a value.
pub(crate) fn set(measures: &mut Measures, name: &str, value: Option<i64>) {
    if let Some(value) = value {
        measures.set(name, value as f64);
    }
}
