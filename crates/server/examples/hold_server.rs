//! Starts a server and holds it until killed: the owner that tests kill with `kill -9`.
//!
//! Arguments: home of the builds, directory of the instance, build. Prints the server's process number when it is ready.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use basecase_builds::{BuildRequest, Library};
use basecase_process::Owner;
use basecase_server::{ConfigFile, Host, Instance, InstanceSpec, Transport};

fn main() -> std::process::ExitCode {
    let Err(error) = hold() else { return std::process::ExitCode::SUCCESS };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    std::process::ExitCode::FAILURE
}

fn hold() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [home, directory, request, rest @ ..] = arguments.as_slice() else {
        return Err("usage: hold_server HOME DIRECTORY BUILD [CONFIG [ENGINE]]".into());
    };
    let name = rest.first().map_or(ConfigFile::DEFAULT, String::as_str);
    let engine = rest.get(1).map(|name| name.parse().map_err(|()| "no such engine")).transpose()?;
    let library = Library::open(Path::new(home))?;
    let sources = library.resolve(&[request.parse::<BuildRequest>()?])?;
    let build = library.obtain(&sources[0], &mut |_| {})?;
    let config = ConfigFile::find(build.facts.dbms, name, Host::detect())?;
    let mut instance = Instance::open(InstanceSpec {
        config: config.for_version(&build.version),
        build,
        engine,
        directory: PathBuf::from(directory),
        transport: Transport::UnixSocket,
        owner: Owner { experiment: "held".into(), candidate: "pg.default".into() },
    })?;
    let began = Instant::now();
    instance.initialise()?;
    let initialised = began.elapsed();
    instance.start(Duration::from_secs(60))?;
    let ready = began.elapsed() - initialised;
    writeln!(std::io::stderr(), "initialised in {initialised:.1?}, ready {ready:.1?} later")?;
    writeln!(std::io::stdout(), "{}", instance.pid().unwrap_or_default())?;
    std::io::stdout().flush()?;
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}
