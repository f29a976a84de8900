//! What Postgres servers report, and how their debt is paid.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use basecase_builds::postgres_compiler;
use basecase_client::{Endpoint, Error, Session};
use basecase_model::{Dbms, Measures, PlanKind, TABLE_MARK, Value, names};
use basecase_stop::pause;

use super::telemetry;
use crate::instance::Instance;
use crate::served::{
    DATABASE, Debt, Patience, SelfReport, Served, Telemetry, bare, execute_all, integer, literal, literals,
    set, set_relations, settings, text,
};

/// The WAL since the last checkpoint, in bytes, up to which Postgres counts as at rest.
const WAL_BYTES_AT_REST: i64 = 16 << 20;
/// How long backends may take to end after their clients have disconnected. On the user's own server another basecase may
/// have open sessions.
const ENDING_PATIENCE: Duration = Duration::from_secs(5);

/// A Postgres server: an [`Instance`], or the user's own.
#[derive(Debug)]
pub struct PostgresServer {
    endpoint: Endpoint,
    instance: Option<Instance>,
    version_number: i64,
}

impl PostgresServer {
    /// Takes over a server that is ready. Without an instance it is the user's own, and never stopped.
    ///
    /// # Errors
    /// If the server does not report its version.
    pub fn new(
        endpoint: Endpoint,
        instance: Option<Instance>,
        session: &mut dyn Session,
    ) -> Result<Self, Error> {
        let version_number = integer(session, "show server_version_num")?.unwrap_or(0);
        Ok(PostgresServer { endpoint, instance, version_number })
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
            let find = format!("select count(*) from pg_database where datname = '{DATABASE}'");
            if integer(session.as_mut(), &find)? != Some(1) {
                return Ok(None);
            }
        }
        let endpoint = instance.endpoint(DATABASE);
        PostgresServer::new(endpoint, Some(instance), session.as_mut()).map(Some)
    }

    /// Whether the server has this major version or a later one.
    fn is_at_least(&self, major: i64) -> bool {
        self.version_number >= major * 10_000
    }
}

impl Served for PostgresServer {
    fn dbms(&self) -> Dbms {
        Dbms::Postgres
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
        let version = text(session, "show server_version")?;
        let long = text(session, "select version()")?;
        let mut report = SelfReport {
            // Packages add their own version after a space: `17.11 (Debian 17.11-1)`.
            version: version.split_whitespace().next().unwrap_or_default().to_owned(),
            compiler: postgres_compiler(&long),
            ..SelfReport::default()
        };
        // The view exists from 9.6 on, for superusers.
        let rows = session.query("select name, setting from pg_config").unwrap_or_default();
        for row in rows {
            let [Value::Text(name), Value::Text(setting)] = row.as_slice() else { continue };
            match name.as_str() {
                "CFLAGS" => report.flags = Some(setting.clone()),
                "CONFIGURE" => report.details.push(("configure".to_owned(), setting.clone())),
                _ => {}
            }
        }
        report.details.push(("version()".to_owned(), long));
        Ok(report)
    }

    fn is_foreign(&self, session: &mut dyn Session, table: &str) -> Result<bool, Error> {
        if self.instance.is_some() {
            return Ok(false);
        }
        // Like `drop table`, this follows the search path.
        let sql = format!(
            "select count(*) from pg_class where oid = to_regclass({}) \
             and coalesce(obj_description(oid, 'pg_class'), '') not like '{TABLE_MARK}%'",
            literal(table)?
        );
        Ok(integer(session, &sql)? != Some(0))
    }

    fn check_rights(&self, session: &mut dyn Session) -> Result<(), Error> {
        if self.instance.is_some() {
            return Ok(());
        }
        let has_role = self.is_at_least(15);
        let member = if has_role { "pg_has_role(current_user, 'pg_checkpoint', 'usage')" } else { "false" };
        let sql = format!(
            "select (rolsuper or {member})::int, quote_ident(rolname) from pg_roles where rolname = current_user"
        );
        let rows = session.query(&sql)?;
        let Some([Value::Integer(0), Value::Text(user)]) = rows.first().map(Vec::as_slice) else {
            return Ok(());
        };
        let grant = match has_role {
            true => format!("GRANT pg_checkpoint TO {user}"),
            false => format!("ALTER ROLE {user} SUPERUSER, because before Postgres 15 only superusers may"),
        };
        Err(Error::refusal(
            format!("user {user} has no right to CHECKPOINT, which settling needs"),
            format!("{grant}; or measure without settling: --settle off"),
        ))
    }

    fn last_value(&self, session: &mut dyn Session, table: &str, key: &str) -> Result<Option<i64>, Error> {
        integer(session, &format!("select last_value from {}_{}_seq", bare(table)?, bare(key)?))
    }

    fn secondary_indexes(&self, session: &mut dyn Session, table: &str) -> Result<u64, Error> {
        let sql = format!(
            "select count(*) from pg_index where indrelid = {}::regclass and indisvalid and not indisprimary",
            literal(table)?
        );
        Ok(integer(session, &sql)?.unwrap_or(0) as u64)
    }

    /// A sequential scan reads the table, and sorted reads go through each index.
    fn warm(&self, session: &mut dyn Session, table: &str) -> Result<(), Error> {
        let columns = session.query(&format!(
            "select distinct a.attname::text from pg_index i \
             join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] \
             where i.indrelid = {}::regclass and i.indisvalid",
            literal(table)?
        ))?;
        let table = bare(table)?;
        let set = |session: &mut dyn Session, names: &[&str], value: &str| {
            names.iter().try_for_each(|name| session.query(&format!("set {name} = {value}")).map(drop))
        };
        // Where all pages are visible, an index alone would answer, and the table would stay cold.
        let indexes = ["enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"];
        set(session, &indexes, "off")?;
        session.query(&format!("select count(*) from {table}"))?;
        // In the order of an index, pages of the table are kept. A scan keeps those of a large table for a moment only (`GetAccessStrategy`).
        let others = ["enable_seqscan", "enable_sort"];
        set(session, &["enable_indexscan"], "on")?;
        set(session, &others, "off")?;
        for column in columns.into_iter().flatten() {
            if let Value::Text(column) = column {
                session.query(&format!(
                    "select count(x) from (select {0} as x from {table} order by {0}) s",
                    bare(&column)?
                ))?;
            }
        }
        set(session, &[&indexes[..], &others].concat(), "default")
    }

    fn session_number(&self, session: &mut dyn Session) -> Result<Option<u32>, Error> {
        Ok(integer(session, "select pg_backend_pid()")?.and_then(|number| u32::try_from(number).ok()))
    }

    fn catch_up(&self, session: &mut dyn Session) -> Result<(), Error> {
        // A backend ends after its client has disconnected. It reports its counts as it shuts down (`pgstat_shutdown_hook`),
        // and only then leaves the list (`pgstat_beshutdown_hook`).
        let others = "select count(*) from pg_stat_activity where datname = current_database() \
                      and application_name = 'basecase' and pid <> pg_backend_pid()";
        let until = Instant::now() + ENDING_PATIENCE;
        while integer(session, others)? != Some(0) && Instant::now() < until {
            pause(Duration::from_millis(2));
        }
        // Up to 14, the statistics collector gathers what sessions send, and writes it twice a second
        // (`PGSTAT_STAT_INTERVAL`).
        if !self.is_at_least(15) {
            pause(Duration::from_secs(1));
        }
        Ok(())
    }

    fn may_lose_counts(&self) -> bool {
        // Sessions send to the collector by UDP, and the system drops packets that it does not read soon enough.
        !self.is_at_least(15)
    }

    fn statistics(&self, session: &mut dyn Session, tables: &[String], _: usize) -> Result<Measures, Error> {
        let mut measures = Measures::new();
        let here = "from pg_stat_database where datname = current_database()";
        set(&mut measures, names::SERVER_COMMITS, integer(session, &format!("select xact_commit {here}"))?);
        // Others may connect to the user's own server.
        if self.is_at_least(14) && self.instance.is_some() {
            set(
                &mut measures,
                names::SERVER_CONNECTIONS,
                integer(session, &format!("select sessions {here}"))?,
            );
        }
        let from_tables = format!("from pg_stat_user_tables where relname in ({})", literals(tables)?);
        for (name, column) in [
            (names::SERVER_ROWS_INSERTED, "n_tup_ins"),
            (names::SERVER_ROWS_UPDATED, "n_tup_upd"),
            (names::SERVER_ROWS_DELETED, "n_tup_del"),
        ] {
            set(
                &mut measures,
                name,
                integer(session, &format!("select coalesce(sum({column}), 0)::bigint {from_tables}"))?,
            );
        }
        Ok(measures)
    }

    fn telemetry(&self) -> Telemetry {
        telemetry::telemetry(self.version_number)
    }

    fn settings(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>, Error> {
        Ok(settings(session.query("show all")?))
    }

    fn explain(&self, session: &mut dyn Session, sql: &str, kind: Option<PlanKind>) -> Result<String, Error> {
        let mode = match kind {
            None => "default",
            Some(PlanKind::Generic) => "force_generic_plan",
            Some(PlanKind::Custom) => "force_custom_plan",
        };
        if self.is_at_least(12) {
            session.query(&format!("set plan_cache_mode = {mode}"))?;
        }
        let rows = session.query(&format!("explain {sql}"))?;
        let line = |row: Vec<Value>| match row.into_iter().next() {
            Some(Value::Text(line)) => Some(line),
            _ => None,
        };
        Ok(rows.into_iter().filter_map(line).collect::<Vec<_>>().join("\n"))
    }

    fn sizes(&self, session: &mut dyn Session) -> Result<Measures, Error> {
        let mut measures = Measures::new();
        set(
            &mut measures,
            names::DATABASE_BYTES,
            integer(session, "select pg_database_size(current_database())")?,
        );
        if let Some(Ok(bytes)) = self.instance.as_ref().map(Instance::directory_bytes) {
            measures.set(names::DIRECTORY_BYTES, bytes as f64);
        }
        // Only a role with `pg_monitor` may call this.
        if self.is_at_least(10) && self.instance.is_some() {
            set(
                &mut measures,
                names::LOG_BYTES,
                integer(session, "select sum(size)::bigint from pg_ls_waldir()")?,
            );
        }
        let relations = "select case relkind when 'i' then 'index.' else 'table.' end || relname, pg_relation_size(oid) \
                         from pg_class where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace";
        set_relations(&mut measures, session.query(relations)?);
        Ok(measures)
    }

    fn pay_debt(&self, session: &mut dyn Session, tables: &[String], _: &Patience<'_>) -> Result<(), Error> {
        // Vacuum does not mark rows as all-visible before the WAL of their commits is on the device. A synchronous commit
        // also flushes the earlier ones, if it has written something.
        let write = "select pg_logical_emit_message(true, 'basecase', '')";
        for statement in ["begin", "set local synchronous_commit = on", write, "commit"] {
            session.query(statement)?;
        }
        let options =
            if self.is_at_least(12) { "verbose, analyze, index_cleanup on" } else { "verbose, analyze" };
        // All tables in parallel, each in its own session, as the reference does.
        let vacuums = tables.iter().map(|table| Ok(format!("vacuum ({options}) {}", bare(table)?)));
        execute_all(&self.endpoint, &vacuums.collect::<Result<Vec<String>, Error>>()?)?;
        session.query("checkpoint").map(drop)
    }

    fn own_debt(&self, session: &mut dyn Session, tables: &[String]) -> Result<Debt, Error> {
        let names = literals(tables)?;
        let dead = integer(
            session,
            &format!(
                "select coalesce(sum(n_dead_tup), 0)::bigint from pg_stat_user_tables where relname in ({names})"
            ),
        )?;
        let live = integer(
            session,
            &format!(
                "select coalesce(sum(n_live_tup), 0)::bigint from pg_stat_user_tables where relname in ({names})"
            ),
        )?;
        let not_all_visible = integer(
            session,
            &format!(
                "select coalesce(sum(greatest(relpages - relallvisible, 0)), 0)::bigint from pg_class \
                 where relkind = 'r' and relname in ({names})"
            ),
        )?;
        let autovacuums =
            integer(session, "select count(*) from pg_stat_activity where query like 'autovacuum:%'")?;
        let wal = if self.is_at_least(10) {
            let written = "pg_current_wal_lsn() - (select redo_lsn from pg_control_checkpoint())";
            integer(session, &format!("select ({written})::bigint"))?
        } else {
            None
        };
        let mut measures = Measures::new();
        set(&mut measures, "debt.dead_rows", dead);
        set(&mut measures, "debt.pages_not_all_visible", not_all_visible);
        set(&mut measures, "debt.autovacuum_workers", autovacuums);
        set(&mut measures, "debt.wal_bytes", wal);
        let few_dead = dead.unwrap_or(0) <= (live.unwrap_or(0) / 1_000).max(1_000);
        let at_rest =
            few_dead && autovacuums.unwrap_or(0) == 0 && wal.is_none_or(|bytes| bytes <= WAL_BYTES_AT_REST);
        Ok(Debt { at_rest, is_purged: at_rest, measures })
    }
}
