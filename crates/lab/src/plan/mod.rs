//! From a request to a plan. Every mistake that can be found before work starts is found here.

mod candidate;
mod candidate_facts;
mod cells;
mod connections;
mod disk;
mod instruction_meter;
mod kernel;
mod memory;
mod sources;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use basecase_model::{CandidateFacts, CandidateName, Cell, Dbms, Experiment, HostFacts, PROTOCOL_REVISION};
use basecase_process::{Account, ControlGroups, FolderHold, Owner};
use basecase_server::{Host, Instance, Plant, Settle, SettleLimit, Transport};
use basecase_stats::Orders;
use basecase_workload::Dialect;
use basecase_workload::insert_benchmark::Purpose;

pub use self::candidate::Candidate;
pub(crate) use self::candidate::Source;
use self::candidate_facts::candidate_facts;
pub(crate) use self::candidate_facts::complete;
use self::cells::{cells, experiment_id, same_cell};
pub(crate) use self::instruction_meter::InstructionMeter;
use self::sources::sources;
pub(crate) use self::sources::{room, together};
use crate::request::{
    CountsEngine, LeftOut, Pin, Placement, Places, Protocol, Replicate, Request, Timing, Verify, available,
    replicates,
};
use crate::workload::{Outline, Workload};

/// Rows of all tables up to which [`Verify::Auto`] counts them.
const COUNTED_ROWS: u64 = 1_000_000;

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
    pub(crate) placement: Placement,
    pub(crate) device: Option<String>,
    /// What counts instructions, if that is asked for.
    pub(crate) meter: Option<InstructionMeter>,
    /// The program that serves sessions with SQLite: see [`Places::program`].
    pub(crate) program: PathBuf,
    /// How servers get control groups, if the memory of some is limited.
    pub(crate) groups: Option<ControlGroups>,
    /// The experiment's own folder for data.
    pub(crate) folder: PathBuf,
    /// Length of slices that was asked for.
    pub(crate) slice: Option<Duration>,
    /// Whether the memory holds the servers of all candidates at the same time.
    pub(crate) fits_together: bool,
    /// How much memory the server of each candidate may take, in bytes.
    pub(crate) memory: Vec<u64>,
    /// What the user should know before it runs.
    pub notes: Vec<String>,
    /// Nobody else may use the folder while there is a plan for it.
    _hold: FolderHold,
}

impl Plan {
    /// The orders and other draws of the experiment.
    pub(crate) fn orders(&self) -> Orders {
        Orders::new(self.experiment.schedule.as_ref().map_or(0, |schedule| schedule.seed))
    }

    /// The processors of client and servers in this round.
    pub(crate) fn pin_in(&self, round: u32) -> Pin {
        self.placement.in_round(&self.orders(), round)
    }

    /// Resolves and obtains builds, checks configs against them, inspects the machine, and computes cells. `command` is the
    /// command line for the report; `notify` is called before anything that takes long.
    ///
    /// # Errors
    /// Every mistake that can be found before a server is started.
    pub fn prepare(
        request: &Request,
        places: &Places,
        command: &str,
        notify: &mut dyn FnMut(&str),
    ) -> Result<Plan> {
        connections::check_open_files(request.workload.sessions())?;
        request.check()?;
        let meter = match request.protocol {
            Protocol::Counts(engine) => Some(InstructionMeter::find(engine)?),
            Protocol::Classic | Protocol::Rounds(_) => None,
        };
        let host = Host::detect();
        memory::refuse(request, host)?;
        // Configs first: a typo should not wait for a download.
        let refusals = kernel::refusals(request, host)?;
        let (mut request, left_out) = available(request, refusals, &places.home, notify)?;
        if let Some(meter) = &meter {
            // Cells tell what counts, and not that it was left to choose.
            request.protocol = Protocol::Counts(meter.asked());
        }
        let request = &request;
        take_folder(&places.data)?;
        let host_facts = basecase_probe::host_facts(&places.data);
        let groups = memory::groups(request, host_facts.device.as_deref())?;
        let steps = request.workload.outlines();
        let dbms: Vec<(Dbms, bool)> =
            request.candidates.iter().map(|spec| (spec.dbms(), spec.is_url())).collect();
        let is_timed = meter.is_none();
        let placement = Placement::resolve(&request.pin, request.workload.as_ref(), &dbms, is_timed)?;
        let (sources, memory) = sources(request, places, host, notify)?;
        let mut facts = candidate_facts(request, &sources)?;
        let replicates = replicates(request, &mut facts)?;
        let cells = cells(&facts, &replicates, request, places, &steps, &placement, &host_facts);
        refuse_same_cells(&facts, &cells)?;
        let id = experiment_id(&cells);
        let folder = places.data.join(&id);
        let candidates = candidates(&folder, &places.home, facts, sources, cells, &replicates)?;
        let hold = hold_folder(&folder, &id, &candidates)?;
        let workload = request.workload.as_ref();
        check_dialects(workload, steps.len(), &candidates)?;
        let parameters = shown_parameters(request, places, &candidates, &placement, &left_out);
        let experiment = experiment(request, command, &id, host_facts, parameters, &candidates, &steps)?;
        Ok(Plan {
            device: experiment.host.device.clone(),
            _hold: hold,
            experiment,
            candidates,
            counts_rows: counts_rows(request.verify, workload),
            workload: Arc::clone(&request.workload),
            steps,
            settle: request.settle,
            settle_limit: request.settle_limit,
            step_limit_seconds: request.step_limit_seconds,
            transport: places.transport,
            timing: places.timing,
            placement,
            meter,
            program: places.program.clone(),
            groups,
            folder,
            slice: request.protocol.slice(),
            fits_together: together(&memory) <= host.memory_bytes,
            memory,
            notes: left_out.iter().map(note).collect(),
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

/// Refuses an engine of counts that this machine does not have, before other work is begun.
///
/// # Errors
/// What it lacks.
pub fn check_counts_engine(engine: CountsEngine) -> Result<()> {
    InstructionMeter::find(engine).map(drop)
}

/// What the user is told of a build or candidate that was left out.
fn note(LeftOut { name, reason }: &LeftOut) -> String {
    format!("{name} is left out: {reason}")
}

/// The experiment as the store keeps it.
fn experiment(
    request: &Request,
    command: &str,
    id: &str,
    host: HostFacts,
    parameters: Vec<(String, String)>,
    candidates: &[Candidate],
    steps: &[Outline],
) -> Result<Experiment> {
    let workload = request.workload.as_ref();
    Ok(Experiment {
        id: id.to_owned(),
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
        host,
        candidates: candidates.iter().map(|candidate| candidate.facts.clone()).collect(),
        groups: workload.groups(),
        schedule: request.protocol.schedule(id, workload)?,
        work_margin: None,
        calendar_time: None,
        node: request.node.clone(),
        steps: steps.iter().map(|step| step.facts.clone()).collect(),
    })
}

/// The candidates, each with a folder of its own in that of the experiment, and with what is planted in its server.
fn candidates(
    folder: &Path,
    home: &Path,
    facts: Vec<CandidateFacts>,
    sources: Vec<Source>,
    cells: Vec<Vec<Cell>>,
    replicates: &[Option<Replicate>],
) -> Result<Vec<Candidate>> {
    let plants: Vec<Option<Plant>> = replicates.iter().map(|replicate| replicate.as_ref()?.plant).collect();
    let is_planted = plants.iter().any(Option::is_some);
    let library = is_planted.then(|| Plant::library(home)).transpose()?;
    let parts = facts.into_iter().zip(sources).zip(cells).zip(plants);
    let candidate =
        |(((facts, source), cells), plant): (((CandidateFacts, Source), _), Option<Plant>)| Candidate {
            directory: folder.join(facts.name.folder()),
            dialect: Dialect::of(facts.build.dbms, facts.engine),
            table_options: source.table_options(),
            facts,
            source,
            cells,
            plant: plant.zip(library.clone()),
        };
    Ok(parts.map(candidate).collect())
}

/// Refuses two candidates whose results could not be told apart.
fn refuse_same_cells(facts: &[CandidateFacts], cells: &[Vec<Cell>]) -> Result<()> {
    let Some((one, other)) = same_cell(cells) else { return Ok(()) };
    bail!(
        "candidates {} and {} are the same build with the same settings, under two names\nhint: leave one out, or change a setting; results are told apart by what was run",
        facts[one].name,
        facts[other].name
    );
}

/// Takes the experiment's folder for this process alone, once it is certain that servers can run in it.
fn hold_folder(folder: &Path, experiment: &str, candidates: &[Candidate]) -> Result<FolderHold> {
    let mut started = candidates.iter().filter(|one| matches!(one.source, Source::Build(..))).peekable();
    let has_servers = started.peek().is_some();
    started.try_for_each(|candidate| Instance::check_path(&absolute(&candidate.directory)))?;
    let owner = Owner { experiment: experiment.to_owned(), candidate: "every candidate".into() };
    let hold = FolderHold::take(folder, owner)?;
    if has_servers && let Some(account) = Account::for_servers()? {
        account.check_reaches(folder)?;
    }
    Ok(hold)
}

/// Refuses a workload that does not fit the dialect of a candidate: this should not be found out after a load.
fn check_dialects(workload: &dyn Workload, steps: usize, candidates: &[Candidate]) -> Result<()> {
    for (index, candidate) in candidates.iter().enumerate() {
        if candidates[..index].iter().any(|earlier| earlier.dialect == candidate.dialect) {
            continue;
        }
        let state = workload.state(candidate.dialect, None)?;
        (0..steps).try_for_each(|step| state.plan(step, Purpose::Measure).map(drop))?;
    }
    Ok(())
}

/// Sizes, options and circumstances as they are shown.
fn shown_parameters(
    request: &Request,
    places: &Places,
    candidates: &[Candidate],
    placement: &Placement,
    left_out: &[LeftOut],
) -> Vec<(String, String)> {
    let mut parameters = request.workload.facts();
    parameters.push(("settle".into(), format!("{:?}", request.settle).to_lowercase()));
    if let Some(limit) = request.settle_limit {
        parameters.push(("settle_limit".into(), limit.to_string()));
    }
    parameters.extend(memory(candidates).map(|limits| (Experiment::MEMORY.into(), limits)));
    if request.meant_io_bound {
        parameters.push((Experiment::MEANT.into(), Experiment::IO_BOUND.into()));
    }
    parameters.push(("transport".into(), transports(candidates, places.transport)));
    parameters.push(("placement".into(), placement.to_string()));
    if let Some(mark) = places.timing.mark() {
        parameters.push((Experiment::TIMING.into(), mark));
    }
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|one| one.name.as_str()).collect();
        parameters.push(("left out".into(), names.join(", ")));
    }
    parameters
}

/// The limits on the memory of servers, in words; `None` if there are none.
fn memory(candidates: &[Candidate]) -> Option<String> {
    let told = |limit: Option<u64>| limit.map_or("none".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
    let limit = |candidate: &Candidate| candidate.facts.memory_limit_bytes;
    let first = limit(candidates.first()?);
    if candidates.iter().all(|candidate| limit(candidate) == first) {
        return first.map(|_| format!("{} for each server", told(first)));
    }
    let each = |one: &Candidate| format!("{} for {}", told(limit(one)), one.facts.name);
    Some(candidates.iter().map(each).collect::<Vec<_>>().join(", "))
}

/// Whether tables are checked by counting all of their rows.
fn counts_rows(verify: Verify, workload: &dyn Workload) -> bool {
    match verify {
        Verify::Auto => workload.loaded_rows() <= COUNTED_ROWS,
        Verify::Full => true,
        Verify::Bounds => false,
    }
}

fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::UnixSocket => "socket",
        Transport::Loopback => "loopback",
    }
}

/// How clients reach the servers, in words: `loopback for postgres, socket for mysql` where the published defaults apply.
fn transports(candidates: &[Candidate], chosen: Option<Transport>) -> String {
    let name_for = |dbms: Dbms| transport_name(chosen.unwrap_or(Transport::published(dbms)));
    let started = |candidate: &&Candidate| matches!(candidate.source, Source::Build(..));
    let mut dbms: Vec<Dbms> =
        candidates.iter().filter(started).map(|candidate| candidate.facts.build.dbms).collect();
    dbms.sort();
    dbms.dedup();
    match dbms.as_slice() {
        [] => "none".to_owned(),
        [first, rest @ ..] if rest.iter().all(|other| name_for(*other) == name_for(*first)) => {
            name_for(*first).to_owned()
        }
        several => several
            .iter()
            .map(|dbms| format!("{} for {dbms}", name_for(*dbms)))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// The path as servers will see it: from the root.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Makes a folder for servers' data, where there is none. Nobody else may write to it, whatever the umask.
pub(crate) fn take_folder(folder: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(folder).with_context(|| {
        format!(
            "cannot make the data folder {}\nhint: name a folder with --data in which this user may write",
            folder.display()
        )
    })
}
