//! A server that belongs to nobody but the test, as a user's own would be.

use std::time::Duration;

use basecase_model::Dbms;
use basecase_server::{ConfigFile, Host, Instance, InstanceSpec, Library, Owner, Transport, default_home};
use basecase_tests::Sandbox;

/// Starts a server with these settings, reached as that of published results is.
pub(crate) fn own_server(sandbox: &Sandbox, build: &str, dbms: Dbms, settings: &[&str]) -> Instance {
    let library = Library::open(&default_home()).unwrap();
    let sources = library.resolve(&[build.parse().unwrap()]).unwrap();
    let build = library.obtain(&sources[0], &mut |_| {}).unwrap();
    let setting = |setting: &&str| {
        let (name, value) = setting.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    };
    let settings: Vec<(String, String)> = settings.iter().map(setting).collect();
    let config = ConfigFile::find(dbms, ConfigFile::DEFAULT, Host::detect()).unwrap();
    let mut instance = Instance::open(InstanceSpec {
        config: config.for_version(&build.version).with_extra(&settings).unwrap(),
        build,
        engine: None,
        directory: sandbox.path().join("own"),
        transport: Transport::published(dbms),
        owner: Owner { experiment: "test".into(), candidate: "own".into() },
    })
    .unwrap();
    instance.initialise().unwrap();
    instance.start(Duration::from_secs(60)).unwrap();
    instance
}
