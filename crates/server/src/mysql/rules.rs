//! Which settings a config of MySQL or MariaDB may have.

use crate::config::{ConnectionLimit, Rules};

/// Settings of MySQL and MariaDB that no config may have: those that basecase sets itself, because it depends on them, and
/// those that would put files outside the instance's directory.
const OWN: &[&str] = &[
    "aria_log_dir_path",
    "basedir",
    "bind_address",
    "bootstrap",
    "character_sets_dir",
    "chroot",
    "console",
    "daemonize",
    "datadir",
    "default_storage_engine",
    "defaults_extra_file",
    "defaults_file",
    "help",
    "init_file",
    "initialize",
    "initialize_insecure",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "lc_messages_dir",
    "log_error",
    "mysqlx",
    "pid_file",
    "plugin_dir",
    "port",
    "rocksdb_datadir",
    "rocksdb_wal_dir",
    "secure_file_priv",
    "skip_grant_tables",
    "skip_name_resolve",
    "skip_networking",
    "socket",
    "tmpdir",
    "user",
    "validate_config",
    "verbose",
    "wait_timeout",
];

/// Which settings a config of MySQL or MariaDB may have, and how they are written.
pub(crate) static RULES: Rules = Rules {
    own: OWN,
    pragmas: None,
    has_dashes: true,
    megabyte: "M",
    large: &["innodb_buffer_pool_size", "rocksdb_block_cache_size", "key_buffer_size"],
    // Section 7.1.8 of the MySQL 8.0 manual.
    connection_limit: Some(ConnectionLimit {
        setting: "max_connections",
        default: 151,
        question: "select @@max_connections",
    }),
};
