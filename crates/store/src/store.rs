//! Opening a store and what it offers.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use basecase_model::{CandidateName, Cell, Experiment, Trial};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::schema::{self, FileKind, VERSION};
use crate::{InFlight, Problem, RunLock, StoreError, experiment, lock, progress, trial, verify};

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The results file.
///
/// Every method fails with a [`StoreError`] that names the file when it cannot be read or written, or when its content
/// is not what basecase writes.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// Opens the store at `path` for reading and writing, creates it when there is none, and brings one of an older
    /// version up to date.
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
            // SQLite is content to read a file that it may not write.
            if connection.is_readonly("main")? {
                return Err(Problem::Denied("it is write-protected".into()));
            }
            refuse_newer(schema::version(&connection)?)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            // Before the journal changes to WAL: the file's own first bytes then say what it is, whatever happens.
            schema::migrate(&mut connection)?;
            change_to_wal(&connection)?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            Ok(connection)
        };
        Self::at(path, open())
    }

    /// Opens the store at `path` for reading, e.g. while a run writes to it. One of an older version is read as it is now, into
    /// memory, and the file stays as it is.
    ///
    /// # Errors
    /// When there is no such file, or it is not a store, or of a newer version than this basecase reads.
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

    /// Takes the exclusive right to run experiments into this store, until the lock is dropped or the process ends,
    /// however it ends. `command` is what another run is told, so it must hold no password.
    ///
    /// The lock is on a file beside the store, `<store>-lock`, which stays there.
    ///
    /// # Errors
    /// [`Problem::Held`] when another process has it.
    pub fn lock_for_run(&self, command: &str) -> Result<RunLock, StoreError> {
        lock::acquire(&self.path, command).map_err(|problem| problem.at(&self.path))
    }

    /// Stores an experiment. One of the same id is replaced, except for the time at which it was first started.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn save_experiment(&mut self, experiment: &Experiment) -> Result<(), StoreError> {
        self.write(|transaction| experiment::insert(transaction, experiment))
    }

    /// Notes which cells an experiment consists of and which of its candidates each belongs to, so that it also finds
    /// the trials that another experiment measured.
    ///
    /// # Errors
    /// When the store cannot be written or has no such experiment.
    pub fn save_cells(
        &mut self,
        experiment: &str,
        cells: &[(CandidateName, Cell)],
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            cells.iter().try_for_each(|(candidate, cell)| {
                experiment::insert_cell(transaction, experiment, &candidate.0, cell)
            })
        })
    }

    /// The experiment of that id, if there is one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn experiment(&self, id: &str) -> Result<Option<Experiment>, StoreError> {
        self.read(|connection| experiment::select(connection, id))
    }

    /// All experiments, the first started first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn experiments(&self) -> Result<Vec<Experiment>, StoreError> {
        self.read(experiment::select_all)
    }

    /// Notes that a step is about to be measured, in place of what was noted before.
    ///
    /// # Errors
    /// When the store cannot be written or has no such experiment.
    pub fn begin_step(&mut self, step: &InFlight) -> Result<(), StoreError> {
        self.write(|transaction| progress::replace(transaction, step))
    }

    /// The step that was begun and whose trial was never stored: after a crash, the one that was in flight.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn in_flight(&self) -> Result<Option<InFlight>, StoreError> {
        self.read(progress::select)
    }

    /// Stores a trial of `cell` that the experiment of that id measured, and returns the trial's id. Nothing is in
    /// flight afterwards. All of it is on disk when this returns, or none of it is stored.
    ///
    /// A measure, or a role's `server_cpu_us`, that is infinite or not a number counts as absent.
    ///
    /// # Errors
    /// When the store cannot be written, has no such experiment or has a complete trial of this cell and round already;
    /// when the trial is not of `cell`; when its `seconds` or a role's `client_cpu_us` is not finite.
    pub fn save_trial(&mut self, experiment: &str, cell: &Cell, trial: &Trial) -> Result<String, StoreError> {
        self.write(|transaction| {
            experiment::insert_cell(transaction, experiment, &trial.candidate, cell)?;
            let id = trial::insert(transaction, experiment, cell, trial)?;
            progress::clear(transaction)?;
            Ok(id)
        })
    }

    /// Adds a warning to a trial that is stored, unless it has it already: of something that came to light later.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn add_warning(&mut self, trial: &Trial, warning: &str) -> Result<(), StoreError> {
        self.write(|transaction| trial::add_warning(transaction, trial, warning))
    }

    /// Adds the trials that candidates had together, each with its cell, as [`Store::save_trial`] does: all or none, for they mean
    /// something only beside each other.
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

    /// All trials, failed ones too, of the cells of an experiment, whichever experiment measured them, in the order in
    /// which they were measured. Their candidate is named as in this experiment.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn trials(&self, experiment: &str) -> Result<Vec<Trial>, StoreError> {
        self.read(|connection| trial::select_of_experiment(connection, experiment))
    }

    /// All trials, failed ones too, of the cells with those keys, in the order in which they were measured. Their
    /// candidate is named as in the experiment that measured them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn trials_for_cells(&self, cells: &[String]) -> Result<Vec<Trial>, StoreError> {
        self.read(|connection| trial::select_of_cells(connection, cells))
    }

    /// The latest complete trial of a cell in a round, profiled or not: what needs not be measured again.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn complete_trial(
        &self,
        cell: &str,
        round: u32,
        is_profiled: bool,
    ) -> Result<Option<Trial>, StoreError> {
        self.read(|connection| trial::select_complete(connection, cell, round, is_profiled))
    }

    /// Everything that is wrong with the content, one line each: what SQLite's own checks find, blobs that cannot be
    /// read, keys that do not follow from what they are keys of, and counts of a role that contradict each other.
    ///
    /// # Errors
    /// When the store cannot be read at all.
    pub fn verify(&self) -> Result<Vec<String>, StoreError> {
        self.read(verify::problems)
    }

    /// Every question is answered from one state of the file, though it may take several queries.
    fn read<T>(&self, ask: impl FnOnce(&Connection) -> Result<T, Problem>) -> Result<T, StoreError> {
        let ask = || {
            let transaction = self.connection.unchecked_transaction()?;
            ask(&transaction)
        };
        ask().map_err(|problem: Problem| problem.at(&self.path))
    }

    fn write<T>(
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
    /// For tests that damage a store or look behind it.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Problem> {
    // To SQLite some relative names, e.g. `:memory:`, are no files.
    let connection = Connection::open_with_flags(std::path::absolute(path)?, flags)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

/// Opens a store for reading, with its version.
fn read(path: &Path) -> Result<(Connection, u32), Problem> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found = schema::version(&connection)?;
    Ok((connection, found))
}

/// Undoes the change that a killed process left half done, which SQLite does for nobody who only reads.
fn roll_back(path: &Path) -> Result<(), Problem> {
    schema::version(&connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?).map(drop)
}

/// SQLite gives up this change at once when another process is about to make it too, whatever its patience.
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
