//! How the candidates of a request are started: their builds and configs, found, obtained and checked.

use anyhow::{Context, Result, anyhow, bail};
use basecase_builds::{Build, BuildRequest, Library};
use basecase_client::Endpoint;
use basecase_client::sqlite;
use basecase_model::{Dbms, Engine, TriedSetting};
use basecase_server::{Config, ConfigError, ConfigFile, Host};

use super::candidate::Source;
use super::connections;
use super::disk::{self, Copies, Room};
use super::memory::{self, Asked};
use crate::request::{CandidateSpec, MemorySize, Origin, Places, Request};

/// The config of a candidate that names none: the seeds' cached small server, or SQLite as most applications set it.
fn default_config(spec: &CandidateSpec) -> &'static str {
    match (spec.dbms(), spec.table_engine()) {
        (Dbms::Postgres, _) => "x10a",
        (Dbms::Mysql | Dbms::Mariadb, Some(Engine::Rocksdb)) => "za1",
        (Dbms::Mysql | Dbms::Mariadb, _) => "z12a",
        (Dbms::Sqlite, _) => "wal_normal",
    }
}

/// Memory that a server takes besides its cache of tables, bytes.
const BESIDE_TABLES: u64 = 1 << 30;

/// Resolves all builds together, so that they come from one toolchain if possible, obtains them and checks configs. Also returns how much
/// memory the server of each candidate may take, in bytes.
pub(super) fn sources(
    request: &Request,
    places: &Places,
    host: Host,
    notify: &mut dyn FnMut(&str),
) -> Result<(Vec<Source>, Vec<u64>)> {
    let files = config_files(request, host)?;
    let copies = Copies::of(&request.protocol, request.workload.as_ref());
    disk::check(request.workload.as_ref(), files.iter().flatten(), copies, &places.data)?;
    let mut builds = obtain_builds(request, places, notify)?.into_iter();
    let mut sources = Vec::new();
    let mut memory = Vec::new();
    for (spec, file) in request.candidates.iter().zip(files) {
        let mut needed = 0;
        sources.push(match (&spec.origin, file) {
            (Origin::PostgresUrl(address), _) => Source::Url(Endpoint::Postgres(address.clone())),
            (Origin::MysqlUrl(address), _) => Source::Url(Endpoint::Mysql(address.clone())),
            (Origin::Embedded, Some(file)) => {
                let bundled = sqlite::Library::bundled();
                let version = bundled.version();
                let version =
                    version.parse().map_err(|()| anyhow!("SQLite says that its version is {version:?}"))?;
                Source::Embedded(None, varied(file.for_version(&version), spec)?)
            }
            (Origin::Build(_), Some(file)) if spec.dbms().is_embedded() => {
                let build = builds.next().context("a build was not resolved")?;
                let config = varied(file.for_version(&build.version), spec)?;
                Source::Embedded(Some(Box::new(build)), config)
            }
            (Origin::Build(_), Some(file)) => {
                let build = builds.next().context("a build was not resolved")?;
                let config = file.for_version(&build.version).with_extra(&request.extra_settings)?;
                let config = varied(config, spec)?;
                // A cache that is larger than the tables stays empty beyond them.
                let most = disk::tables_bytes(request.workload.as_ref()).saturating_add(BESIDE_TABLES);
                let asked = Asked {
                    build: &build,
                    engine: spec.table_engine(),
                    config: &config,
                    host: memory::host_of(request, spec, host),
                };
                let reserved = memory::reserved(&asked, request, spec, places)?.min(most);
                // With its page cache, a server comes to fill its limit.
                needed = request.memory_of(spec).map_or(reserved, MemorySize::bytes);
                let settings = config.facts().settings;
                let sessions = request.workload.sessions();
                connections::check(&spec.to_string(), build.facts.dbms, &settings, sessions)?;
                Source::Build(Box::new(build), config)
            }
            (_, None) => bail!("candidate {spec} has no config"),
        });
        memory.push(needed);
    }
    refuse_beyond_memory(request, together(&memory), host)?;
    Ok((sources, memory))
}

/// Refuses servers that need more memory than there is where all run at the same time.
fn refuse_beyond_memory(request: &Request, needed: u64, host: Host) -> Result<()> {
    if request.protocol.needs_all_at_once(request.workload.as_ref()) && needed > host.memory_bytes {
        bail!(
            "the servers of a round run at the same time and may take {} MiB of memory together, and {}\nhint: lower what each takes, as with --set shared_buffers=1GB or --set innodb_buffer_pool_size=1G, or compare fewer candidates at once",
            needed >> 20,
            host.memory_text()
        );
    }
    Ok(())
}

/// What the data of a request takes of the disk, and what there is.
pub(crate) fn room(request: &Request, places: &Places, host: Host) -> Result<(Room, Copies)> {
    let files = config_files(request, host)?;
    let workload = request.workload.as_ref();
    let copies = Copies::of(&request.protocol, workload);
    Ok((disk::room(workload, files.iter().flatten(), copies, &places.data)?, copies))
}

/// Bytes of memory that all servers take which run at the same time.
pub(crate) fn together(memory: &[u64]) -> u64 {
    memory.iter().fold(0, |all, bytes| all.saturating_add(*bytes))
}

/// The config with what the candidate has in place of one of its settings.
fn varied(config: Config, spec: &CandidateSpec) -> Result<Config, ConfigError> {
    match &spec.tried {
        Some(TriedSetting { name, value, .. }) => config.varied(name, value.as_deref()),
        None => Ok(config),
    }
}

/// The config of each candidate; `None` of the user's own server.
pub(super) fn config_files(request: &Request, host: Host) -> Result<Vec<Option<ConfigFile>>> {
    let config_file = |spec: &CandidateSpec| {
        if spec.is_url() {
            return Ok(None);
        }
        find_config(spec, memory::host_of(request, spec, host)).map(Some)
    };
    Ok(request.candidates.iter().map(config_file).collect::<Result<_, _>>()?)
}

/// The config that a candidate names, or else its default one, sized for `host`.
///
/// # Errors
/// If there is none, or if a line is wrong.
pub(super) fn find_config(spec: &CandidateSpec, host: Host) -> Result<ConfigFile, ConfigError> {
    let name = spec.config.as_deref().unwrap_or_else(|| default_config(spec));
    ConfigFile::find(spec.dbms(), name, host)
}

/// Finds and obtains the builds of all candidates that basecase starts, in their order.
fn obtain_builds(request: &Request, places: &Places, notify: &mut dyn FnMut(&str)) -> Result<Vec<Build>> {
    let requests: Vec<BuildRequest> =
        request.candidates.iter().filter_map(CandidateSpec::build).cloned().collect();
    let has_server = request.candidates.iter().any(|spec| !spec.dbms().is_embedded() && !spec.is_url());
    if let Some((name, _)) = request.extra_settings.first().filter(|_| !has_server) {
        bail!(
            "--set {name}: no candidate is a server that basecase starts\nhint: leave out --set; SQLite's settings belong in its config, as in sqlite@FILE.conf"
        );
    }
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let library = Library::open(&places.home)?;
    let resolved = library.resolve(&requests)?;
    Ok(library.obtain_all(&resolved, notify)?)
}
