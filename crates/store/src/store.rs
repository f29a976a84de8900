//! The store and its methods.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use basecase_model::{CandidateName, Cell, Experiment, StepCount, Trial};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::schema::{self, FileKind, VERSION};
use crate::{
    Detail, InFlight, Problem, RunLock, StoreError, TrialCounts, experiment, lock, progress, round_trials,
    step_count, trial, verify,
};

/// How long to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pages that stay in memory where many trials are looked up, in KiB below zero as SQLite has it: they lie all over the file.
const CACHE_KIB: i32 = -64_000;

/// The results file.
///
/// A [`StoreError`] names the file. Every method returns one if the file cannot be read or written, or its content is not what
/// basecase writes.
#[derive(Debug)]
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
}

impl Store {
    /// Opens the store at `path` for reading and writing. Creates it if it is missing, and migrates it from an older version.
    ///
    /// # Errors
    /// When the file is not a store ([`Problem::Foreign`]; it is left untouched) or of a newer version.
    pub fn create_or_open(path: &Path) -> Result<Store, StoreError> {
        let open = || {
            if schema::kind_of(path)? == FileKind::Foreign {
                return Err(Problem::Foreign);
            }
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
            let mut connection = connect(path, flags)?;
            // SQLite silently opens a file read-only if it may not write it.
            if connection.is_readonly("main")? {
                return Err(Problem::Denied("it is write-protected".into()));
            }
            refuse_newer(schema::version(&connection)?)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            // Before changing to WAL, so that the file's first bytes identify it even after a crash.
            schema::migrate(&mut connection)?;
            change_to_wal(&connection)?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "cache_size", CACHE_KIB)?;
            Ok(connection)
        };
        Self::at(path, open())
    }

    /// Opens the store at `path` for reading, e.g. while a run writes to it. An older version is copied into memory and migrated
    /// there; the file is not changed.
    ///
    /// # Errors
    /// When the file is missing, is not a store, or has a newer version than this basecase reads.
    pub fn open_read_only(path: &Path) -> Result<Store, StoreError> {
        let open = || {
            match schema::kind_of(path)? {
                FileKind::Store => {}
                FileKind::Absent if !path.exists() => return Err(Problem::Missing),
                FileKind::Absent | FileKind::Foreign => return Err(Problem::Foreign),
            }
            let (connection, found) = match read(path) {
                Err(Problem::Denied(reason)) => {
                    roll_back(path).map_err(|_| Problem::Denied(reason))?;
                    read(path)?
                }
                read => read?,
            };
            refuse_newer(found)?;
            if found < VERSION { schema::copy_up_to_date(&connection) } else { Ok(connection) }
        };
        Self::at(path, open())
    }

    fn at(path: &Path, opened: Result<Connection, Problem>) -> Result<Store, StoreError> {
        let connection = opened.map_err(|problem| problem.at(path))?;
        Ok(Store { path: path.to_owned(), connection })
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the exclusive right to run experiments into this store, until the lock is dropped or the process ends in any way.
    /// Other runs are shown `command`, so it must hold no password.
    ///
    /// The lock is on a file beside the store, `<store>-lock`, which stays there.
    ///
    /// # Errors
    /// [`Problem::Held`] when another process holds the lock.
    pub fn lock_for_run(&self, command: &str) -> Result<RunLock, StoreError> {
        lock::acquire(&self.path, command).map_err(|problem| problem.at(&self.path))
    }

    /// Stores an experiment, replacing one with the same id except for the time when it first started.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn save_experiment(&mut self, experiment: &Experiment) -> Result<(), StoreError> {
        self.write(|transaction| experiment::insert(transaction, experiment))
    }

    /// Records an experiment's cells and the candidate of each, so that it also finds trials measured by other experiments.
    ///
    /// # Errors
    /// When the store cannot be written or has no such experiment.
    pub fn save_cells(
        &mut self,
        experiment: &str,
        cells: &[(CandidateName, Cell)],
    ) -> Result<(), StoreError> {
        self.write(|transaction| experiment::insert_cells(transaction, experiment, cells))
    }

    /// The experiment with this id, if any.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn experiment(&self, id: &str) -> Result<Option<Experiment>, StoreError> {
        self.read(|connection| experiment::select(connection, id))
    }

    /// All experiments, in the order in which they were first started.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn experiments(&self) -> Result<Vec<Experiment>, StoreError> {
        self.read(experiment::select_all)
    }

    /// Records that a step is about to be measured, replacing the previous record.
    ///
    /// # Errors
    /// When the store cannot be written or has no such experiment.
    pub fn begin_step(&mut self, step: &InFlight) -> Result<(), StoreError> {
        self.write(|transaction| progress::replace(transaction, step))
    }

    /// The step that began and whose trial was never stored: after a crash, the one that was in flight.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn in_flight(&self) -> Result<Option<InFlight>, StoreError> {
        self.read(progress::select)
    }

    /// Stores a trial of `cell` measured by the experiment with this id, and returns the trial's id. Afterwards no step is in
    /// flight. When this returns, the whole trial is on disk, or nothing is stored.
    ///
    /// A measure or a role's `server_cpu_us` counts as absent if it is infinite or NaN.
    ///
    /// # Errors
    /// When the store cannot be written, has no such experiment, or already has a complete trial of this cell and round; when the
    /// trial does not belong to `cell`; when its `seconds` or a role's `client_cpu_us` is not finite.
    pub fn save_trial(&mut self, experiment: &str, cell: &Cell, trial: &Trial) -> Result<String, StoreError> {
        self.write(|transaction| {
            experiment::insert_cell(transaction, experiment, &trial.candidate, cell)?;
            let id = trial::insert(transaction, experiment, cell, trial)?;
            progress::clear(transaction)?;
            Ok(id)
        })
    }

    /// Adds a warning to a stored trial, unless it already has it, about something discovered later.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn add_warning(&mut self, trial: &Trial, warning: &str) -> Result<(), StoreError> {
        self.write(|transaction| trial::add_warning(transaction, trial, warning))
    }

    /// Stores trials that candidates ran together, each with its cell, as [`Store::save_trial`] does. All or none are stored,
    /// because they are only meaningful together.
    ///
    /// # Errors
    /// As [`Store::save_trial`].
    pub fn save_together(&mut self, experiment: &str, trials: &[(&Cell, &Trial)]) -> Result<(), StoreError> {
        self.write(|transaction| {
            for (cell, trial) in trials {
                experiment::insert_cell(transaction, experiment, &trial.candidate, cell)?;
                trial::insert(transaction, experiment, cell, trial)?;
            }
            progress::clear(transaction)
        })
    }

    /// All trials of an experiment's cells, including failed ones and those measured by other experiments, in the order of
    /// measurement. Candidates are named as in this experiment.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn trials(&self, experiment: &str) -> Result<Vec<Trial>, StoreError> {
        self.read(|connection| trial::select_of_experiment(connection, experiment))
    }

    /// How many trials each experiment has, by its id; one without any trial is not in it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn trial_counts(&self) -> Result<BTreeMap<String, TrialCounts>, StoreError> {
        self.read(trial::select_counts)
    }

    /// What `make` makes of the trials of several experiments, each given by id and the name of its base case; `make` is told which of them.
    /// Trials that were measured together with none of its other candidates are left out: those of a base case that many experiments share.
    /// They have what verdicts and their causes need, and no latencies, samples, statements, tracks, profiles, readings of servers, states
    /// or checks.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn of_rounds<T: Send>(
        &self,
        experiments: &[(&str, &str)],
        make: impl Fn(usize, Vec<Trial>) -> T + Sync,
    ) -> Result<Vec<T>, StoreError> {
        // Of an older version there is only a copy in memory. What is stored does not change, so connections may see different states.
        let path = self.path.as_path();
        let connect = || {
            let (connection, found) = read(path)?;
            connection.pragma_update(None, "cache_size", CACHE_KIB)?;
            Ok((found == VERSION).then_some(connection))
        };
        self.read(|connection| round_trials::select(connection, connect, experiments, make))
    }

    /// All trials of the cells with these keys, including failed ones, in the order of measurement. Candidates are named as in the
    /// experiment that measured them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn trials_for_cells(&self, cells: &[String]) -> Result<Vec<Trial>, StoreError> {
        self.read(|connection| trial::select_of_cells(connection, cells))
    }

    /// The latest complete trial of a cell in a round, profiled or not, which need not be measured again.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn complete_trial(
        &self,
        cell: &str,
        round: u32,
        is_profiled: bool,
        detail: Detail,
    ) -> Result<Option<Trial>, StoreError> {
        self.read(|connection| trial::select_complete(connection, cell, round, is_profiled, detail))
    }

    /// Whether an experiment itself has measured one of these steps completely.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn has_measured(&self, experiment: &str, steps: &[&str]) -> Result<bool, StoreError> {
        self.read(|connection| trial::exists_of_steps(connection, experiment, steps))
    }

    /// Stores counts of one start of a candidate's server, each with its cell, for the experiment with this id. All or none are stored.
    ///
    /// # Errors
    /// When the store cannot be written, has no such experiment, or a count does not belong to its cell.
    pub fn save_counts(
        &mut self,
        experiment: &str,
        counts: &[(&Cell, &StepCount)],
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            counts.iter().try_for_each(|(cell, count)| {
                experiment::insert_cell(transaction, experiment, &count.candidate, cell)?;
                step_count::insert(transaction, experiment, cell, count)
            })
        })
    }

    /// All counts of an experiment's cells, including failed ones and those of other experiments, in the order in which their starts
    /// began. Candidates are named as in this experiment.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn counts(&self, experiment: &str) -> Result<Vec<StepCount>, StoreError> {
        self.read(|connection| step_count::select_of_experiment(connection, experiment))
    }

    /// All problems of the content, one line each: findings of SQLite's own checks, unreadable blobs, keys that do not match their
    /// facts, and contradictory counts of a role.
    ///
    /// # Errors
    /// When the store cannot be read at all.
    pub fn verify(&self) -> Result<Vec<String>, StoreError> {
        self.read(verify::problems)
    }

    /// Writes the state that the store has now into the new file `path`, also while a run writes to it. The copy is one file without
    /// a journal; it need not be on disk when this returns.
    ///
    /// # Errors
    /// When the store cannot be read, or the file exists or cannot be written.
    pub fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        let copied = self.connection.execute("VACUUM INTO ?1", [path.to_string_lossy()]);
        copied.map_err(|error| Problem::from(error).at(&self.path)).map(drop)
    }

    /// Runs all queries of `ask` on one consistent state of the file.
    fn read<T>(&self, ask: impl FnOnce(&Connection) -> Result<T, Problem>) -> Result<T, StoreError> {
        let ask = || {
            let transaction = self.connection.unchecked_transaction()?;
            ask(&transaction)
        };
        ask().map_err(|problem: Problem| problem.at(&self.path))
    }

    pub(crate) fn write<T>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        let connection = &mut self.connection;
        let write = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = change(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        };
        write().map_err(|problem: Problem| problem.at(&self.path))
    }
}

#[cfg(test)]
impl Store {
    /// For tests that damage a store or bypass its methods.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Statements that stay prepared: more than it takes to read or write a trial, which is repeated for each.
const STATEMENTS: usize = 64;

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Problem> {
    // SQLite treats some relative names, e.g. `:memory:`, specially.
    // Whoever has a store has it alone, so that SQLite needs no mutex for each value that it hands out.
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(std::path::absolute(path)?, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite plans a statement anew for each value that is bound to it, which takes longer than reading a trial.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Opens a store for reading, and reads its version.
fn read(path: &Path) -> Result<(Connection, u32), Problem> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found = schema::version(&connection)?;
    Ok((connection, found))
}

/// Rolls back a transaction that a killed process left unfinished, which SQLite never does for readers.
fn roll_back(path: &Path) -> Result<(), Problem> {
    schema::version(&connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?).map(drop)
}

/// SQLite fails at once, despite its busy timeout, if another process is about to make the same change.
fn change_to_wal(connection: &Connection) -> Result<(), Problem> {
    let start = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL").map_err(Problem::from) {
            Err(Problem::Busy) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
            done => return done,
        }
    }
}

fn refuse_newer(found: u32) -> Result<(), Problem> {
    if found > VERSION { Err(Problem::Newer { found, known: VERSION }) } else { Ok(()) }
}
