//! Postgres's counters: its statistics views, with whatever columns a version has.

use basecase_model::names;

use crate::served::{Common, Inquiry, Telemetry};

/// Columns that are not counts: identifiers and times.
const NO_COUNTS: &str = "'datid', 'relid', 'indexrelid', 'datname', 'schemaname', 'relname', 'indexrelname', 'backend_type', \
                         'object', 'context', 'stats_reset', 'op_bytes'";

/// The common names. Up to 16, `pg_stat_bgwriter` has the counters that are in `pg_stat_checkpointer` and `pg_stat_io` from
/// 17 on.
static COMMON: &[Common] = &[
    (names::SERVER_CACHE_MISSES, &[&["postgres.database.blks_read"]]),
    (names::SERVER_CACHE_REQUESTS, &[&["postgres.database.blks_read", "postgres.database.blks_hit"]]),
    (names::SERVER_LOG_BYTES, &[&["postgres.wal_position"]]),
    (names::SERVER_LOG_SYNCS, &[&["postgres.io.wal.fsyncs"], &["postgres.wal.wal_sync"]]),
    (
        names::SERVER_PAGES_WRITTEN,
        &[
            &["postgres.io.relation.writes"],
            &[
                "postgres.bgwriter.buffers_checkpoint",
                "postgres.bgwriter.buffers_clean",
                "postgres.bgwriter.buffers_backend",
            ],
        ],
    ),
    (names::SERVER_ROWS_READ, &[&["postgres.tables.seq_tup_read", "postgres.tables.idx_tup_fetch"]]),
    (names::SERVER_TEMPORARY_BYTES, &[&["postgres.database.temp_bytes"]]),
];

/// The inquiries for a server with this `server_version_num`.
pub(super) fn telemetry(version_number: i64) -> Telemetry {
    let is_at_least = |major: i64| version_number >= major * 10_000;
    let position = if is_at_least(10) { "pg_current_wal_lsn()" } else { "pg_current_xlog_location()" };
    let mut inquiries = vec![
        Inquiry::frequent("postgres.database.", pairs("pg_stat_database", "datname = current_database()")),
        Inquiry::frequent("postgres.", format!("select 'wal_position', ({position} - '0/0')::text")),
        Inquiry::frequent("postgres.bgwriter.", pairs("pg_stat_bgwriter", "true")),
        Inquiry::at_ends("postgres.tables.", sums("pg_stat_user_tables", "key")),
        Inquiry::at_ends("postgres.table_io.", sums("pg_statio_user_tables", "key")),
        Inquiry::at_ends("postgres.indexes.", sums("pg_stat_user_indexes", "key")),
    ];
    if is_at_least(14) {
        inquiries.push(Inquiry::frequent("postgres.wal.", pairs("pg_stat_wal", "true")));
    }
    if is_at_least(16) {
        inquiries.push(Inquiry::frequent("postgres.io.", sums("pg_stat_io", "object || '.' || key")));
    }
    if is_at_least(17) {
        inquiries.push(Inquiry::frequent("postgres.checkpointer.", pairs("pg_stat_checkpointer", "true")));
    }
    // Wait columns exist from 9.6 on, and the backend type from 10 on.
    let sessions = is_at_least(10).then(|| {
        "select wait_event_type || ':' || wait_event, count(*) from pg_stat_activity \
         where state = 'active' and backend_type = 'client backend' and pid <> pg_backend_pid() \
         and datname = current_database() group by 1"
            .to_owned()
    });
    Telemetry {
        inquiries,
        common: COMMON,
        levels: &["numbackends", "n_live_tup", "n_dead_tup", "n_mod_since_analyze", "n_ins_since_vacuum"],
        over_time: &[
            "postgres.database.xact_commit",
            "postgres.database.xact_rollback",
            "postgres.database.deadlocks",
            "postgres.database.tup_inserted",
            "postgres.database.tup_updated",
            "postgres.database.tup_deleted",
            "postgres.wal.wal_fpi",
            "postgres.wal.wal_buffers_full",
        ],
        sessions,
    }
}

/// The columns of the one row of a view that satisfies `condition`.
fn pairs(view: &str, condition: &str) -> String {
    format!(
        "select key, value from {view} t, json_each_text(row_to_json(t)) \
         where {condition} and value ~ '^[-0-9.]+$' and key not in ({NO_COUNTS})"
    )
}

/// The sums of a view's columns over its rows, under names from the expression `key`.
fn sums(view: &str, key: &str) -> String {
    format!(
        "select {key}, sum(value::numeric)::text from {view} t, json_each_text(row_to_json(t)) \
         where value ~ '^[-0-9.]+$' and key not in ({NO_COUNTS}) group by 1"
    )
}
