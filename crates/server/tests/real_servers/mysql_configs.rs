//! What builds of MySQL and MariaDB say to configs that do not fit them.

use crate::obtain::obtain;
use basecase_builds::{Build, default_home};
use basecase_model::Engine;
use basecase_server::{ConfigFile, Host, check};

const HOST: Host = Host { cores: 2, memory_bytes: 8 << 30, is_limited: false };

/// What the check says; empty when the config fits.
fn said(build: &Build, engine: Engine, text: &str) -> String {
    // As a run does: an unprivileged MariaDB that may not raise its limit as far as it wants does not raise it at all.
    basecase_probe::raise_open_files();
    let config =
        ConfigFile::parse(build.facts.dbms, "t", "t.conf", text, HOST).unwrap().for_version(&build.version);
    check(build, Some(engine), &config, HOST, &default_home().unwrap())
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

/// Each text is refused with these words.
fn refuses(build: &Build, engine: Engine, cases: &[(&str, &[&str])]) {
    for (text, words) in cases {
        let said = said(build, engine, text);
        assert!(words.iter().all(|word| said.contains(word)), "{}: {text:?}: {said}", build.facts.short);
    }
}

const COMMON: &[(&str, &[&str])] = &[
    (
        "\ninnodb_buffer_pol_size = 1G",
        &[
            "config t does not fit",
            "t.conf:2: unknown setting innodb_buffer_pol_size",
            "innodb_buffer_pool_size",
        ],
    ),
    ("loose_anything = 1", &["unknown setting loose_anything"]),
    ("max_connections = abc", &["t.conf:1: ", "max_connections"]),
    ("innodb_log_buffer_size = 12", &["t.conf:1: ", "innodb_log_buffer_size"]),
    ("max_connections = 90000", &["max_connections = 90000 becomes", "ulimit -n"]),
    (
        "innodb_buffer_pool_size = 10G",
        &["MiB of memory (innodb_buffer_pool_size", "lower innodb_buffer_pool_size in t.conf"],
    ),
];

#[test]
fn mysql_57_refuses_what_it_would_not_take() {
    let build = obtain("mysql:5.7.22");
    refuses(&build, Engine::Innodb, COMMON);
    refuses(
        &build,
        Engine::Innodb,
        &[("innodb_buffer_pool_size = 1300M", &["becomes 2048M", "a multiple of 1024M"])],
    );
    let fitting = "innodb_buffer_pool_size = 2G\ninnodb_flush_method = O_DIRECT\nskip_log_bin = 1\n\
        innodb_max_dirty_pages_pct = 80\ninnodb_undo_tablespaces = 4\nsql_mode = ''";
    assert_eq!(said(&build, Engine::Innodb, fitting), "");
    assert!(said(&build, Engine::Rocksdb, "").contains("mysql 5.7.22 has no rocksdb"));
}

#[test]
fn versions_that_end_over_the_first_bad_value_are_asked_setting_by_setting() {
    let build = obtain("mysql:8.0.15");
    let said = said(&build, Engine::Innodb, "sync_binlog = 1\nmax_connections = abc\nsync_binlag = 1");
    let places = ["t.conf:2: ", "t.conf:3: unknown setting sync_binlag", "similar settings: sync_binlog"];
    assert!(places.iter().all(|words| said.contains(words)) && !said.contains("t.conf:1: "), "{said}");
}

#[test]
fn mysql_80_refuses_words_that_it_does_not_know() {
    let build = obtain("mysql:8.0.31");
    refuses(&build, Engine::Innodb, COMMON);
    refuses(
        &build,
        Engine::Innodb,
        &[("innodb_flush_method = O_DIREKT", &["t.conf:1: Error while setting value 'O_DIREKT'"])],
    );
    let fitting = "disable_log_bin = 1\ninnodb_redo_log_capacity = 1G\nsync_binlog = 0";
    assert_eq!(said(&build, Engine::Innodb, fitting), "");
}

#[test]
fn mariadb_knows_the_settings_of_its_rocksdb() {
    let build = obtain("mariadb:10.11.18");
    refuses(&build, Engine::Innodb, COMMON);
    refuses(
        &build,
        Engine::Innodb,
        &[("rocksdb_block_cache_size = 1G", &["unknown setting rocksdb_block_cache_size"])],
    );
    refuses(
        &build,
        Engine::Rocksdb,
        &[
            ("rocksdb_block_cash_size = 1G", &["rocksdb_block_cache_size"]),
            ("rocksdb_block_cache_size = 8100M", &["MiB of memory", "rocksdb_block_cache_size"]),
        ],
    );
    let fitting = "rocksdb_block_cache_size = 1G\n\
        rocksdb_default_cf_options = 'write_buffer_size=64m;level_compaction_dynamic_level_bytes=true'";
    assert_eq!(said(&build, Engine::Rocksdb, fitting), "");
    let without = obtain("mariadb:10.2.11");
    let said = said(&without, Engine::Rocksdb, "");
    assert!(said.contains("mariadb 10.2.11 has no rocksdb") && said.contains("hint: "), "{said}");
}
