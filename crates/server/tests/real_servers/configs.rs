//! Every config that basecase comes with is accepted by the versions that it is for.

use crate::obtain::obtain;
use basecase_builds::{Library, default_home};
use basecase_model::{Dbms, Engine};
use basecase_server::{ConfigFile, Host, check};

/// The engine that a config is for.
fn engine(dbms: Dbms, name: &str) -> Option<Engine> {
    match dbms {
        Dbms::Mysql | Dbms::Mariadb if name.starts_with("za") => Some(Engine::Rocksdb),
        _ => dbms.default_engine(),
    }
}

/// The configs that `request` refuses, with what it says.
fn refused(request: &str) -> Vec<String> {
    let build = obtain(request);
    let host = Host::detect();
    let dbms = build.facts.dbms;
    let mut refused = Vec::new();
    for name in ConfigFile::names(dbms) {
        let config = ConfigFile::find(dbms, &name, host).unwrap().for_version(&build.version);
        if let Err(error) = check(&build, engine(dbms, &name), &config, host, &default_home().unwrap()) {
            refused.push(format!("{name}: {error}"));
        }
    }
    refused
}

/// Checks that `request` refuses just the configs whose names begin with one of `prefixes`.
fn refuses_only(request: &str, prefixes: &[&str]) {
    let unexpected: Vec<String> = refused(request)
        .into_iter()
        .filter(|refusal| !prefixes.iter().any(|prefix| refusal.starts_with(prefix)))
        .collect();
    assert!(unexpected.is_empty(), "{request} refuses\n{}", unexpected.join("\n"));
}

#[test]
fn configs_of_postgres() {
    // Asynchronous input and output came with 18, lz4 with 15, and io_uring is not in this provider's builds.
    refuses_only("postgres:14.23", &["x10b", "x10c:", "x10cw4:", "x10d:", "x10a_f0cl", "x10a_f1cl"]);
    refuses_only("postgres:17.11", &["x10b", "x10c:", "x10cw4:", "x10d:"]);
    refuses_only("postgres:18.6:pypi", &["x10d:"]);
}

#[test]
fn configs_of_mysql() {
    // MyRocks is not in Oracle's builds, and a doublewrite buffer that only detects came with 8.0.30.
    let old = ["za1:", "z12a_b0f1wd", "z12a_b0f2wd", "z12a_b1f1wd", "z12a_b1f2wd"];
    refuses_only("mysql:5.6.24", &old);
    refuses_only("mysql:5.7.22", &old);
    refuses_only("mysql:8.0.31", &["za1:"]);
}

#[test]
fn configs_of_mariadb() {
    refuses_only("mariadb:10.11.18", &[]);
}

#[test]
#[ignore = "downloads every recipe"]
fn configs_of_every_version() {
    let library = Library::open(&default_home().unwrap()).unwrap();
    let mut lines = Vec::new();
    for listing in library.list() {
        let recipe = listing.recipe;
        let request = format!("{}:{}:{}", recipe.dbms, recipe.version, recipe.provider.name);
        lines.extend(refused(&request).into_iter().map(|refusal| format!("{request} {refusal}")));
    }
    // What each version refuses is to be read by whoever changed a config.
    eprintln!("{}", lines.join("\n"));
    assert!(
        !lines
            .iter()
            .any(|line| line.contains(" default:") || line.contains(" x10a:") || line.contains(" z12a:"))
    );
}
