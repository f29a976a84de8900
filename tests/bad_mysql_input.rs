//! Mistakes with MySQL, MariaDB and engines, and what the user reads then.

use basecase_client::Endpoint;
use basecase_server::Transport;
use basecase_tests::Sandbox;
use insta::assert_snapshot;

use crate::own_server::{obtained, own_server};
use crate::refusals::{compare, refusal};

#[test]
fn engines_that_do_not_exist() {
    let sandbox = Sandbox::new();
    assert_snapshot!(compare(&sandbox, &["mariadb:10.11.18#myisam"]), @r#"
    exit code 2
    -- stderr
    error: invalid value 'mariadb:10.11.18#myisam' for '<CANDIDATE>...': candidate "mariadb:10.11.18#myisam" names the engine "myisam"
    hint: write innodb or rocksdb after '#', as in mariadb:10.11.18#rocksdb

    For more information, try '--help'.
    "#);
    assert_snapshot!(compare(&sandbox, &["postgres:17.11#rocksdb"]), @r#"
    exit code 2
    -- stderr
    error: invalid value 'postgres:17.11#rocksdb' for '<CANDIDATE>...': candidate "postgres:17.11#rocksdb" names the engine rocksdb, and postgres has no engines to choose from
    hint: leave out #rocksdb

    For more information, try '--help'.
    "#);
    let said = compare(&sandbox, &["mysql:8.0.31#rocksdb"]);
    assert!(said.contains("error: mysql 8.0.31 has no rocksdb: there is no ha_rocksdb.so in "), "{said}");
    assert!(
        said.ends_with("hint: MariaDB brings RocksDB as a plugin in some builds, e.g. mariadb:10.11.18\n")
    );
}

#[test]
fn versions_that_do_not_exist() {
    let sandbox = Sandbox::new();
    assert_snapshot!(compare(&sandbox, &["mysql:8.0.32"]), @r#"
    exit code 1
    -- stderr
    error: no recipe for mysql 8.0.32
    hint: known versions: 8.0.12, 8.0.15, 8.0.31, 8.0.33; or compile it: `basecase server get mysql:8.0.32 --from source --source …`; or use an installed one with path:DIR
    "#);
    // Builds of one's own are told after that.
    let said = compare(&sandbox, &["mariadb:10.11.18:maven"]);
    let expected = "error: no recipe for mariadb 10.11.18 from provider \"maven\"\nhint: this version comes as mariadb:10.11.18:debian";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn settings_that_a_version_does_not_know() {
    let sandbox = Sandbox::new();
    // Else the refusals would begin with what is downloaded.
    for build in ["mysql:8.0.31", "mysql:5.7.22", "mariadb:10.11.18"] {
        obtained(build);
    }
    sandbox.write("new.conf", "innodb_buffer_pool_size = 64M\ninnodb_redo_log_capacity = 1G\n");
    assert_snapshot!(compare(&sandbox, &["mysql:8.0.31@./new.conf", "mysql:5.7.22@./new.conf"]), @r#"
    exit code 1
    -- stderr
    error: config new does not fit mysql 5.7.22:
      ./new.conf:2: unknown setting innodb_redo_log_capacity
    hint: similar settings: innodb_io_capacity, innodb_read_only, innodb_replication_delay; or use a config without innodb_redo_log_capacity for this version
    "#);
    assert_snapshot!(compare(&sandbox, &["mariadb:10.11.18@./new.conf"]), @r#"
    exit code 1
    -- stderr
    error: config new does not fit mariadb 10.11.18:
      ./new.conf:2: unknown setting innodb_redo_log_capacity
    hint: similar settings: innodb_io_capacity, innodb_read_only, innodb_max_dirty_pages_pct; or use a config without innodb_redo_log_capacity for this version
    "#);
    assert_snapshot!(compare(&sandbox, &["mysql:5.7.22", "--set", "innodb_bufer_pool_size=1G"]), @r#"
    exit code 1
    -- stderr
    error: config z12a_c2r24 does not fit mysql 5.7.22:
      --set: unknown setting innodb_bufer_pool_size
    hint: similar settings: innodb_buffer_pool_size, innodb_buffer_pool_chunk_size, innodb_buffer_pool_instances; or use a config without innodb_bufer_pool_size for this version
    "#);
    assert_snapshot!(compare(&sandbox, &["mariadb:10.11.18#rocksdb", "--set", "rocksdb_block_cach_size=1G"]), @r#"
    exit code 1
    -- stderr
    error: config za1_c2r24 does not fit mariadb 10.11.18:
      --set: unknown setting rocksdb_block_cach_size
    hint: similar settings: rocksdb_block_cache_size, rocksdb_block_size, rocksdb_bulk_load_size; or use a config without rocksdb_block_cach_size for this version
    "#);
}

#[test]
fn settings_that_cannot_be_obeyed() {
    let sandbox = Sandbox::new();
    sandbox.write("huge.conf", "innodb_buffer_pool_size = 90000G\n");
    assert_snapshot!(compare(&sandbox, &["mysql:5.7.22@./huge.conf"]), @r#"
    exit code 1
    -- stderr
    error: config huge asks for 92160024 MiB of memory (innodb_buffer_pool_size + innodb_log_buffer_size + key_buffer_size), and this host has [FREE] MiB
    hint: reduce it, e.g. with --set innodb_buffer_pool_size=[SIZE]M or under [settings] of an experiment file, or lower innodb_buffer_pool_size in ./huge.conf
    "#);
    sandbox.write("port.conf", "innodb-doublewrite = 0\nport = 3307\n");
    assert_snapshot!(compare(&sandbox, &["mysql:5.7.22@./port.conf"]), @r#"
    exit code 1
    -- stderr
    error: ./port.conf:2: port cannot be set by a config
    hint: leave it out; basecase sets it for every server that it starts
    "#);
    // A value that the server would change silently: the config as recorded would not be what ran.
    sandbox.write("adjusted.conf", "max_binlog_size = 1000\n");
    assert_snapshot!(compare(&sandbox, &["mysql:5.7.22@./adjusted.conf"]), @r#"
    exit code 1
    -- stderr
    error: config adjusted does not fit mysql 5.7.22:
      ./adjusted.conf:1: max_binlog_size = 1000 becomes 4096
    hint: correct max_binlog_size
    "#);
}

#[test]
fn a_socket_path_that_is_too_long() {
    let sandbox = Sandbox::new();
    let long = "a-folder-with-a-long-name/".repeat(4);
    let output = sandbox.output(&["compare", "mysql:5.7.22", "--store", "s.sqlite", "--data", &long]);
    let said = refusal(&sandbox, &output);
    assert!(said.contains("but the kernel allows only 107"), "{said}");
    assert!(said.contains("hint: choose a folder with a shorter path (--data)"), "{said}");
}

const PASSWORD: &str = "correct-horse-1b7f";

#[test]
fn servers_of_the_user_that_refuse_the_login() {
    for (request, plugin) in
        [("mysql:5.7.22", "mysql_native_password"), ("mysql:8.0.31", "caching_sha2_password")]
    {
        let sandbox = Sandbox::new();
        let instance = own_server(&sandbox, request, Transport::Loopback, &[]);
        let Endpoint::Mysql(address) = instance.endpoint("") else { unreachable!("not a MySQL server") };
        let mut session = Endpoint::Mysql(address.clone()).connect().unwrap();
        session
            .query(&format!("create user me@'127.0.0.1' identified with {plugin} by '{PASSWORD}'"))
            .unwrap();
        let url = |password: &str, database: &str| {
            format!("url:mysql://me:{password}@127.0.0.1:{}/{database}", address.port)
        };
        for (url, code) in [(url("wrong", ""), "1045"), (url(PASSWORD, "no_such_database"), "104")] {
            let said = compare(&sandbox, &[&url]);
            assert!(said.contains("cannot log in to mysql://me@127.0.0.1:[PORT]/"), "{plugin}: {said}");
            assert!(said.contains(&format!("({code}")), "{plugin}: {said}");
            assert!(said.contains("hint: ") && !said.contains(PASSWORD), "{plugin}: {said}");
        }
        instance.destroy().unwrap();
    }
}
