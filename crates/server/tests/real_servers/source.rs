//! A Postgres is really compiled from source, and runs.
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use basecase_builds::{Library, Setup, SourceBuild, SourceOrder, default_home};
use basecase_process::Owner;
use basecase_server::{ConfigFile, Host, Instance, InstanceSpec, ServerEnd, Transport, check};

/// Compiled as fast as can be: about two minutes of CPU, the first time. Sources of Postgres 15 need neither bison nor flex.
fn compile(library: &Library, notify: &mut dyn FnMut(&str)) -> SourceBuild {
    let order = SourceOrder {
        request: "postgres:15.18".parse().unwrap(),
        source: None,
        setup: Setup::Flags("-O0 -g0".into()),
        label: Some("quick".into()),
        patches: Vec::new(),
        configure: vec!["--without-zlib".into()],
        names_commit: false,
        is_incremental: false,
        jobs: None,
    };
    library.compile(&order, notify).unwrap()
}

#[test]
fn postgres_from_source_lives() {
    let library = Library::open(&default_home().unwrap()).unwrap();
    let compiled = compile(&library, &mut |line| eprintln!("{line}"));
    assert_eq!(compiled.request().to_string(), "postgres:15.18:quick");
    let mut said = Vec::new();
    assert_eq!(compile(&library, &mut |line| said.push(line.to_owned())), compiled);
    assert!(said.is_empty(), "the second time nothing is done: {said:?}");
    assert!(library.source_builds().contains(&compiled));

    let sources = library.resolve(&[compiled.request()]).unwrap();
    let build = library.obtain(&sources[0], &mut |_| {}).unwrap();
    let facts = &build.facts;
    assert_eq!((facts.short.as_str(), facts.version.as_str()), ("pg1518_quick", "15.18"));
    assert_eq!((facts.provider.as_str(), facts.sha256.as_ref()), ("source", Some(&compiled.hash)));
    assert!(
        facts.artifact.starts_with("postgresql-15_15.18.orig.tar.bz2 sha256:11df0df97fe3ea4b"),
        "{facts:?}"
    );
    assert!(facts.flags.as_ref().unwrap().ends_with("-g -O0 -g0"), "{facts:?}");
    assert!(
        facts.toolchain().ends_with(" -O0") && facts.compiler == Some(compiled.compiler.clone()),
        "{facts:?}"
    );
    assert!(facts.details["configure"].contains("--without-zlib"), "{facts:?}");
    let prefix = build.bin().parent().unwrap();
    for extension in ["pg_stat_statements", "pgstattuple", "pg_prewarm", "pg_buffercache"] {
        assert!(prefix.join(format!("share/extension/{extension}.control")).is_file(), "{extension}");
    }

    let host = Host::detect();
    let config = ConfigFile::find(facts.dbms, ConfigFile::DEFAULT, host).unwrap();
    let config = config.for_version(&build.version);
    check(&build, None, &config, host, &default_home().unwrap()).unwrap();
    let folder = tempfile::Builder::new().prefix("bc-").tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let mut instance = Instance::open(InstanceSpec {
        build,
        engine: None,
        config,
        directory: folder.path().join("instance"),
        transport: Transport::Loopback,
        owner: Owner { experiment: "test".into(), candidate: "pg1518_quick.default".into() },
    })
    .unwrap();
    instance.initialise().unwrap();
    instance.start(Duration::from_secs(60)).unwrap();
    assert!(instance.is_alive());
    assert_eq!(instance.stop().unwrap(), ServerEnd::Clean);
    instance.destroy().unwrap();
}
