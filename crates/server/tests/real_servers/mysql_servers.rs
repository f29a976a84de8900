//! Servers of MySQL and MariaDB really run.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::directory::directory;
use crate::holder::{holder, is_running};
use crate::obtain::obtain;
use basecase_builds::{Build, Library, default_home};
use basecase_model::{Dbms, Engine, Value};
use basecase_process::Owner;
use basecase_server::{
    Config, ConfigFile, Host, Instance, InstanceError, InstanceSpec, ServerEnd, Transport, check,
};

/// How long a server may take to start.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

fn open(
    build: &Build,
    engine: Engine,
    config: &Config,
    directory: &Path,
    transport: Transport,
) -> Result<Instance, InstanceError> {
    Instance::open(InstanceSpec {
        build: build.clone(),
        engine: Some(engine),
        config: config.clone(),
        directory: directory.join("instance"),
        transport,
        owner: Owner { experiment: "test".into(), candidate: "my.default".into() },
    })
}

fn config(dbms: Dbms, text: &str) -> Config {
    ConfigFile::parse(dbms, "c", "c.conf", text, Host::detect()).unwrap().for_version(&"8.0".parse().unwrap())
}

fn ask(instance: &Instance, sql: &str) -> Vec<Vec<Value>> {
    instance.endpoint("").connect().unwrap().query(sql).unwrap()
}

/// Initialises, starts, looks, stops, starts again, is killed, recovers, is removed.
///
/// Tells how long the first two took.
fn live(build: &Build, engine: Engine, config: &Config, transport: Transport) -> [Duration; 2] {
    check(build, Some(engine), config, Host::detect(), &default_home().unwrap()).unwrap();
    let folder = directory();
    let mut instance = open(build, engine, config, folder.path(), transport).unwrap();
    assert!(matches!(instance.start(PATIENCE), Err(InstanceError::NotInitialised { .. })));
    let began = Instant::now();
    instance.initialise().unwrap();
    let initialised = began.elapsed();
    instance.start(PATIENCE).unwrap();
    ask(&instance, "select 1");
    let ready = began.elapsed() - initialised;

    // Two accounts of basecase's at most, and none that needs no password by TCP.
    let accounts = "select count(*) from mysql.user where user in ('', 'root')";
    assert_eq!(ask(&instance, accounts), [[Value::Integer(0)]]);
    assert_eq!(
        ask(&instance, "select @@datadir"),
        [[Value::Text(format!("{}/", instance.data().display()))]]
    );
    let default = format!(
        "select count(*) from information_schema.engines where engine = '{engine}' and support = 'DEFAULT'"
    );
    assert_eq!(ask(&instance, &default), [[Value::Integer(1)]]);
    let port = ask(&instance, "select @@skip_networking");
    assert_eq!(port, [[Value::Integer(i64::from(transport == Transport::UnixSocket))]]);

    ask(&instance, "create database ib");
    ask(&instance, "create table ib.t (id int primary key)");
    ask(&instance, "insert into ib.t values (1), (2)");
    let pid = instance.pid().unwrap();
    assert_eq!(instance.stop().unwrap(), ServerEnd::Clean, "{}", instance.log_tail(20));
    assert!(!is_running(pid));
    instance.start(PATIENCE).unwrap();
    assert_eq!(ask(&instance, "select count(*) from ib.t"), [[Value::Integer(2)]]);

    kill(instance.pid().unwrap());
    assert!(matches!(instance.stop().unwrap(), ServerEnd::Unclean(_)));
    instance.start(PATIENCE).unwrap();
    assert_eq!(ask(&instance, "select count(*) from ib.t"), [[Value::Integer(2)]]);
    assert!(instance.directory_bytes().unwrap() > 1 << 20);
    assert_eq!(instance.stop().unwrap(), ServerEnd::Clean);
    instance.destroy().unwrap();
    assert!(!folder.path().join("instance").exists());
    [initialised, ready]
}

fn kill(pid: u32) {
    assert!(Command::new("sh").args(["-c", &format!("kill -9 {pid}")]).status().unwrap().success());
    let until = Instant::now() + PATIENCE;
    while is_running(pid) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn mysql_57_lives() {
    let build = obtain("mysql:5.7.22");
    assert_eq!(build.facts.short, "my5722");
    live(&build, Engine::Innodb, &config(Dbms::Mysql, "innodb_page_size = 16k"), Transport::Loopback);
}

#[test]
fn mysql_80_lives() {
    let build = obtain("mysql:8.0.31");
    assert_eq!(build.facts.short, "my8031");
    // What matters when the data is made, and names as only the first start may choose them.
    let text = "innodb_page_size = 8k\nlower_case_table_names = 1\ninnodb_buffer_pool_size = 64M";
    live(&build, Engine::Innodb, &config(Dbms::Mysql, text), Transport::Loopback);
}

#[test]
fn mariadb_lives_with_either_engine() {
    let build = obtain("mariadb:10.11.18");
    assert_eq!(build.facts.short, "ma101118");
    live(&build, Engine::Innodb, &config(Dbms::Mariadb, "innodb_page_size = 8k"), Transport::Loopback);
    let text = "transaction_isolation = READ-COMMITTED\nrocksdb_block_cache_size = 64M";
    live(&build, Engine::Rocksdb, &config(Dbms::Mariadb, text), Transport::UnixSocket);
}

#[test]
fn the_server_of_a_killed_owner_is_gone_and_its_directory_taken_over() {
    let build = obtain("mysql:5.7.22");
    let folder = directory();
    let (mut owner, server) = holder(folder.path(), "mysql:5.7.22");
    assert!(is_running(server));
    owner.kill().unwrap();
    owner.wait().unwrap();
    let until = Instant::now() + PATIENCE;
    while is_running(server) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!is_running(server), "server {server} outlived its owner");
    let empty = config(Dbms::Mysql, "");
    let mut instance = open(&build, Engine::Innodb, &empty, folder.path(), Transport::UnixSocket).unwrap();
    assert!(instance.is_initialised().unwrap());
    instance.start(PATIENCE).unwrap();
    instance.destroy().unwrap();
}

#[test]
fn a_server_that_outlived_its_owner_is_stopped_by_the_next() {
    let build = obtain("mariadb:10.11.18");
    let folder = directory();
    let empty = config(Dbms::Mariadb, "");
    let open = || open(&build, Engine::Innodb, &empty, folder.path(), Transport::UnixSocket).unwrap();
    let mut instance = open();
    instance.initialise().unwrap();
    instance.start(PATIENCE).unwrap();
    let server = instance.pid().unwrap();
    // An owner that neither stops its server nor takes it along, and whose lock is lost: the server's own pid file is left.
    std::mem::forget(instance);
    let lock = folder.path().join("instance/basecase.lock");
    std::fs::rename(&lock, lock.with_extension("old")).unwrap();

    let mut next = open();
    assert!(!is_running(server));
    next.start(PATIENCE).unwrap();
    assert_eq!(next.stop().unwrap(), ServerEnd::Clean);
}

#[test]
fn an_early_death_shows_the_log() {
    let build = obtain("mysql:8.0.31");
    let folder = directory();
    let empty = config(Dbms::Mysql, "");
    let mut instance = open(&build, Engine::Innodb, &empty, folder.path(), Transport::UnixSocket).unwrap();
    instance.initialise().unwrap();
    drop(instance);
    // Data that was made for another size of pages.
    let other = config(Dbms::Mysql, "innodb_page_size = 8k");
    let mut instance = open(&build, Engine::Innodb, &other, folder.path(), Transport::UnixSocket).unwrap();
    let text = instance.start(PATIENCE).unwrap_err().to_string();
    assert!(text.contains("mysql 8.0.31 ended before it was ready") && text.contains("page size"), "{text}");
    assert!(!instance.is_alive());
}

#[test]
fn a_setting_that_breaks_the_making_of_data_is_named() {
    let build = obtain("mysql:5.7.22");
    let folder = directory();
    let config = config(Dbms::Mysql, "innodb_page_size = 5000");
    let mut instance = open(&build, Engine::Innodb, &config, folder.path(), Transport::UnixSocket).unwrap();
    let text = instance.initialise().unwrap_err().to_string();
    assert!(text.contains("mysqld of mysql 5.7.22 could not create a data directory"), "{text}");
    assert!(text.contains("Invalid page size=5000"), "{text}");
    assert!(!instance.is_initialised().unwrap());
}

/// Half a gigabyte of downloads and several of disk: by hand, after a change of the recipes.
#[test]
#[ignore = "downloads every recipe"]
fn every_recipe_lives() {
    let library = Library::open(&default_home().unwrap()).unwrap();
    for listing in library.list() {
        let recipe = listing.recipe;
        if !matches!(recipe.dbms, Dbms::Mysql | Dbms::Mariadb) {
            continue;
        }
        let build = obtain(&format!("{}:{}:{}", recipe.dbms, recipe.version, recipe.provider.name));
        let times = live(&build, Engine::Innodb, &config(recipe.dbms, ""), Transport::Loopback);
        eprintln!("{} {} {times:.1?}", build.facts.short, build.facts.toolchain());
        if check(
            &build,
            Some(Engine::Rocksdb),
            &config(recipe.dbms, ""),
            Host::detect(),
            &default_home().unwrap(),
        )
        .is_ok()
        {
            let isolated = config(recipe.dbms, "transaction_isolation = READ-COMMITTED");
            let times = live(&build, Engine::Rocksdb, &isolated, Transport::UnixSocket);
            eprintln!("{} with RocksDB {times:.1?}", build.facts.short);
        }
    }
}
