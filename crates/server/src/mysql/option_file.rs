//! Settings in MySQL's and MariaDB's option files.

use std::path::Path;

use basecase_builds::Build;
use basecase_model::{Dbms, Engine};

/// One line of an option file. Options that switch something off take no value in old versions. The binary log is switched
/// off by such an option, because `log_bin` itself would take `OFF` as the name of its files.
pub(super) fn setting(name: &str, value: &str) -> String {
    if name == "log_bin" && matches!(value.to_lowercase().as_str(), "0" | "off" | "false") {
        return "skip_log_bin\n".to_owned();
    }
    let is_switch = name.starts_with("skip_") || name.starts_with("disable_");
    if is_switch && matches!(value.to_lowercase().as_str(), "1" | "on" | "true" | "") {
        return format!("{name}\n");
    }
    format!("{name} = \"{}\"\n", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The settings that basecase depends on, as lines of an option file, except for how to connect to the server.
pub(super) fn own_settings(build: &Build, engine: Option<Engine>, data: &Path, temporary: &Path) -> String {
    let tree = build.tree();
    let mut text = String::new();
    let mut path = |name: &str, path: &Path| text.push_str(&setting(name, &path.display().to_string()));
    path("basedir", tree.prefix());
    path("datadir", data);
    path("tmpdir", temporary);
    // The default is a system folder, without which the server does not start.
    path("secure_file_priv", temporary);
    path("pid_file", &data.join("mysqld.pid"));
    if let Some(messages) = tree.messages() {
        path("lc_messages_dir", &messages);
        let characters = messages.join("charsets");
        if characters.is_dir() {
            path("character_sets_dir", &characters);
        }
    }
    if let Some(plugins) = tree.plugins() {
        path("plugin_dir", &plugins);
    }
    // basecase's own monitoring session may be idle for as long as a step takes.
    text.push_str("skip_name_resolve\nwait_timeout = 31536000\n");
    if build.facts.dbms == Dbms::Mysql && build.version.first() >= 8 {
        // A second port, of a plugin that a build may lack.
        text.push_str("loose_mysqlx = OFF\n");
    }
    match engine.unwrap_or(Engine::Innodb) {
        Engine::Innodb => text.push_str("default_storage_engine = InnoDB\n"),
        Engine::Rocksdb => {
            // In MariaDB it is a plugin. In Meta's MySQL it is compiled in, but off by default.
            let on =
                if tree.rocksdb_plugin().is_some() { "plugin_load_add = ha_rocksdb" } else { "rocksdb = ON" };
            text.push_str(&format!("{on}\ndefault_storage_engine = RocksDB\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_as_option_files_are_read() {
        assert_eq!(setting("innodb_page_size", "16k"), "innodb_page_size = \"16k\"\n");
        assert_eq!(
            setting("init_connect", "set @a = \"\\#\""),
            "init_connect = \"set @a = \\\"\\\\#\\\"\"\n"
        );
        assert_eq!(setting("skip_log_bin", "on"), "skip_log_bin\n");
        assert_eq!(setting("log_bin", "OFF"), "skip_log_bin\n");
        assert_eq!(setting("log_bin", "binlog"), "log_bin = \"binlog\"\n");
        assert_eq!(setting("skip_external_locking", "0"), "skip_external_locking = \"0\"\n");
    }
}
