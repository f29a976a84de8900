//! Merging stores: what several runs or machines measured, in one file.
//!
//! The same stores merged in any order, and as often as one likes, hold the same: of an experiment that both have, the earlier start
//! counts, and of the same start what was known last; the order of experiments and trials is that of their times.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _};

use crate::{Problem, Store, StoreError};

/// What a merge added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Added {
    /// Experiments that were not there.
    pub experiments: usize,
    /// Trials that were not there.
    pub trials: usize,
    /// Counted steps that were not there, one for each start.
    pub counts: usize,
}

/// Settings of the connection while stores are merged: rows come from stores that have checked their references, and are put in between
/// others all over the file. 125 MB of log before it is copied into the file.
const MERGING: &str = "PRAGMA foreign_keys = OFF; PRAGMA wal_autocheckpoint = 32000;";
/// The settings otherwise.
const AS_USUAL: &str = "PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 1000;";

/// The names of stores that are merged in one transaction, so that pages which all of them change are written once. SQLite attaches ten.
const TOGETHER: [&str; 8] = ["other1", "other2", "other3", "other4", "other5", "other6", "other7", "other8"];

/// Tables whose rows belong to a trial.
const OF_TRIALS: [&str; 11] = [
    "role",
    "measures",
    "server_reading",
    "table_state",
    "comparison",
    "statement",
    "track",
    "plan",
    "profile",
    "slices",
    "session",
];

impl Store {
    /// Adds what another store holds and this one does not, all or nothing. The other is only read.
    ///
    /// # Errors
    /// [`Problem::Contradiction`] where both have results of their own of the same round, or different ones of one trial; nothing is
    /// added then. When either store cannot be read or written.
    pub fn merge(&mut self, other: &Store) -> Result<Added, StoreError> {
        Ok(self.merge_all([other])?.into_iter().next().unwrap_or_default())
    }

    /// The same with several stores, one after the other, which takes less time. What was added before a contradiction stays.
    ///
    /// # Errors
    /// As [`Store::merge`].
    pub fn merge_all<'a>(
        &mut self,
        others: impl IntoIterator<Item = &'a Store>,
    ) -> Result<Vec<Added>, StoreError> {
        let others: Vec<&Store> = others.into_iter().collect();
        self.set(MERGING)?;
        let merged: Result<Vec<_>, _> =
            others.chunks(TOGETHER.len()).map(|some| self.add_all_of(some)).collect();
        let ordered = self.put_in_order();
        self.set(AS_USUAL)?;
        ordered.and(merged).map(|added| added.concat())
    }

    fn set(&self, pragmas: &str) -> Result<(), StoreError> {
        let set = self.connection.execute_batch(pragmas);
        set.map_err(|error| Problem::from(error).at(&self.path))
    }

    /// Puts experiments and trials in the order of their times, whatever order they were merged in.
    fn put_in_order(&mut self) -> Result<(), StoreError> {
        self.write(|transaction| order(transaction))
    }

    /// Adds what some stores hold, in one transaction, up to the first that contradicts.
    fn add_all_of(&mut self, others: &[&Store]) -> Result<Vec<Added>, StoreError> {
        let named: Vec<(&Store, &str)> = others.iter().copied().zip(TOGETHER).collect();
        let copies: Result<Vec<_>, _> = named.iter().map(|(other, name)| self.attach(other, name)).collect();
        let added = match &copies {
            Ok(_) => self.write(|transaction| add_until_contradiction(transaction, &named)),
            Err(_) => Ok((Vec::new(), None)),
        };
        let detached = self.detach_all();
        let (_copies, (added, contradiction)) = (copies?, added?);
        detached?;
        match contradiction {
            Some(problem) => Err(problem.at(&self.path)),
            None => Ok(added),
        }
    }

    /// Attaches another store under a name. The file that is attached lives as long as what is returned.
    fn attach(&self, other: &Store, name: &str) -> Result<Option<Copy>, StoreError> {
        let (file, copy) = other.file_of_this_version(&self.path, name)?;
        let attach = format!("ATTACH DATABASE ?1 AS {name}");
        let attached = self.connection.execute(&attach, [file.to_string_lossy()]);
        attached.map_err(|error| Problem::from(error).at(&other.path))?;
        Ok(copy)
    }

    /// Detaches whatever is attached.
    fn detach_all(&self) -> Result<(), StoreError> {
        let detach = || -> Result<(), Problem> {
            let mut statement =
                self.connection.prepare("SELECT name FROM pragma_database_list WHERE name LIKE 'other%'")?;
            let names = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
            drop(statement);
            names
                .iter()
                .try_for_each(|name| Ok(self.connection.execute_batch(&format!("DETACH DATABASE {name}"))?))
        };
        detach().map_err(|problem| problem.at(&self.path))
    }

    /// The store's file, or a copy beside `near` if it is of an older version, which is brought up to date in memory alone. The name of the
    /// copy ends with `distinction`.
    fn file_of_this_version(
        &self,
        near: &Path,
        distinction: &str,
    ) -> Result<(PathBuf, Option<Copy>), StoreError> {
        if self.connection.path().is_some_and(|path| !path.is_empty()) {
            return Ok((self.path.clone(), None));
        }
        let mut name = near.as_os_str().to_owned();
        name.push(format!("-merged-{}-{distinction}", std::process::id()));
        let copy = Copy(name.into());
        self.copy_to(&copy.0)?;
        Ok((copy.0.clone(), Some(copy)))
    }
}

/// A file that goes when it is no longer needed.
struct Copy(PathBuf);

impl Drop for Copy {
    fn drop(&mut self) {
        // Whoever looks for space finds it by its name.
        let _ = fs::remove_file(&self.0);
    }
}

/// Adds what stores hold that are attached under these names. Returns what contradicts, of which nothing is added, nor of those that follow.
fn add_until_contradiction(
    connection: &Connection,
    others: &[(&Store, &str)],
) -> Result<(Vec<Added>, Option<Problem>), Problem> {
    let mut added = Vec::new();
    for (other, name) in others {
        match refuse_contradictions(connection, name, &other.path) {
            Err(contradiction @ Problem::Contradiction { .. }) => return Ok((added, Some(contradiction))),
            checked => checked?,
        }
        added.push(add(connection, name)?);
    }
    Ok((added, None))
}

/// The columns of a table but for these.
fn columns(connection: &Connection, table: &str, without: &[&str]) -> Result<Vec<String>, Problem> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1, 'main')")?;
    let names = statement.query_map([table], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    Ok(names.into_iter().filter(|name| !without.contains(&name.as_str())).collect())
}

/// Columns as SQL lists them, with `before` before each.
fn list(before: &str, columns: &[String]) -> String {
    let named: Vec<String> = columns.iter().map(|column| format!("{before}\"{column}\"")).collect();
    named.join(", ")
}

/// Refuses stores that both measured a round, or that have different results of one trial.
fn refuse_contradictions(connection: &Connection, name: &str, other: &Path) -> Result<(), Problem> {
    // A query names the trial that contradicts as `told`.
    let refuse = |query: &str| {
        let query = format!(
            "SELECT told.candidate || ' on ' || told.step || ', round ' || (told.round + 1) {query} LIMIT 1"
        );
        match connection.query_row(&query, [], |row| row.get(0)).optional()? {
            Some(what) => Err(Problem::Contradiction { other: other.to_owned(), what }),
            None => Ok(()),
        }
    };
    // Each store of its own may have failed before.
    refuse(&format!(
        "FROM {name}.trial AS told JOIN main.trial AS ours
             ON ours.cell = told.cell AND ours.round = told.round AND ours.id <> told.id
         WHERE ours.status = 'complete' AND told.status = 'complete'
             AND (ours.observation = 'profiled') = (told.observation = 'profiled')
         ORDER BY told.sequence"
    ))?;
    connection.execute_batch(&format!(
        "DROP TABLE IF EXISTS temp.known;
         CREATE TEMP TABLE known AS SELECT theirs.id FROM {name}.trial AS theirs
             WHERE EXISTS (SELECT 1 FROM main.trial AS ours WHERE ours.id = theirs.id);"
    ))?;
    if !connection.query_row("SELECT EXISTS (SELECT 1 FROM temp.known)", [], |row| row.get(0))? {
        return Ok(());
    }
    // Warnings may be added to a trial later.
    let own = columns(connection, "trial", &["sequence", "warnings"])?;
    refuse(&format!(
        "FROM {name}.trial AS told JOIN main.trial AS ours ON ours.id = told.id
         WHERE ({}) IS NOT ({}) ORDER BY told.sequence",
        list("told.", &own),
        list("ours.", &own)
    ))?;
    for table in OF_TRIALS {
        let all = columns(connection, table, &[])?;
        refuse(&format!(
            "FROM (SELECT {theirs} FROM {name}.{table} AS theirs
                   WHERE EXISTS (SELECT 1 FROM main.trial AS known WHERE known.id = theirs.trial)
                   EXCEPT SELECT {ours} FROM main.{table} AS ours
                   WHERE EXISTS (SELECT 1 FROM {name}.trial AS told WHERE told.id = ours.trial)) AS differing
             JOIN main.trial AS told ON told.id = differing.trial",
            theirs = list("theirs.", &all),
            ours = list("ours.", &all)
        ))?;
    }
    Ok(())
}

/// Adds rows of the store of that name that are not there.
fn add(connection: &Connection, name: &str) -> Result<Added, Problem> {
    let last = |table: &str| -> Result<i64, Problem> {
        let last = format!("SELECT coalesce(max(sequence), 0) FROM main.{table}");
        Ok(connection.query_row(&last, [], |row| row.get(0))?)
    };
    let insert = |table: &str, filter: &str| -> Result<usize, Problem> {
        let all = columns(connection, table, &[])?;
        let (into, from) = (list("", &all), list("theirs.", &all));
        let insert = format!(
            "INSERT INTO main.{table} ({into}) SELECT {from} FROM {name}.{table} AS theirs WHERE {filter}"
        );
        Ok(connection.execute(&insert, [])?)
    };
    // After those that are there, until all are put in order.
    let insert_in_sequence = |table: &str| -> Result<usize, Problem> {
        let all = columns(connection, table, &["sequence"])?;
        let (into, from) = (list("", &all), list("theirs.", &all));
        let insert = format!(
            "INSERT INTO main.{table} ({into}, sequence) SELECT {from}, theirs.sequence + ?1 FROM {name}.{table} AS theirs
             WHERE NOT EXISTS (SELECT 1 FROM main.{table} AS ours WHERE ours.id = theirs.id)"
        );
        Ok(connection.execute(&insert, [last(table)?])?)
    };
    connection.execute_batch(&format!(
        "UPDATE main.experiment AS ours SET created_at = theirs.created_at, name = theirs.name, facts = theirs.facts
         FROM {name}.experiment AS theirs WHERE theirs.id = ours.id
             AND (theirs.created_at, -coalesce(theirs.facts ->> '$.calendar_time.passed_seconds', 0), -length(theirs.facts), theirs.name, theirs.facts)
                 < (ours.created_at, -coalesce(ours.facts ->> '$.calendar_time.passed_seconds', 0), -length(ours.facts), ours.name, ours.facts);
         UPDATE main.experiment_cell AS ours SET candidate = theirs.candidate
         FROM {name}.experiment_cell AS theirs
         WHERE theirs.experiment = ours.experiment AND theirs.cell = ours.cell AND theirs.candidate < ours.candidate;
         UPDATE main.trial AS ours SET warnings = theirs.warnings
         FROM {name}.trial AS theirs WHERE ours.id IN (SELECT id FROM temp.known) AND theirs.id = ours.id
             AND (length(theirs.warnings), theirs.warnings) > (length(ours.warnings), ours.warnings);"
    ))?;
    let experiments = insert_in_sequence("experiment")?;
    insert("cell", "NOT EXISTS (SELECT 1 FROM main.cell AS ours WHERE ours.key = theirs.key)")?;
    insert(
        "experiment_cell",
        "NOT EXISTS (SELECT 1 FROM main.experiment_cell AS ours
                     WHERE ours.experiment = theirs.experiment AND ours.cell = theirs.cell)",
    )?;
    let trials = insert_in_sequence("trial")?;
    for table in OF_TRIALS {
        insert(table, "theirs.trial NOT IN (SELECT id FROM temp.known)")?;
    }
    let counts = insert(
        "step_count",
        "NOT EXISTS (SELECT 1 FROM main.step_count AS ours
                     WHERE ours.cell = theirs.cell AND ours.start = theirs.start AND ours.started_at = theirs.started_at)",
    )?;
    Ok(Added { experiments, trials, counts })
}

/// Puts experiments and trials in the order of their times, whatever order they were merged in.
fn order(connection: &Connection) -> Result<(), Problem> {
    for (table, time) in [("experiment", "created_at"), ("trial", "started_at")] {
        // By way of negative numbers, since each may be there once.
        connection.execute_batch(&format!(
            "UPDATE main.{table} SET sequence = -sorted.place
             FROM (SELECT id, row_number() OVER (ORDER BY rtrim({time}, 'Z'), id) AS place FROM main.{table}) AS sorted
             WHERE sorted.id = {table}.id;
             UPDATE main.{table} SET sequence = -sequence;"
        ))?;
    }
    Ok(())
}
