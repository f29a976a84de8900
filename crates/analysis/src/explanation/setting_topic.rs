//! Which settings have to do with which costs, for each dbms.

use basecase_model::Dbms;

use crate::settings::fits;

/// What a setting has to do with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingTopic {
    /// What is read from storage or the system's cache, and how.
    Reads,
    /// Writing pages of data.
    Writes,
    /// How much is logged.
    Log,
    /// Waiting until something is on the device.
    Syncs,
    /// How memory is got from the kernel.
    Memory,
    /// How many processes and threads work, and how they wait for each other.
    Parallelism,
    /// Which plan is chosen.
    Planner,
    /// Compiling expressions.
    Jit,
    /// Checksums of pages and of the log.
    Checksums,
    /// Encryption and form of what is sent.
    Network,
    /// Logging, tracing and statistics.
    Statistics,
    /// Locks and isolation.
    Locks,
    /// Files of sorts and hashes.
    TemporaryFiles,
    /// Character sets and collations.
    Text,
    /// Compression of data.
    Compression,
    /// Caches of results, handles and hashes of the engine.
    Execution,
    /// An engine inside the client's process.
    Embedded,
}

impl SettingTopic {
    /// The words for it.
    pub fn as_str(self) -> &'static str {
        match self {
            SettingTopic::Reads => "reads",
            SettingTopic::Writes => "writes",
            SettingTopic::Log => "log",
            SettingTopic::Syncs => "syncs",
            SettingTopic::Memory => "memory",
            SettingTopic::Parallelism => "processes and threads",
            SettingTopic::Planner => "plans",
            SettingTopic::Jit => "compiled expressions",
            SettingTopic::Checksums => "checksums",
            SettingTopic::Network => "network",
            SettingTopic::Statistics => "logging and statistics",
            SettingTopic::Locks => "locks",
            SettingTopic::TemporaryFiles => "temporary files",
            SettingTopic::Text => "character sets",
            SettingTopic::Compression => "compression",
            SettingTopic::Execution => "caches of the engine",
            SettingTopic::Embedded => "the engine in the client",
        }
    }
}

use SettingTopic::{
    Checksums, Compression, Embedded, Execution, Jit, Locks, Log, Memory, Network, Parallelism, Planner,
    Reads, Statistics, Syncs, TemporaryFiles, Text, Writes,
};

/// Settings with the same topics: names, or beginnings that end in `*`.
type Group = (&'static [&'static str], &'static [SettingTopic]);

/// What a setting of a dbms has to do with; nothing if the table does not have it.
pub(crate) fn topics(dbms: Dbms, setting: &str) -> Vec<SettingTopic> {
    let tables: &[&[Group]] = match dbms {
        Dbms::Postgres => &[PROCESS, POSTGRES],
        Dbms::Mysql => &[PROCESS, MYSQL_FAMILY, MYSQL, ROCKSDB],
        Dbms::Mariadb => &[PROCESS, MYSQL_FAMILY, MARIADB, ROCKSDB],
        Dbms::Sqlite => &[SQLITE],
    };
    let setting = setting.to_lowercase();
    let has = |group: &&Group| group.0.iter().any(|pattern| fits(pattern, &setting));
    let mut topics = Vec::new();
    for topic in tables.iter().flat_map(|table| table.iter()).filter(has).flat_map(|group| group.1) {
        if !topics.contains(topic) {
            topics.push(*topic);
        }
    }
    topics
}

/// What a config says of any server's process.
const PROCESS: &[Group] = &[(&["environment"], &[Memory])];

const POSTGRES: &[Group] = &[
    (&["shared_buffers"], &[Reads, Writes, Memory]),
    (
        &[
            "effective_io_concurrency",
            "maintenance_io_concurrency",
            "io_combine_limit",
            "io_max_*",
            "data_sync_retry",
        ],
        &[Reads],
    ),
    (&["io_method", "io_workers"], &[Reads, Parallelism]),
    (
        &["huge_page*", "shared_memory_type", "dynamic_shared_memory_type", "min_dynamic_shared_memory"],
        &[Memory],
    ),
    (&["work_mem", "hash_mem_multiplier", "temp_buffers"], &[Memory, TemporaryFiles]),
    (&["maintenance_work_mem", "autovacuum_work_mem"], &[Memory]),
    (&["temp_tablespaces", "temp_file_limit"], &[TemporaryFiles]),
    (&["full_page_writes", "wal_level", "wal_log_hints", "wal_buffers", "wal_skip_threshold"], &[Log]),
    (&["wal_compression"], &[Log, Compression]),
    (
        &["wal_init_zero", "wal_recycle", "wal_segment_size", "wal_writer_*", "wal_decode_buffer_size"],
        &[Log, Writes],
    ),
    (&["wal_sync_method", "fsync", "synchronous_commit", "commit_siblings"], &[Syncs]),
    (&["commit_delay"], &[Syncs, Parallelism]),
    (&["checkpoint_*", "max_wal_size", "min_wal_size"], &[Writes, Log]),
    (&["bgwriter_*", "backend_flush_after"], &[Writes]),
    (&["autovacuum*", "vacuum_*"], &[Writes, Reads]),
    (&["data_checksums"], &[Checksums, Log]),
    (
        &[
            "max_parallel_*",
            "parallel_leader_participation",
            "force_parallel_mode",
            "debug_parallel_query",
            "max_worker_processes",
        ],
        &[Parallelism, Planner],
    ),
    (
        &[
            "enable_*",
            "seq_page_cost",
            "random_page_cost",
            "cpu_tuple_cost",
            "cpu_index_tuple_cost",
            "cpu_operator_cost",
            "parallel_setup_cost",
            "parallel_tuple_cost",
            "min_parallel_*",
            "default_statistics_target",
            "effective_cache_size",
            "from_collapse_limit",
            "join_collapse_limit",
            "geqo*",
            "cursor_tuple_fraction",
            "constraint_exclusion",
            "plan_cache_mode",
            "recursive_worktable_factor",
        ],
        &[Planner],
    ),
    (&["jit*"], &[Jit]),
    (&["ssl*", "gss_*", "tcp_*"], &[Network]),
    (
        &[
            "track_*",
            "log_*",
            "compute_query_id",
            "stats_fetch_consistency",
            "update_process_title",
            "debug_assertions",
            "debug_print_*",
            "shared_preload_libraries",
            "session_preload_libraries",
            "local_preload_libraries",
        ],
        &[Statistics],
    ),
    (&["client_encoding", "server_encoding", "lc_collate", "lc_ctype"], &[Text]),
    (
        &[
            "deadlock_timeout",
            "max_locks_per_transaction",
            "max_pred_locks_*",
            "default_transaction_isolation",
        ],
        &[Locks],
    ),
    (&["default_toast_compression"], &[Compression]),
];

const MYSQL_FAMILY: &[Group] = &[
    (&["table_options"], &[Reads, Writes, Compression]),
    (&["innodb_buffer_pool_*"], &[Reads, Writes, Memory]),
    (&["innodb_buffer_pool_instances"], &[Locks]),
    (
        &[
            "innodb_read_ahead_threshold",
            "innodb_random_read_ahead",
            "read_buffer_size",
            "read_rnd_buffer_size",
            "innodb_read_io_threads",
        ],
        &[Reads],
    ),
    (
        &["innodb_use_native_aio", "innodb_page_size", "innodb_change_buffer*", "innodb_flush_method"],
        &[Reads, Writes],
    ),
    (
        &[
            "innodb_io_capacity*",
            "innodb_flush_neighbors",
            "innodb_page_cleaners",
            "innodb_max_dirty_pages*",
            "innodb_adaptive_flushing*",
            "innodb_flushing_avg_loops",
            "innodb_lru_scan_depth",
            "innodb_write_io_threads",
            "innodb_idle_flush_pct",
            "innodb_purge_*",
            "innodb_undo_*",
            "innodb_rollback_segments",
        ],
        &[Writes],
    ),
    (&["innodb_doublewrite*"], &[Writes, Syncs]),
    (&["innodb_flush_log_at_*", "sync_binlog", "innodb_flush_method"], &[Syncs]),
    (&["log_bin", "binlog_*"], &[Log, Syncs]),
    (&["innodb_log_*", "innodb_redo_log_*"], &[Log, Writes]),
    (&["innodb_checksum*", "innodb_log_checksums", "binlog_checksum"], &[Checksums]),
    (&["innodb_adaptive_hash_index*", "table_open_cache*", "table_definition_cache"], &[Execution]),
    (
        &[
            "table_open_cache_instances",
            "innodb_lock_*",
            "innodb_deadlock_detect",
            "innodb_autoinc_lock_mode",
            "transaction_isolation",
            "tx_isolation",
            "metadata_locks_*",
        ],
        &[Locks],
    ),
    (&["character_set_*", "collation_*"], &[Text]),
    (
        &[
            "performance_schema*",
            "slow_query_log",
            "general_log",
            "log_output",
            "long_query_time",
            "innodb_monitor_*",
            "innodb_status_output*",
            "log_slow_*",
        ],
        &[Statistics],
    ),
    (
        &[
            "ssl*",
            "have_ssl",
            "have_openssl",
            "tls_*",
            "require_secure_transport",
            "protocol_compression_*",
            "net_buffer_length",
        ],
        &[Network],
    ),
    (
        &[
            "optimizer_*",
            "eq_range_index_dive_limit",
            "innodb_stats_*",
            "range_optimizer_max_mem_size",
            "max_seeks_for_key",
        ],
        &[Planner],
    ),
    (
        &[
            "tmp_table_size",
            "max_heap_table_size",
            "sort_buffer_size",
            "join_buffer_size",
            "max_length_for_sort_data",
        ],
        &[TemporaryFiles, Memory],
    ),
    (&["large_pages"], &[Memory]),
    (
        &[
            "innodb_spin_*",
            "innodb_sync_*",
            "innodb_thread_*",
            "innodb_concurrency_tickets",
            "innodb_commit_concurrency",
        ],
        &[Parallelism, Locks],
    ),
    (&["thread_*"], &[Parallelism]),
    (&["innodb_compression_*"], &[Compression]),
];

/// MyRocks.
const ROCKSDB: &[Group] = &[
    (&["rocksdb_block_cache_size", "rocksdb_use_direct_reads", "rocksdb_allow_mmap_reads"], &[Reads, Memory]),
    (&["rocksdb_flush_log_at_trx_commit", "rocksdb_enable_2pc", "rocksdb_write_disable_wal"], &[Syncs]),
    (&["rocksdb_wal_*", "rocksdb_manual_wal_flush", "rocksdb_max_total_wal_size"], &[Log]),
    (&["rocksdb_max_background_*", "rocksdb_max_subcompactions"], &[Writes, Parallelism]),
    (
        &["rocksdb_rate_limiter_bytes_per_sec", "rocksdb_bytes_per_sync", "rocksdb_delayed_write_rate"],
        &[Writes],
    ),
    (&["rocksdb_use_direct_io_for_flush_and_compaction", "rocksdb_db_write_buffer_size"], &[Writes]),
    (&["rocksdb_default_cf_options", "rocksdb_override_cf_options"], &[Reads, Writes, Compression]),
    (
        &["rocksdb_checksums_pct", "rocksdb_store_row_debug_checksums", "rocksdb_verify_row_debug_checksums"],
        &[Checksums],
    ),
    (&["rocksdb_perf_context_level", "rocksdb_stats_*"], &[Statistics]),
    (&["rocksdb_lock_*", "rocksdb_deadlock_detect"], &[Locks]),
    (&["rocksdb_records_in_range", "rocksdb_table_stats_*"], &[Planner]),
];

const MYSQL: &[Group] = &[
    (&["internal_tmp_*", "temptable_*"], &[TemporaryFiles, Memory]),
    (&["innodb_parallel_read_threads", "innodb_dedicated_server"], &[Parallelism]),
    (&["innodb_use_fdatasync"], &[Syncs]),
    (&["binlog_transaction_compression*"], &[Compression]),
    (&["query_cache_*", "query_prealloc_size"], &[Execution]),
    (&["innodb_numa_interleave", "innodb_extend_and_initialize"], &[Memory]),
];

const MARIADB: &[Group] = &[
    (&["query_cache_*"], &[Execution]),
    (&["use_stat_tables", "histogram_*", "join_cache_level", "analyze_sample_percentage"], &[Planner]),
    (&["aria_*"], &[TemporaryFiles]),
    (&["innodb_data_file_buffering", "innodb_data_file_write_through"], &[Reads, Writes]),
    (&["innodb_log_file_buffering", "innodb_log_file_write_through"], &[Log, Syncs]),
    (&["log_bin_compress*"], &[Compression, Log]),
    (&["userstat"], &[Statistics]),
];

const SQLITE: &[Group] = &[
    (&["synchronous"], &[Syncs, Embedded]),
    (&["journal_mode", "wal_autocheckpoint", "journal_size_limit"], &[Log, Writes, Syncs, Embedded]),
    (&["cache_size", "cache_spill"], &[Reads, Writes, Memory, Embedded]),
    (&["mmap_size"], &[Reads, Memory, Embedded]),
    (&["page_size", "auto_vacuum"], &[Reads, Writes, Embedded]),
    (&["temp_store", "threads"], &[TemporaryFiles, Embedded]),
    (&["locking_mode", "read_uncommitted"], &[Locks, Embedded]),
    (&["encoding"], &[Text, Embedded]),
    (&["checksum_verification", "cell_size_check"], &[Checksums, Embedded]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_has_to_do_with_what_the_table_says_and_with_nothing_else() {
        assert_eq!(topics(Dbms::Postgres, "wal_compression"), [Log, Compression]);
        assert_eq!(topics(Dbms::Postgres, "jit_above_cost"), [Jit]);
        assert_eq!(topics(Dbms::Mysql, "innodb_buffer_pool_instances"), [Reads, Writes, Memory, Locks]);
        assert_eq!(topics(Dbms::Mariadb, "aria_pagecache_buffer_size"), [TemporaryFiles]);
        for (dbms, setting) in [
            (Dbms::Postgres, "debug_logical_replication_streaming"),
            (Dbms::Postgres, "max_connections"),
            (Dbms::Mysql, "aria_pagecache_buffer_size"),
            (Dbms::Sqlite, "user_version"),
        ] {
            assert_eq!(topics(dbms, setting), [], "{setting}");
        }
    }
}
