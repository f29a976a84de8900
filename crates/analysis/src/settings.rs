//! Settings of servers as they ran: which differences matter, and which settings a config sets.

use basecase_model::CandidateFacts;

/// Settings whose differences do not matter, by name, with the reason for each group. `*` matches anything.
pub const BOUND_TO_DIFFER: [(&str, &[&str]); 4] = [
    (
        "paths and files",
        &[
            "*dir",
            "*_directory",
            "*_directories",
            "*_file",
            "*_path",
            "*_basename",
            "*_index",
            "log_error",
            "relay_log",
            "secure_file_priv",
        ],
    ),
    ("ports and sockets", &["port", "*_port", "*socket", "listen_addresses", "bind_address"]),
    (
        "names of version and server",
        &[
            "version",
            "version_*",
            "server_version*",
            "innodb_version",
            "*_uuid",
            "server_id",
            "hostname",
            "cluster_name",
        ],
    ),
    (
        "clocks and positions",
        &["timestamp", "pseudo_thread_id", "rand_seed*", "gtid_executed", "gtid_purged", "*_pos", "uptime*"],
    ),
];

/// Whether the config of a candidate sets what the server calls `name`.
pub fn sets(candidate: &CandidateFacts, name: &str) -> bool {
    candidate.config.settings.iter().any(|(set, _)| plain(set) == plain(name))
}

/// A setting's name as servers report it, however a config spells it.
fn plain(name: &str) -> String {
    name.trim_start_matches("loose").trim_start_matches(['-', '_']).to_lowercase().replace('-', "_")
}

/// Whether differences of the setting do not matter.
pub fn is_bound_to_differ(name: &str) -> bool {
    BOUND_TO_DIFFER.iter().any(|(_, patterns)| patterns.iter().any(|pattern| fits(pattern, name)))
}

/// Whether a name matches a pattern that may begin and end with `*`.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => name.contains(pattern.trim_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_is_bound_to_differ_is_known_by_its_name() {
        for name in [
            "datadir",
            "data_directory",
            "pid_file",
            "mysqlx_port",
            "server_version_num",
            "socket",
            "server_uuid",
        ] {
            assert!(is_bound_to_differ(name), "{name}");
        }
        for name in [
            "shared_buffers",
            "innodb_file_per_table",
            "io_method",
            "max_connections",
            "tls_version",
            "gtid_mode",
        ] {
            assert!(!is_bound_to_differ(name), "{name}");
        }
    }

    #[test]
    fn a_config_may_spell_a_name_in_any_way() {
        assert_eq!(plain("loose-innodb-IO-capacity"), "innodb_io_capacity");
        assert_eq!(plain("innodb_io_capacity"), "innodb_io_capacity");
        let mut candidate = fixture::sample().0.candidates.remove(0);
        candidate.config.settings = vec![("datestyle".into(), "iso".into())];
        assert!(sets(&candidate, "DateStyle") && !sets(&candidate, "TimeZone"));
    }
}
