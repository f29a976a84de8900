//! What MySQL and MariaDB servers report, and how their debt is paid.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use basecase_builds::{Version, release_number};
use basecase_client::{Endpoint, Error, Kind, Session};
use basecase_model::{Dbms, Engine, Measures, PlanKind, TABLE_MARK, Value, names};
use basecase_stop::pause;

use super::status::Figures;
use super::{counting, innodb, plan, rocksdb, telemetry};
use crate::disk::{bytes_of, directory_bytes};
use crate::instance::Instance;
use crate::served::{
    DATABASE, Debt, Patience, SelfReport, Served, Telemetry, bare, execute_all, integer, literal, set,
    set_relations, settings, text,
};

/// How long closed sessions may take to end. Any that stay longer do not matter.
const SESSIONS_END: Duration = Duration::from_secs(2);
/// InnoDB's row counters, which every version has under the same names.
const INNODB_ROWS: [(&str, &str); 4] = [
    ("innodb.rows_read", "innodb_rows_read"),
    ("innodb.rows_inserted", "innodb_rows_inserted"),
    ("innodb.rows_updated", "innodb_rows_updated"),
    ("innodb.rows_deleted", "innodb_rows_deleted"),
];

/// A MySQL or MariaDB server: an [`Instance`], or the user's own.
#[derive(Debug)]
pub struct MysqlServer {
    endpoint: Endpoint,
    instance: Option<Instance>,
    /// The session that asked first, kept for callgrind, which gives the number of a thread that ended to a later one: what the first session
    /// did would be counted as that one's.
    _first: Option<KeptSession>,
    engine: Engine,
    dbms: Dbms,
    version: Option<Version>,
    has_binary_log: bool,
    has_file_per_table: bool,
}

/// A session that stays open.
struct KeptSession(#[expect(dead_code, reason = "it only has to be there")] Box<dyn Session>);

impl fmt::Debug for KeptSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptSession")
    }
}

impl MysqlServer {
    /// Takes over a server that is ready, with tables of `engine`, by default InnoDB. Without an instance it is the user's
    /// own, and never stopped.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn new(
        endpoint: Endpoint,
        engine: Option<Engine>,
        instance: Option<Instance>,
        session: &mut dyn Session,
    ) -> Result<Self, Error> {
        let said = text(session, "select version()")?;
        let dbms = if said.contains("MariaDB") { Dbms::Mariadb } else { Dbms::Mysql };
        let variables = Figures::variables(session, &["log_bin", "innodb_file_per_table"])?;
        Ok(MysqlServer {
            endpoint,
            instance,
            _first: None,
            engine: engine.unwrap_or(Engine::Innodb),
            dbms,
            version: release_number(&said),
            has_binary_log: variables.is_on("log_bin"),
            has_file_per_table: variables.is_on("innodb_file_per_table"),
        })
    }

    /// Takes over a running instance and its database, which is created if the instance is new. `None` if it is not new and
    /// has no such database.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub fn of_instance(instance: Instance, is_new: bool) -> Result<Option<Self>, Error> {
        let mut session = instance.endpoint("").connect()?;
        if is_new {
            session.query(&format!("create database {DATABASE}"))?;
        } else {
            let find =
                format!("select count(*) from information_schema.schemata where schema_name = '{DATABASE}'");
            if integer(session.as_mut(), &find)? != Some(1) {
                return Ok(None);
            }
        }
        let (endpoint, engine) = (instance.endpoint(DATABASE), instance.engine());
        let is_counted = instance.is_under_callgrind();
        let server = MysqlServer::new(endpoint, engine, Some(instance), session.as_mut())?;
        Ok(Some(MysqlServer { _first: is_counted.then_some(KeptSession(session)), ..server }))
    }

    fn is_at_least(&self, numbers: &[u32]) -> bool {
        self.version.as_ref().is_some_and(|version| version.is_at_least(numbers))
    }

    /// The base of transaction numbers in the InnoDB monitor.
    fn radix(&self) -> u32 {
        if self.is_at_least(&[5, 6]) { 10 } else { 16 }
    }

    /// Whether InnoDB numbers read-only transactions too. Later versions number a transaction at its first write.
    fn numbers_reads(&self) -> bool {
        !self.is_at_least(if self.dbms == Dbms::Mariadb { &[10, 2] } else { &[5, 7] })
    }

    /// On the user's own server, a refusal counts as nothing to do.
    fn unless_forbidden<T: Default>(&self, result: Result<T, Error>) -> Result<T, Error> {
        match result {
            Err(error) if self.instance.is_none() && error.kind() == Kind::Refused => Ok(T::default()),
            other => other,
        }
    }

    /// The counters of inserted and deleted rows that count only the benchmark's rows, if there are any.
    fn row_counters(&self) -> Option<[&'static str; 2]> {
        let from = |numbers: &[u32]| self.is_at_least(numbers);
        match (self.dbms, self.engine) {
            // These leave out temporary tables. Later versions lack InnoDB's own counters.
            (Dbms::Mariadb, _) => Some(["handler_write", "handler_delete"]),
            // In 8.0, rows of the data dictionary counted too, until it got its own counters in 8.0.19. 5.5 counts rows that
            // it copies to create an index.
            (_, Engine::Innodb) if from(&[8, 0, 19]) || (from(&[5, 6]) && !from(&[8])) => {
                Some(["innodb_rows_inserted", "innodb_rows_deleted"])
            }
            (_, Engine::Innodb) => None,
            (_, Engine::Rocksdb) => Some(["rocksdb_rows_inserted", "rocksdb_rows_deleted"]),
        }
    }

    /// The size of the tables and their indexes, in bytes: on disk, if basecase can read it and tables have their own files,
    /// otherwise as the server estimates it.
    fn database_bytes(&self, session: &mut dyn Session) -> Result<Option<i64>, Error> {
        let folder = match self.engine {
            Engine::Innodb => self.has_file_per_table.then(|| DATABASE.to_owned()),
            Engine::Rocksdb => Some(rocksdb::folder(session)?),
        };
        let path = self.instance.as_ref().zip(folder).map(|(instance, folder)| instance.data().join(folder));
        if let Some(Ok(bytes)) = path.map(|path| directory_bytes(&path)) {
            return Ok(i64::try_from(bytes).ok());
        }
        self.forget_statistics(session)?;
        let sum = "select sum(data_length + index_length) from information_schema.tables \
                   where table_schema = database()";
        integer(session, sum)
    }

    /// Makes the session read current table statistics: from 8.0 on they may be a day old.
    fn forget_statistics(&self, session: &mut dyn Session) -> Result<(), Error> {
        if self.dbms == Dbms::Mysql && self.is_at_least(&[8]) {
            session.query("set session information_schema_stats_expiry = 0")?;
        }
        Ok(())
    }
}

impl Served for MysqlServer {
    fn dbms(&self) -> Dbms {
        self.dbms
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn instance(&self) -> Option<&Instance> {
        self.instance.as_ref()
    }

    fn instance_mut(&mut self) -> Option<&mut Option<Instance>> {
        Some(&mut self.instance)
    }

    fn report(&self, session: &mut dyn Session) -> Result<SelfReport, Error> {
        let version = self.version.as_ref().map(Version::to_string).unwrap_or_default();
        let mut report = SelfReport { version, ..SelfReport::default() };
        report.details.push(("version()".to_owned(), text(session, "select version()")?));
        let names = ["version_comment", "version_compile_os", "version_compile_machine", "innodb_version"];
        let variables = Figures::variables(session, &names)?;
        report.details.extend(names.iter().filter_map(|name| {
            let value = variables.text(name).filter(|value| !value.is_empty())?;
            Some(((*name).to_owned(), value.to_owned()))
        }));
        if self.engine == Engine::Innodb && !self.has_file_per_table {
            let how = "data_length + index_length, since tables have no files of their own";
            report.details.push(("database size".to_owned(), how.to_owned()));
        }
        Ok(report)
    }

    fn is_foreign(&self, session: &mut dyn Session, table: &str) -> Result<bool, Error> {
        if self.instance.is_some() {
            return Ok(false);
        }
        let sql = format!(
            "select count(*) from information_schema.tables where table_schema = database() \
             and table_name = {} and table_comment not like '{TABLE_MARK}%'",
            literal(table)?
        );
        Ok(integer(session, &sql)? != Some(0))
    }

    fn last_value(&self, session: &mut dyn Session, table: &str, _: &str) -> Result<Option<i64>, Error> {
        self.forget_statistics(session)?;
        let next = format!(
            "select auto_increment from information_schema.tables \
             where table_schema = database() and table_name = {}",
            literal(table)?
        );
        Ok(integer(session, &next)?.map(|next| next - 1))
    }

    fn secondary_indexes(&self, session: &mut dyn Session, table: &str) -> Result<u64, Error> {
        let sql = format!(
            "select count(distinct index_name) from information_schema.statistics \
             where table_schema = database() and table_name = {} and index_name <> 'PRIMARY'",
            literal(table)?
        );
        Ok(integer(session, &sql)?.unwrap_or(0) as u64)
    }

    /// Asks for a value of each entry of each index: MySQL 8.0 counts entries in the primary key, whichever index it is told to use.
    fn warm(&self, session: &mut dyn Session, table: &str) -> Result<(), Error> {
        let indexes = session.query(&format!(
            "select index_name, column_name from information_schema.statistics where table_schema = database() \
             and table_name = {} and seq_in_index = 1 and index_type not in ('FULLTEXT', 'SPATIAL')",
            literal(table)?
        ))?;
        let table = bare(table)?;
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        for index in indexes {
            if let [Value::Text(index), Value::Text(column)] = &index[..] {
                let (index, column) = (quoted(index), quoted(column));
                session.query(&format!("select sum(length({column})) from {table} force index ({index})"))?;
            }
        }
        Ok(())
    }

    fn session_number(&self, session: &mut dyn Session) -> Result<Option<u32>, Error> {
        Ok(integer(session, "select connection_id()")?.and_then(|number| u32::try_from(number).ok()))
    }

    fn session_thread(&self, session: &mut dyn Session) -> Result<Option<u32>, Error> {
        counting::thread_of(session, self.dbms).map(Some)
    }

    fn mark(&self, session: &mut dyn Session, mark: usize) -> Result<(), Error> {
        counting::mark(session, mark)
    }

    fn hold_purge(&self, session: &mut dyn Session) -> Result<(), Error> {
        // At other levels InnoDB takes no snapshot, and MyRocks refuses to.
        session.query("set session transaction isolation level repeatable read")?;
        session.query("start transaction with consistent snapshot").map(drop)
    }

    fn statistics(&self, session: &mut dyn Session, _: &[String], writers: usize) -> Result<Measures, Error> {
        let mut measures = Measures::new();
        // The counters are global, and others may be using the user's own server.
        if self.instance.is_none() {
            return Ok(measures);
        }
        let mut counters = vec![
            (names::SERVER_CONNECTIONS, "connections"),
            (names::SERVER_INSERT_STATEMENTS, "com_insert"),
            (names::SERVER_UPDATE_STATEMENTS, "com_update"),
            (names::SERVER_DELETE_STATEMENTS, "com_delete"),
        ];
        if self.engine == Engine::Innodb {
            counters.extend(INNODB_ROWS);
        }
        // With a binary log, each commit counts a second time for the log.
        if !self.has_binary_log {
            counters.push((names::SERVER_COMMITS, "handler_commit"));
        }
        // MySQL's InnoDB increments its counters without atomic operations, so concurrent increments can be lost.
        let is_exact = self.dbms == Dbms::Mariadb || writers <= 1;
        if let Some([inserted, deleted]) = self.row_counters().filter(|_| is_exact) {
            counters.extend([(names::SERVER_ROWS_INSERTED, inserted), (names::SERVER_ROWS_DELETED, deleted)]);
        }
        wait_until_alone(session)?;
        let theirs: Vec<&str> = counters.iter().map(|(_, name)| *name).collect();
        let status = Figures::status(session, &theirs)?;
        for (name, counter) in counters {
            if let Some(count) = status.number(counter) {
                measures.set(name, count);
            }
        }
        Ok(measures)
    }

    fn telemetry(&self) -> Telemetry {
        telemetry::telemetry(self.engine)
    }

    fn settings(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>, Error> {
        Ok(settings(session.query("show global variables")?))
    }

    fn explain(&self, session: &mut dyn Session, sql: &str, _: Option<PlanKind>) -> Result<String, Error> {
        plan::explain(session, sql, self.dbms == Dbms::Mysql && self.is_at_least(&[8, 0, 18]))
    }

    fn sizes(&self, session: &mut dyn Session) -> Result<Measures, Error> {
        let mut measures = Measures::new();
        set(&mut measures, names::DATABASE_BYTES, self.database_bytes(session)?);
        if let Some(Ok(bytes)) = self.instance.as_ref().map(Instance::directory_bytes) {
            measures.set(names::DIRECTORY_BYTES, bytes as f64);
        }
        if let Some(instance) = &self.instance {
            let is_redo = |path: &str| path.contains("ib_logfile") || path.contains("#ib_redo");
            let is_binary_log = |path: &str| path.contains("binlog.") || path.contains("-bin.");
            for (name, is_such) in
                [(names::LOG_BYTES, is_redo as fn(&str) -> bool), (names::BINARY_LOG_BYTES, is_binary_log)]
            {
                if let Ok(bytes) = bytes_of(&instance.data(), is_such) {
                    measures.set(name, bytes as f64);
                }
            }
        }
        self.forget_statistics(session)?;
        let lengths = "select concat('table.', table_name), data_length from information_schema.tables \
                       where table_schema = database() union all select concat('index.', table_name), index_length \
                       from information_schema.tables where table_schema = database()";
        set_relations(&mut measures, session.query(lengths)?);
        Ok(measures)
    }

    fn hasten(&self, session: &mut dyn Session, undo: &mut Vec<String>) -> Result<(), Error> {
        match self.engine {
            Engine::Innodb => self.unless_forbidden(innodb::hasten(session, undo)),
            Engine::Rocksdb => Ok(()),
        }
    }

    fn pay_debt(
        &self,
        session: &mut dyn Session,
        tables: &[String],
        patience: &Patience<'_>,
    ) -> Result<(), Error> {
        // All tables in parallel, each in its own session, as the reference does.
        let analyses = tables.iter().map(|table| Ok(format!("analyze table {}", bare(table)?)));
        execute_all(&self.endpoint, &analyses.collect::<Result<Vec<String>, Error>>()?)?;
        match self.engine {
            // InnoDB pays its debt by itself, once it is hastened.
            Engine::Innodb if self.numbers_reads() => {
                self.unless_forbidden(innodb::show_purge_the_end(session, self.radix()))
            }
            Engine::Innodb => Ok(()),
            Engine::Rocksdb => self.unless_forbidden(rocksdb::pay(session, patience)),
        }
    }

    fn wake(&self, session: &mut dyn Session) -> Result<(), Error> {
        match self.engine {
            // Later purge threads go on by themselves.
            Engine::Innodb if self.radix() == 16 => self.unless_forbidden(innodb::wake_purge(session)),
            Engine::Innodb | Engine::Rocksdb => Ok(()),
        }
    }

    fn own_debt(&self, session: &mut dyn Session, _tables: &[String]) -> Result<Debt, Error> {
        let mut measures = Measures::new();
        let (at_rest, is_purged) = match self.engine {
            Engine::Innodb => {
                let rest = innodb::look(session, &mut measures, self.radix())?;
                (rest.at_rest, rest.is_purged)
            }
            Engine::Rocksdb => {
                let at_rest = rocksdb::is_at_rest(session, &mut measures)?;
                (at_rest, at_rest)
            }
        };
        Ok(Debt { at_rest, is_purged, measures })
    }

    /// Resets the binary log, if basecase's own server has one.
    fn drop_logs(&self, session: &mut dyn Session) -> Result<(), Error> {
        if !self.has_binary_log || self.instance.is_none() {
            return Ok(());
        }
        let renamed = self.dbms == Dbms::Mysql && self.is_at_least(&[8, 2]);
        session.query(if renamed { "reset binary logs and gtids" } else { "reset master" }).map(drop)
    }
}

/// Waits until this session is the only one. While a session ends, MySQL 5.7 sometimes counts its work twice.
fn wait_until_alone(session: &mut dyn Session) -> Result<(), Error> {
    let until = Instant::now() + SESSIONS_END;
    let others = "threads_connected";
    while Figures::status(session, &[others])?.number(others).is_some_and(|sessions| sessions > 1.0)
        && Instant::now() < until
    {
        pause(Duration::from_millis(5));
    }
    Ok(())
}
