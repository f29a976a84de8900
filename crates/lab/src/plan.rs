//! From a request to a plan: everything that can be wrong is found here, before any work starts.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use basecase_builds::{Build, BuildRequest, Library};
use basecase_client::Endpoint;
use basecase_client::sqlite::SqliteSession;
use basecase_model::{
    CandidateFacts, CandidateName, Cell, Dbms, Engine, Experiment, HostFacts, PROTOCOL_REVISION,
};
use basecase_process::{Account, FolderHold, Owner};
use basecase_server::{Config, ConfigFile, Host, Instance, Plant, Settle, SettleLimit, Transport, check};
use basecase_workload::Dialect;
use basecase_workload::insert_benchmark::Purpose;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::candidate::{CandidateSpec, Origin};
use crate::candidate_facts::candidate_facts;
use crate::connections;
use crate::disk;
use crate::observer::Phase;
use crate::pin::{Pin, PinRequest};
use crate::protocol::Protocol;
use crate::replicate::{Replicate, replicates};
use crate::timing::Timing;
use crate::workload::{Outline, Workload};

/// How thoroughly tables are compared with the model after each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Fully up to a million rows, by bounds above.
    #[default]
    Auto,
    /// Count every row and search the smallest id from the beginning.
    Full,
    /// Compare the smallest and largest id, the server's counters and the rows that statements affected. Reads nothing that
    /// would change the caches for the next step.
    Bounds,
}

/// Rows of all tables up to which [`Verify::Auto`] counts them.
const COUNTED_ROWS: u64 = 1_000_000;

/// What the user asks for.
#[derive(Debug, Clone)]
pub struct Request {
    /// A short name for people.
    pub name: String,
    /// The candidates; the first is the base case.
    pub candidates: Vec<CandidateSpec>,
    /// The workload with its sizes and options.
    pub workload: Arc<dyn Workload>,
    /// How debt is settled before the read-write steps.
    pub settle: Settle,
    /// How long that may take, where it is not the formula's time.
    pub settle_limit: Option<SettleLimit>,
    /// How thoroughly tables are checked.
    pub verify: Verify,
    /// Hard limit of each step in seconds; by default five times a read-write step's nominal time and ten minutes, and none
    /// for the others.
    pub step_limit_seconds: Option<u64>,
    /// Which processors the client and the servers run on.
    pub pin: PinRequest,
    /// Settings for every server that basecase starts, on top of its config.
    pub extra_settings: Vec<(String, String)>,
    /// How often and in which order candidates are measured.
    pub protocol: Protocol,
    /// What tells candidates apart that are otherwise the same, one for each candidate; fewer are none.
    pub replicates: Vec<Replicate>,
}

impl Request {
    /// What an experiment is called that was given no name: its candidates.
    pub fn named_after(candidates: &[CandidateSpec]) -> String {
        candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }
}

/// Where things are on this machine, and how servers are reached.
#[derive(Debug, Clone)]
pub struct Places {
    /// Home of downloaded builds.
    pub home: PathBuf,
    /// Folder of data directories.
    pub data: PathBuf,
    /// How clients reach a server that basecase starts; `None` as in published results: see [`Transport::published`].
    pub transport: Option<Transport>,
    /// How long warm-ups, slices, pauses and looks last.
    pub timing: Timing,
}

/// What is needed to start a candidate.
#[derive(Debug)]
pub(crate) enum Source {
    Build(Box<Build>, Config),
    Embedded(Config),
    Url(Endpoint),
}

/// One candidate of a plan.
#[derive(Debug)]
pub struct Candidate {
    /// What reports show.
    pub facts: CandidateFacts,
    /// Its own folder for data.
    pub(crate) directory: PathBuf,
    pub(crate) source: Source,
    /// The cells of its steps, in their order.
    pub(crate) cells: Vec<Cell>,
    pub(crate) dialect: Dialect,
    /// A slowdown that is planted in its server, with the library that does so.
    pub(crate) plant: Option<(Plant, PathBuf)>,
}

impl Candidate {
    /// What bringing it up is called.
    pub(crate) fn opening(&self) -> Phase<'static> {
        match self.source {
            Source::Build(..) => Phase::InitialiseServer,
            Source::Embedded(_) => Phase::InitialiseDatabase,
            Source::Url(_) => Phase::Connect,
        }
    }

    /// What bringing it down is called.
    pub(crate) fn closing(&self) -> Phase<'static> {
        match self.source {
            Source::Build(..) => Phase::RemoveServer,
            Source::Embedded(_) => Phase::RemoveDatabase,
            Source::Url(_) => Phase::DropTables,
        }
    }
}

/// An experiment that can be run.
#[derive(Debug)]
pub struct Plan {
    /// The experiment as the store keeps it.
    pub experiment: Experiment,
    /// The candidates in their order.
    pub candidates: Vec<Candidate>,
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) steps: Vec<Outline>,
    pub(crate) settle: Settle,
    pub(crate) settle_limit: Option<SettleLimit>,
    pub(crate) counts_rows: bool,
    pub(crate) step_limit_seconds: Option<u64>,
    pub(crate) transport: Option<Transport>,
    pub(crate) timing: Timing,
    pub(crate) pin: Pin,
    pub(crate) device: Option<String>,
    /// The experiment's own folder for data.
    pub(crate) folder: PathBuf,
    /// Length of slices that was asked for.
    pub(crate) slice: Option<Duration>,
    /// Whether the memory holds the servers of all candidates at the same time.
    pub(crate) fits_together: bool,
    /// Nobody else may use the folder while there is a plan for it.
    _hold: FolderHold,
}

impl Plan {
    /// Resolves and obtains builds, checks configs against them, looks at the machine, and computes cells. `command` is the
    /// command line for the report; `notify` is called before anything that takes long.
    ///
    /// # Errors
    /// With everything that can be known to be wrong before a server is started.
    pub fn prepare(
        request: &Request,
        places: &Places,
        command: &str,
        notify: &mut dyn FnMut(&str),
    ) -> Result<Plan> {
        connections::check_open_files(request.workload.sessions())?;
        request.check()?;
        let host = Host::detect();
        take_folder(&places.data)?;
        let host_facts = basecase_probe::host_facts(&places.data);
        let steps = request.workload.outlines();
        let dbms: Vec<(Dbms, bool)> =
            request.candidates.iter().map(|spec| (spec.dbms(), spec.is_url())).collect();
        let pin = Pin::resolve(&request.pin, request.workload.as_ref(), &dbms)?;
        let (sources, fits_together) = sources(request, places, host, notify)?;
        let mut facts = candidate_facts(request, &sources)?;
        let replicates = replicates(request, &mut facts)?;
        let cells: Vec<Vec<Cell>> = facts
            .iter()
            .zip(&replicates)
            .map(|(facts, replicate)| {
                cells((facts, replicate.as_ref()), request, places, &steps, &pin, &host_facts)
            })
            .collect();
        let plants: Vec<Option<Plant>> =
            replicates.iter().map(|replicate| replicate.as_ref()?.plant).collect();
        let is_planted = plants.iter().any(Option::is_some);
        let library = is_planted.then(|| Plant::library(&places.home)).transpose()?;
        if let Some((one, other)) = same_cell(&cells) {
            bail!(
                "candidates {} and {} are the same build with the same settings, under two names\nhint: leave one away, or change a setting; what is measured is told apart by what was run",
                facts[one].name,
                facts[other].name
            );
        }
        let id = experiment_id(&cells);
        let candidates: Vec<Candidate> = facts
            .into_iter()
            .zip(sources)
            .zip(cells)
            .zip(plants)
            .map(|(((facts, source), cells), plant)| Candidate {
                directory: places.data.join(&id).join(&facts.name.0),
                dialect: Dialect::of(facts.build.dbms, facts.engine),
                facts,
                source,
                cells,
                plant: plant.zip(library.clone()),
            })
            .collect();
        let folder = places.data.join(&id);
        let mut started = candidates.iter().filter(|one| matches!(one.source, Source::Build(..))).peekable();
        let has_servers = started.peek().is_some();
        started.try_for_each(|candidate| Instance::check_path(&absolute(&candidate.directory)))?;
        let owner = Owner { experiment: id.clone(), candidate: "every candidate".into() };
        let hold = FolderHold::take(&folder, owner)?;
        if has_servers && let Some(account) = Account::for_servers()? {
            account.check_reaches(&folder)?;
        }
        let workload = request.workload.as_ref();
        for (index, candidate) in candidates.iter().enumerate() {
            if candidates[..index].iter().any(|earlier| earlier.dialect == candidate.dialect) {
                continue;
            }
            // What of the workload does not fit a dialect should not be found out after a load.
            let state = workload.state(candidate.dialect)?;
            (0..steps.len()).try_for_each(|step| state.plan(step, Purpose::Measure).map(drop))?;
        }
        let mut parameters = workload.facts();
        parameters.push(("settle".into(), format!("{:?}", request.settle).to_lowercase()));
        if let Some(limit) = request.settle_limit {
            parameters.push(("settle_limit".into(), limit.to_string()));
        }
        parameters.push(("transport".into(), transports(&candidates, places.transport)));
        parameters.push(("placement".into(), pin.to_string()));
        if let Some(mark) = places.timing.mark() {
            parameters.push((Experiment::TIMING.into(), mark));
        }
        let experiment = Experiment {
            id: id.clone(),
            name: request.name.clone(),
            created_at: jiff::Timestamp::now().to_string(),
            command: command.to_owned(),
            basecase_version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol_revision: PROTOCOL_REVISION,
            workload: workload.name().to_owned(),
            parameters,
            clients: workload.clients(),
            loaded_rows: workload.loaded_rows(),
            seed: workload.seed(),
            host: host_facts,
            candidates: candidates.iter().map(|candidate| candidate.facts.clone()).collect(),
            groups: workload.groups(),
            schedule: request.protocol.schedule(&id, workload)?,
            steps: steps.iter().map(|step| step.facts.clone()).collect(),
        };
        Ok(Plan {
            device: experiment.host.device.clone(),
            _hold: hold,
            experiment,
            candidates,
            counts_rows: match request.verify {
                Verify::Auto => workload.loaded_rows() <= COUNTED_ROWS,
                Verify::Full => true,
                Verify::Bounds => false,
            },
            workload: Arc::clone(&request.workload),
            steps,
            settle: request.settle,
            settle_limit: request.settle_limit,
            step_limit_seconds: request.step_limit_seconds,
            transport: places.transport,
            timing: places.timing,
            pin,
            folder,
            slice: match &request.protocol {
                Protocol::Classic => None,
                Protocol::Rounds(rounds) => rounds.slice,
            },
            fits_together,
        })
    }

    /// Cells with the candidates they belong to.
    pub fn cells(&self) -> Vec<(CandidateName, Cell)> {
        self.candidates
            .iter()
            .flat_map(|candidate| {
                candidate.cells.iter().map(|cell| (candidate.facts.name.clone(), cell.clone()))
            })
            .collect()
    }
}

fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::UnixSocket => "socket",
        Transport::Loopback => "loopback",
    }
}

/// How clients reach the servers, in words: `loopback for postgres, socket for mysql` where the user left it to what was published.
fn transports(candidates: &[Candidate], chosen: Option<Transport>) -> String {
    let of = |dbms: Dbms| transport_name(chosen.unwrap_or(Transport::published(dbms)));
    let started = |candidate: &&Candidate| matches!(candidate.source, Source::Build(..));
    let mut dbms: Vec<Dbms> =
        candidates.iter().filter(started).map(|candidate| candidate.facts.build.dbms).collect();
    dbms.sort();
    dbms.dedup();
    match dbms.as_slice() {
        [] => "none".to_owned(),
        [first, rest @ ..] if rest.iter().all(|other| of(*other) == of(*first)) => of(*first).to_owned(),
        several => {
            several.iter().map(|dbms| format!("{} for {dbms}", of(*dbms))).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The path as servers will see it: from the root.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Makes a folder for servers' data, where there is none. Nobody else may write to it, whatever the umask.
fn take_folder(folder: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(folder).with_context(|| {
        format!(
            "cannot make the data folder {}\nhint: name a folder with --data in which this user may write",
            folder.display()
        )
    })
}

/// The config of a candidate that names none: the seeds' cached small server, or SQLite as most applications set it.
fn default_config(spec: &CandidateSpec) -> &'static str {
    match (spec.dbms(), spec.table_engine()) {
        (Dbms::Postgres, _) => "x10a",
        (Dbms::Mysql | Dbms::Mariadb, Some(Engine::Rocksdb)) => "za1",
        (Dbms::Mysql | Dbms::Mariadb, _) => "z12a",
        (Dbms::Sqlite, _) => "wal_normal",
    }
}

/// Memory that a server takes besides what it keeps of its tables, bytes.
const BESIDE_TABLES: u64 = 1 << 30;

/// Resolves all builds together, so that they come from one toolchain where they can, obtains them and checks configs. Also returns
/// whether the memory holds all servers at the same time.
fn sources(
    request: &Request,
    places: &Places,
    host: Host,
    notify: &mut dyn FnMut(&str),
) -> Result<(Vec<Source>, bool)> {
    // Configs first: a typo should not wait for a download.
    let files: Vec<Option<ConfigFile>> = request
        .candidates
        .iter()
        .map(|spec| {
            if spec.is_url() {
                return Ok(None);
            }
            let name = spec.config.as_deref().unwrap_or_else(|| default_config(spec));
            ConfigFile::find(spec.dbms(), name, host).map(Some)
        })
        .collect::<Result<_, _>>()?;
    let copies = request.protocol.copies(request.workload.as_ref());
    disk::check(request.workload.as_ref(), files.iter().flatten(), copies, &places.data)?;
    let requests: Vec<BuildRequest> = request
        .candidates
        .iter()
        .filter_map(|spec| match &spec.origin {
            Origin::Build(request) => Some(request.clone()),
            _ => None,
        })
        .collect();
    if let Some((name, _)) = request.extra_settings.first().filter(|_| requests.is_empty()) {
        bail!(
            "--set {name}: no candidate is a server that basecase starts\nhint: leave --set away; settings of SQLite stand in its config, as in sqlite@FILE.conf"
        );
    }
    let mut builds = Vec::new();
    if !requests.is_empty() {
        let library = Library::open(&places.home)?;
        for source in library.resolve(&requests)? {
            builds.push(library.obtain(&source, notify)?);
        }
    }
    let mut builds = builds.into_iter();
    let mut sources = Vec::new();
    let mut needed = 0_u64;
    for (spec, file) in request.candidates.iter().zip(files) {
        sources.push(match (&spec.origin, file) {
            (Origin::PostgresUrl(address), _) => Source::Url(Endpoint::Postgres(address.clone())),
            (Origin::MysqlUrl(address), _) => Source::Url(Endpoint::Mysql(address.clone())),
            (Origin::Embedded, Some(file)) => {
                let version = SqliteSession::version();
                let version =
                    version.parse().map_err(|()| anyhow!("SQLite says that its version is {version:?}"))?;
                Source::Embedded(file.for_version(&version))
            }
            (Origin::Build(_), Some(file)) => {
                let build = builds.next().context("a build was not resolved")?;
                let config = file.for_version(&build.version).with_extra(&request.extra_settings)?;
                // A cache that is larger than the tables stays empty beyond them.
                let most = disk::tables_bytes(request.workload.as_ref()).saturating_add(BESIDE_TABLES);
                needed = needed.saturating_add(
                    check(&build, spec.table_engine(), &config, host, &places.data)?.min(most),
                );
                let settings = config.facts().settings;
                let sessions = request.workload.sessions();
                connections::check(&spec.to_string(), build.facts.dbms, &settings, sessions)?;
                Source::Build(Box::new(build), config)
            }
            (_, None) => bail!("candidate {spec} has no config"),
        });
    }
    let fits_together = needed <= host.memory_bytes;
    if request.protocol.needs_all_at_once(request.workload.as_ref()) && !fits_together {
        bail!(
            "the servers of a round run at the same time and may take {} MiB of memory together, and {}\nhint: lower what each takes, as with --set shared_buffers=1GB or --set innodb_buffer_pool_size=1G, or compare fewer candidates at once",
            needed >> 20,
            host.memory_text()
        );
    }
    Ok((sources, fits_together))
}

fn cells(
    (facts, replicate): (&CandidateFacts, Option<&Replicate>),
    request: &Request,
    places: &Places,
    steps: &[Outline],
    pin: &Pin,
    host: &HostFacts,
) -> Vec<Cell> {
    let build = &facts.build;
    let identity = build.identity();
    let parameters = |step| {
        let mut parameters = serde_json::json!({
            "sizes": request.workload.cell_sizes(step),
            "settle": request.settle,
            // Counting rows warms caches for the step after.
            "verify": request.verify,
            "transport": transport_name(places.transport.unwrap_or(Transport::published(build.dbms))),
        });
        // Without one the key is that of results from before there was a choice.
        if let Some(limit) = request.settle_limit {
            parameters["settle_limit"] = limit.to_string().into();
        }
        if let Some(mark) = places.timing.mark() {
            parameters["timing"] = mark.into();
        }
        if pin.is_any() {
            parameters["pin"] = pin.to_string().into();
        }
        if let Some(Replicate { tag, plant }) = replicate {
            parameters["twin"] = serde_json::json!({ "tag": tag, "plant": plant });
            if plant.is_some() {
                parameters["twin"]["library"] = Plant::library_digest().into();
            }
        }
        if let Some(protocol) = request.protocol.cell_parameters() {
            parameters["protocol"] = protocol;
        }
        parameters
    };
    steps
        .iter()
        .enumerate()
        .map(|(number, step)| Cell {
            build: identity.clone(),
            engine: facts.engine,
            config: facts.config.sha256.clone(),
            workload: request.workload.name().to_owned(),
            step: step.facts.name.clone(),
            parameters: parameters(number),
            host: host.id.clone(),
            protocol_revision: PROTOCOL_REVISION,
        })
        .collect()
}

/// Two candidates whose results could not be told apart.
fn same_cell(cells: &[Vec<Cell>]) -> Option<(usize, usize)> {
    let first = |candidate: &Vec<Cell>| candidate.first().cloned();
    (0..cells.len()).find_map(|other| {
        let one = (0..other).find(|&one| first(&cells[one]) == first(&cells[other]))?;
        Some((one, other))
    })
}

/// The same cells in the same order are the same experiment.
fn experiment_id(cells: &[Vec<Cell>]) -> String {
    let mut hasher = Sha256::new();
    for cell in cells.iter().flatten() {
        hasher.update(cell.key());
    }
    hasher.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
