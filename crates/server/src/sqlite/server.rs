//! What SQLite reports, and how its debt is paid.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use basecase_client::sqlite::{File, Library};
use basecase_client::{Endpoint, Error, Session};
use basecase_model::{Dbms, Measures, PlanKind, Value, names};
use basecase_process::{DirectoryLock, Owner, PrivateFolder};

use crate::config::Config;
use crate::disk::directory_bytes;
use crate::instance::InstanceError;
use crate::served::{Debt, Patience, SelfReport, Served, bare, integer, literal, set, text};

/// The database file in its folder; the names of its journal and log begin with this name.
const FILE: &str = "ib.sqlite";

/// The pragmas that are recorded as settings.
const SETTINGS: [&str; 13] = [
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "encoding",
    "foreign_keys",
    "journal_mode",
    "locking_mode",
    "mmap_size",
    "page_size",
    "synchronous",
    "wal_autocheckpoint",
];

/// A SQLite database in a folder of its own.
#[derive(Debug)]
pub struct SqliteServer {
    endpoint: Endpoint,
    version: String,
    folder: PrivateFolder,
    lock: DirectoryLock,
}

impl SqliteServer {
    /// Opens the folder, and creates it if it is missing. `library` works on its database.
    ///
    /// # Errors
    /// If another basecase is using the folder, or somebody else could have created it, or it cannot be used.
    pub fn open(
        folder: &Path,
        library: Library,
        config: &Config,
        owner: Owner,
    ) -> Result<Self, InstanceError> {
        let folder = PrivateFolder::make(folder, None)?;
        let lock = DirectoryLock::acquire(&folder, owner, &[])?;
        let path = folder.path().join(FILE);
        let version = library.version().to_owned();
        let endpoint = Endpoint::Sqlite(File { library, path, pragmas: config.facts().settings });
        Ok(SqliteServer { endpoint, version, folder, lock })
    }

    /// Removes the database of an earlier run.
    ///
    /// # Errors
    /// If its files cannot be removed.
    pub fn initialise(&mut self) -> Result<(), InstanceError> {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            let name = format!("{FILE}{suffix}");
            let path = self.folder.path().join(&name);
            self.folder.remove(&name).map_err(|source| InstanceError::File { path, source })?;
        }
        Ok(())
    }

    /// Removes the database and its folder.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn destroy(mut self) -> Result<(), InstanceError> {
        self.initialise()?;
        // Other files in the folder do not belong to the database.
        let _ = self.lock.remove_file();
        let _ = fs::remove_dir(self.folder.path());
        Ok(())
    }

    /// Whether there is a database.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn is_initialised(&self) -> Result<bool, InstanceError> {
        let path = || self.folder.path().join(FILE);
        self.folder.has(FILE).map_err(|source| InstanceError::File { path: path(), source })
    }
}

impl Served for SqliteServer {
    fn dbms(&self) -> Dbms {
        Dbms::Sqlite
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn report(&self, session: &mut dyn Session) -> Result<SelfReport, Error> {
        let options = session.query("pragma compile_options")?;
        let options: Vec<String> = options
            .into_iter()
            .flatten()
            .map(|value| match value {
                basecase_model::Value::Text(text) => text,
                _ => String::new(),
            })
            .collect();
        let compiler = options.iter().find_map(|option| option.strip_prefix("COMPILER="));
        Ok(SelfReport {
            version: self.version.clone(),
            compiler: compiler.map(|compiler| compiler.replacen('-', " ", 1)),
            flags: None,
            details: vec![
                ("source id".to_owned(), text(session, "select sqlite_source_id()")?),
                ("compile options".to_owned(), options.join(" ")),
            ],
        })
    }

    fn is_foreign(&self, _session: &mut dyn Session, _table: &str) -> Result<bool, Error> {
        Ok(false)
    }

    fn last_value(&self, session: &mut dyn Session, table: &str, _: &str) -> Result<Option<i64>, Error> {
        integer(session, &format!("select seq from sqlite_sequence where name = {}", literal(table)?))
    }

    fn secondary_indexes(&self, session: &mut dyn Session, table: &str) -> Result<u64, Error> {
        let name = literal(table)?;
        let sql = format!("select count(*) from sqlite_master where type = 'index' and tbl_name = {name}");
        Ok(integer(session, &sql)?.unwrap_or(0) as u64)
    }

    /// The cache belongs to the session.
    fn warm(&self, session: &mut dyn Session, table: &str) -> Result<(), Error> {
        let indexes = session.query(&format!(
            "select name from sqlite_master where type = 'index' and tbl_name = {} and sql is not null",
            literal(table)?
        ))?;
        let table = bare(table)?;
        session.query(&format!("select count(*) from {table} not indexed"))?;
        for index in indexes.into_iter().flatten() {
            if let Value::Text(index) = index {
                session.query(&format!("select count(*) from {table} indexed by {}", bare(&index)?))?;
            }
        }
        Ok(())
    }

    /// The process, for a session in a process of its own.
    fn session_number(&self, session: &mut dyn Session) -> Result<Option<u32>, Error> {
        Ok(session.server_pid())
    }

    fn statistics(&self, _: &mut dyn Session, _: &[String], _: usize) -> Result<Measures, Error> {
        // SQLite only counts per connection, and the roles' connections are closed by now.
        Ok(Measures::new())
    }

    fn settings(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>, Error> {
        let value = |name: &&str| Ok(((*name).to_owned(), text(session, &format!("pragma {name}"))?));
        SETTINGS.iter().map(value).collect()
    }

    fn explain(&self, session: &mut dyn Session, sql: &str, _: Option<PlanKind>) -> Result<String, Error> {
        let rows = session.query(&format!("explain query plan {sql}"))?;
        // Each node names its parent by number.
        let mut depths: BTreeMap<i64, usize> = BTreeMap::new();
        let mut lines = Vec::new();
        for row in rows {
            let [Value::Integer(id), Value::Integer(parent), _, Value::Text(node)] = row.as_slice() else {
                continue;
            };
            let depth = depths.get(parent).map_or(0, |depth| depth + 1);
            depths.insert(*id, depth);
            lines.push(format!("{}{node}", "  ".repeat(depth)));
        }
        Ok(lines.join("\n"))
    }

    fn sizes(&self, session: &mut dyn Session) -> Result<Measures, Error> {
        let mut measures = Measures::new();
        let pages = integer(session, "pragma page_count")?;
        let page_bytes = integer(session, "pragma page_size")?;
        set(
            &mut measures,
            names::DATABASE_BYTES,
            pages.zip(page_bytes).map(|(pages, page_bytes)| pages * page_bytes),
        );
        if let Ok(bytes) = directory_bytes(self.folder.path()) {
            measures.set(names::DIRECTORY_BYTES, bytes as f64);
        }
        Ok(measures)
    }

    /// It has no threads of its own.
    fn has_background_work(&self) -> bool {
        false
    }

    fn pay_debt(&self, session: &mut dyn Session, _: &[String], _: &Patience<'_>) -> Result<(), Error> {
        session.query("analyze")?;
        session.query("pragma wal_checkpoint(truncate)").map(drop)
    }

    /// A checkpoint pays all debt.
    fn own_debt(&self, _session: &mut dyn Session, _tables: &[String]) -> Result<Debt, Error> {
        Ok(Debt { at_rest: true, is_purged: true, measures: Measures::new() })
    }

    fn discard(
        self: Box<Self>,
        control: Box<dyn Session>,
        _tables: &[String],
    ) -> Result<Option<String>, InstanceError> {
        drop(control);
        self.destroy().map(|()| None)
    }
}
