//! Which pragmas a config of SQLite may have.

use crate::config::Rules;

/// The pragmas that a config of SQLite may set. SQLite ignores unknown pragmas, so typos must be caught here.
const PRAGMAS: &[&str] = &[
    "analysis_limit",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "checkpoint_fullfsync",
    "foreign_keys",
    "fullfsync",
    "hard_heap_limit",
    "journal_mode",
    "journal_size_limit",
    "locking_mode",
    "mmap_size",
    "page_size",
    "read_uncommitted",
    "recursive_triggers",
    "secure_delete",
    "soft_heap_limit",
    "synchronous",
    "temp_store",
    "threads",
    "wal_autocheckpoint",
];

/// Which pragmas a config of SQLite may have, and how they are written.
pub(crate) static RULES: Rules = Rules {
    own: &[],
    pragmas: Some(PRAGMAS),
    has_dashes: false,
    megabyte: "MB",
    large: &[],
    connection_limit: None,
};
