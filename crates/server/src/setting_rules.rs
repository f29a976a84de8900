//! Which settings a config may have.

use basecase_model::Dbms;

use crate::settings::is_name;
use basecase_builds::{alternatives, nearest};

/// Settings of Postgres that basecase gives itself, because its own work depends on them.
const OF_POSTGRES: &[&str] = &[
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

/// Settings of MySQL and MariaDB that no config may have: those that basecase gives itself, because its own work depends
/// on them, and those that would put files outside of the instance's directory.
const OF_MYSQL: &[&str] = &[
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

/// The pragmas that a config of SQLite may set. SQLite ignores one that it does not know, so a typo must be found here.
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

/// Why a config may not have the setting `name`, and what to do.
pub(crate) fn refuse(dbms: Dbms, name: &str) -> Result<(), (String, String)> {
    match dbms {
        Dbms::Postgres | Dbms::Mysql | Dbms::Mariadb if is_own(dbms, name) => {
            let hint = "leave it away; basecase sets it for every server that it starts";
            Err((format!("{name} is not for configs to set"), hint.into()))
        }
        Dbms::Sqlite if !PRAGMAS.contains(&name) => {
            let near = nearest(name, PRAGMAS.iter().copied());
            let near = if near.is_empty() { PRAGMAS.join(", ") } else { alternatives(&near) };
            Err((format!("{name} is no pragma that a config may set"), format!("did you mean {near}?")))
        }
        Dbms::Postgres | Dbms::Mysql | Dbms::Mariadb | Dbms::Sqlite => Ok(()),
    }
}

/// Checks that a setting, wherever it was written, is one line of a server's file with all of its text: a second line could set
/// anything, and a server reads no further than to a zero.
pub(crate) fn check_line(name: &str, value: &str) -> Result<(), (String, String)> {
    if !is_name(name) {
        let hint = "letters, digits, `_`, `-` and `.` make a name, as in work_mem";
        return Err((format!("{name:?} is no name of a setting"), hint.into()));
    }
    if value.contains(|letter: char| letter.is_control() && letter != '\t') {
        return Err((
            format!("{name}: {value:?} is more than one line of text"),
            "leave the control characters away".into(),
        ));
    }
    Ok(())
}

/// Whether basecase itself sets `name`.
fn is_own(dbms: Dbms, name: &str) -> bool {
    match dbms {
        Dbms::Postgres => OF_POSTGRES.contains(&name),
        Dbms::Mysql | Dbms::Mariadb => OF_MYSQL.contains(&name),
        Dbms::Sqlite => false,
    }
}

/// The one spelling of a setting's name: small letters, and for MySQL and MariaDB `_` for `-`, which mean the same there.
pub(crate) fn spelled(dbms: Dbms, name: &str) -> String {
    let name = name.to_lowercase();
    match dbms {
        Dbms::Mysql | Dbms::Mariadb => name.replace('-', "_"),
        Dbms::Postgres | Dbms::Sqlite => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_basecase_sets_itself_is_refused() {
        for (dbms, name) in
            [(Dbms::Mysql, "datadir"), (Dbms::Mariadb, "skip_networking"), (Dbms::Postgres, "port")]
        {
            let (reason, _) = refuse(dbms, name).unwrap_err();
            assert_eq!(reason, format!("{name} is not for configs to set"));
        }
    }
}
