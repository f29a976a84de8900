//! The counters of MySQL and MariaDB: the global status, and InnoDB's own metrics.

use basecase_model::{Engine, names};

use crate::served::{Common, Inquiry, Telemetry};

/// The common names for InnoDB tables.
static INNODB: &[Common] = &[
    (names::SERVER_CACHE_MISSES, &[&["mysql.innodb_buffer_pool_reads"]]),
    (names::SERVER_CACHE_REQUESTS, &[&["mysql.innodb_buffer_pool_read_requests"]]),
    (names::SERVER_LOG_BYTES, &[&["mysql.innodb_os_log_written"]]),
    (names::SERVER_LOG_SYNCS, &[&["mysql.innodb_os_log_fsyncs"]]),
    (
        names::SERVER_PAGES_WRITTEN,
        &[&["mysql.innodb_pages_written"], &["mysql.innodb_buffer_pool_pages_flushed"]],
    ),
    (names::SERVER_ROWS_READ, &[&["mysql.innodb_rows_read"]]),
];

/// The common names for RocksDB tables.
static ROCKSDB: &[Common] = &[
    (names::SERVER_CACHE_MISSES, &[&["mysql.rocksdb_block_cache_miss"]]),
    (names::SERVER_CACHE_REQUESTS, &[&["mysql.rocksdb_block_cache_miss", "mysql.rocksdb_block_cache_hit"]]),
    (names::SERVER_LOG_BYTES, &[&["mysql.rocksdb_wal_bytes"]]),
    (names::SERVER_LOG_SYNCS, &[&["mysql.rocksdb_wal_synced"]]),
    (names::SERVER_ROWS_READ, &[&["mysql.rocksdb_rows_read"]]),
];

/// What compaction did on each level of each column family. A level that is not there yet counts as 0, so that what it gets first is not
/// lost. Rates and ratios are left out, because they follow from the rest.
const COMPACTION: &str = "select concat(family.cf_name, '.', place.level, '.', figure.type), coalesce(stats.value, 0) \
     from (select distinct cf_name from information_schema.rocksdb_compaction_stats) family \
     cross join (select 'L0' level union all select 'L1' union all select 'L2' union all select 'L3' union all select 'L4' \
         union all select 'L5' union all select 'L6' union all select 'Sum') place \
     cross join (select distinct type from information_schema.rocksdb_compaction_stats where type in \
         ('NumFiles', 'SizeBytes', 'ReadGB', 'RnGB', 'WriteGB', 'MovedGB', 'CompSec', 'CompCount', 'KeyIn', 'KeyDrop')) figure \
     left join information_schema.rocksdb_compaction_stats stats \
         on stats.cf_name = family.cf_name and stats.level = place.level and stats.type = figure.type \
     where family.cf_name <> '__system__'";

/// What is a level, and not a count of events.
static LEVELS: &[&str] = &[
    "threads_running",
    "threads_connected",
    "threads_cached",
    "open_tables",
    "open_files",
    "innodb_buffer_pool_pages_dirty",
    "innodb_buffer_pool_bytes_dirty",
    "innodb_buffer_pool_pages_data",
    "innodb_buffer_pool_pages_free",
    "innodb_history_list_length",
    "innodb_checkpoint_age",
    "innodb_row_lock_current_waits",
    "trx_rseg_history_len",
    "log_lsn_checkpoint_age",
    "numfiles",
    "sizebytes",
    "rocksdb_memtable_total",
    "rocksdb_num_running_compactions",
];

/// What is drawn over time.
static OVER_TIME: &[&str] = &[
    "mysql.questions",
    "mysql.threads_running",
    "mysql.innodb_rows_inserted",
    "mysql.innodb_rows_updated",
    "mysql.innodb_rows_deleted",
    "mysql.innodb_row_lock_time",
    "mysql.innodb_buffer_pool_pages_dirty",
    "mysql.innodb_history_list_length",
    "mysql.innodb_checkpoint_age",
    "mysql.innodb_log_waits",
    "mysql.rocksdb_bytes_written",
    "mysql.rocksdb_compact_write_bytes",
    "mysql.rocksdb_stall_micros",
];

/// The inquiries for a server with tables of `engine`.
pub(super) fn telemetry(engine: Engine) -> Telemetry {
    let metrics = |condition: &str| {
        let sql = format!("select name, count from information_schema.innodb_metrics where {condition}");
        Inquiry::at_ends("innodb.metrics.", sql)
    };
    // Reading `performance_schema.threads` takes no lock, unlike the process list. Without the performance schema there are
    // no rows.
    let sessions = "select processlist_state, count(*) from performance_schema.threads \
                    where type = 'FOREGROUND' and processlist_command in ('Query', 'Execute') \
                    and processlist_id <> connection_id() group by 1";
    let mut inquiries = vec![
        Inquiry::frequent("mysql.", "show global status"),
        // MySQL and older versions of MariaDB have the first column, newer versions of MariaDB the second.
        metrics("status = 'enabled'"),
        metrics("enabled = 1"),
    ];
    if engine == Engine::Rocksdb {
        inquiries.push(Inquiry::at_ends(names::ROCKSDB_PREFIX, COMPACTION));
    }
    Telemetry {
        inquiries,
        common: match engine {
            Engine::Innodb => INNODB,
            Engine::Rocksdb => ROCKSDB,
        },
        levels: LEVELS,
        over_time: OVER_TIME,
        sessions: Some(sessions.to_owned()),
    }
}
