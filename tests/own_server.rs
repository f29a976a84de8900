//! A server that belongs to nobody but the test, as a user's own would be.

use std::time::Duration;

use basecase_builds::{Build, Library, default_home};
use basecase_process::Owner;
use basecase_server::{ConfigFile, Host, Instance, InstanceSpec, Transport};
use basecase_tests::Sandbox;

/// A build, which is downloaded where it is not at hand.
pub(crate) fn obtained(build: &str) -> Build {
    let library = Library::open(&default_home().unwrap()).unwrap();
    let sources = library.resolve(&[build.parse().unwrap()]).unwrap();
    library.obtain(&sources[0], &mut |_| {}).unwrap()
}

/// Starts a server with these settings, reached this way.
pub(crate) fn own_server(
    sandbox: &Sandbox,
    build: &str,
    transport: Transport,
    settings: &[&str],
) -> Instance {
    let build = obtained(build);
    let setting = |setting: &&str| {
        let (name, value) = setting.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    };
    let settings: Vec<(String, String)> = settings.iter().map(setting).collect();
    let config = ConfigFile::find(build.facts.dbms, ConfigFile::DEFAULT, Host::detect()).unwrap();
    let mut instance = Instance::open(InstanceSpec {
        config: config.for_version(&build.version).with_extra(&settings).unwrap(),
        build,
        engine: None,
        directory: sandbox.path().join("own"),
        transport,
        owner: Owner { experiment: "test".into(), candidate: "own".into() },
    })
    .unwrap();
    instance.initialise().unwrap();
    instance.start(Duration::from_secs(60)).unwrap();
    instance
}
