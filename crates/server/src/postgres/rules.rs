//! Which settings a config of Postgres may have.

use crate::config::{ConnectionLimit, Rules};

/// Settings of Postgres that basecase sets itself, because it depends on them.
const OWN: &[&str] = &[
    "config_file",
    "data_directory",
    "event_source",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "include",
    "include_dir",
    "include_if_exists",
    "listen_addresses",
    "log_destination",
    "log_directory",
    "log_filename",
    "logging_collector",
    "port",
    "syslog_facility",
    "syslog_ident",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
];

/// Which settings a config of Postgres may have, and how they are written.
pub(crate) static RULES: Rules = Rules {
    own: OWN,
    pragmas: None,
    has_dashes: false,
    megabyte: "MB",
    large: &["shared_buffers", "maintenance_work_mem", "work_mem"],
    // Section 20.3 of the Postgres manual.
    connection_limit: Some(ConnectionLimit {
        setting: "max_connections",
        default: 100,
        question: "show max_connections",
    }),
};
