//! One experiment on several machines: submitted to a scheduler, watched, judged together.

mod command;
mod results;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use basecase_fleet::{
    Collected, Coordinator, Element, Ending, FleetFolder, Judged, ManifestRequest, Order, Scheduler, Slurm,
    Standing, Submission, github, kubernetes, recover, submit,
};
use basecase_lab::{Node, Request};
use basecase_store::Store;

pub(crate) use self::command::of_nodes;
use self::results::Delivered;
pub(crate) use self::results::report;
use super::perform::make_folder;
use crate::Outcome;
use crate::arguments::{Fleet, FleetArguments, FleetCommand, Manifest, ManifestKind, PlaceArguments};
use crate::output;
use crate::reporter::Reporter;

/// How often the coordinator looks at the nodes.
const INTERVAL: Duration = Duration::from_secs(5);

pub(crate) fn run(arguments: &Fleet) -> Result<()> {
    match &arguments.command {
        FleetCommand::Status { store, json } => status::run(store, *json),
        FleetCommand::Manifest(manifest) => output::print(&manifest_of(manifest)?),
    }
}

/// Refuses several machines for a command each of whose experiments depends on what the one before it found.
pub(crate) fn refuse(arguments: &PlaceArguments, command: &str) -> Result<()> {
    match arguments.fleet.asked() {
        Some(option) => bail!(
            "{option}: basecase {command} runs on one machine\nhint: leave it out; basecase compare, count and run take several, and basecase history of a range of commits with --counts"
        ),
        None => Ok(()),
    }
}

/// Refuses what only one machine can do for an experiment.
pub(crate) fn check(arguments: &PlaceArguments) -> Result<()> {
    let Some(option) = arguments.fleet.asked() else { return Ok(()) };
    if arguments.counts {
        bail!(
            "{option} with --counts: counts are shared out among machines, and rounds are not\nhint: count by another command: basecase count … {option} …"
        );
    }
    if !arguments.profile.is_empty() {
        bail!("{option} with --profile: rounds cannot be profiled\nhint: leave out --profile");
    }
    Ok(())
}

/// Most jobs of a matrix of GitHub (docs.github.com, "Usage limits").
const MOST_GITHUB_JOBS: u32 = 256;

fn manifest_of(manifest: &Manifest) -> Result<String> {
    let request = ManifestRequest {
        name: manifest.name.clone(),
        nodes: manifest.nodes,
        command: manifest.command.clone(),
        image: manifest.image.clone().unwrap_or_default(),
        claim: manifest.claim.clone().unwrap_or_default(),
        runner: manifest.runner.clone(),
        install: manifest.install.clone().unwrap_or_default(),
    };
    match manifest.of {
        ManifestKind::Kubernetes => Ok(kubernetes(&request)),
        ManifestKind::Github if manifest.nodes > MOST_GITHUB_JOBS => bail!(
            "a matrix of GitHub has at most {MOST_GITHUB_JOBS} jobs, and {} nodes are asked for\nhint: take fewer nodes, or another scheduler",
            manifest.nodes
        ),
        ManifestKind::Github => Ok(github(&request)),
    }
}

/// Runs the nodes of an experiment through a scheduler, or comes back to them, and reports what they measured.
pub(crate) fn coordinate(
    request: &Request,
    arguments: &PlaceArguments,
    reporter: &Reporter,
) -> Result<Outcome> {
    let watched = watch(request, of_nodes(), arguments, reporter)?;
    let delivered = Delivered::of(&watched.store, &watched.fleet)?;
    let results = delivered.results();
    results.print(arguments)?;
    results.write_pages(arguments, reporter)?;
    Ok(watched.outcome)
}

/// A fleet that was watched until its nodes ended, or the user went away.
pub(crate) struct Watched {
    /// What all nodes have delivered.
    pub(crate) store: Store,
    /// What identifies the fleet.
    pub(crate) fleet: String,
    /// What the user was told of how it ended.
    pub(crate) outcome: Outcome,
}

/// Runs the nodes of an experiment through a scheduler, each by the words of `command`, or comes back to them.
pub(crate) fn watch(
    request: &Request,
    command: Vec<String>,
    arguments: &PlaceArguments,
    reporter: &Reporter,
) -> Result<Watched> {
    let fleet = id_of(request)?;
    let mut store = Store::create_or_open(&arguments.store)?;
    let lock = store.lock_for_run(&output::command_line())?;
    make_folder(&arguments.out)?;
    let slurm = Slurm::of_system();
    let folder = FleetFolder::beside(&arguments.store);
    // Before anything is submitted: the id of a job must not be lost.
    let _catching = basecase_stop::catch_signals().context("cannot watch for signals")?;
    let may_grow = !request.protocol.is_counts();
    let submission = submitted(&folder, &slurm, &arguments.fleet, command, may_grow, reporter)?;
    let mut shown = Shown::default();
    let mut coordinator = Coordinator::new(folder, &slurm, submission, lock);
    if arguments.fleet.cancel {
        coordinator.cancel()?;
        reporter.note("the job is ended; what its nodes have delivered is reported");
    }
    let ending = coordinator.run(
        arguments.timing.of(INTERVAL),
        &mut |collected| judge(&mut store, collected, &fleet, reporter),
        &mut |standing| shown.tell(standing, reporter),
    )?;
    drop(coordinator);
    let outcome = outcome(&ending, arguments.fleet.cancel, reporter);
    Ok(Watched { store, fleet, outcome })
}

/// How watching ended, and what the user can do now.
fn outcome(ending: &Ending, is_cancelled: bool, reporter: &Reporter) -> Outcome {
    let Ending::Finished(standing) = ending else {
        reporter
            .note("the nodes go on\nhint: the same command comes back to them; with --cancel it ends them");
        return Outcome::CouldNotRun;
    };
    let failed: Vec<String> = standing.failed().iter().map(u32::to_string).collect();
    if failed.is_empty() || is_cancelled {
        return Outcome::Done;
    }
    reporter.note(&format!(
        "nodes that failed: {}\nhint: the same command runs them again, and they go on with what they have delivered",
        failed.join(", ")
    ));
    Outcome::CouldNotRun
}

/// What identifies the fleet that runs a request.
///
/// # Errors
/// When the request is impossible, as nodes would find out.
fn id_of(request: &Request) -> Result<String> {
    let mut first = request.clone();
    first.on_node(Node { number: 1, of: 1 });
    first.check()?;
    Ok(first.node.map(|node| node.fleet).unwrap_or_default())
}

/// What is submitted: what was before, with more nodes if more are wanted now and may join, and those again that failed; all again with
/// another budget, once they have ended.
fn submitted(
    folder: &FleetFolder,
    scheduler: &dyn Scheduler,
    arguments: &FleetArguments,
    command: Vec<String>,
    may_grow: bool,
    reporter: &Reporter,
) -> Result<Submission> {
    for job in recover(folder, scheduler)? {
        reporter.note(&format!(
            "found {} job {job}, which an earlier command submitted before it was killed",
            scheduler.name()
        ));
    }
    let Some(before) = folder.submission()? else {
        let Some(nodes) = arguments.nodes else {
            bail!(
                "--fleet takes the number of machines, and there is no fleet to come back to\nhint: add --nodes N"
            )
        };
        if arguments.cancel {
            bail!("{} has no job that could be ended\nhint: leave out --cancel", folder.path().display());
        }
        return order(folder, scheduler, arguments, nodes, (1..=nodes).collect(), command, reporter);
    };
    // As with one machine, another budget is more time.
    let wants_more = may_grow && command::differ_in_budget(&before.command, &command);
    if before.command != command && !wants_more {
        bail!(
            "the fleet of this store runs another command: {}\nhint: give the same command, with --nodes, --budget and --cancel as you like, or another --store",
            before.command.join(" ")
        );
    }
    let nodes = arguments.nodes.unwrap_or(before.nodes).max(before.nodes);
    if nodes > before.nodes && !may_grow {
        bail!(
            "what is counted is shared out among {} nodes, and no more can join\nhint: leave out --nodes, or begin again with another --store",
            before.nodes
        );
    }
    let due = if arguments.cancel {
        BTreeSet::new()
    } else {
        due(&before, &before.elements(folder, scheduler)?, nodes, wants_more)?
    };
    if due.is_empty() {
        reporter.note(&format!(
            "back at {} job {} of {}",
            before.scheduler,
            before.job_names(),
            before.submitted_at
        ));
        return Ok(before);
    }
    order(folder, scheduler, arguments, nodes, due, command, reporter)
}

/// The nodes that are to be submitted: all if more is wanted of nodes that have ended, else those that failed and those that join.
fn due(before: &Submission, elements: &[Element], nodes: u32, wants_more: bool) -> Result<BTreeSet<u32>> {
    if !wants_more {
        let failed = elements.iter().filter(|element| element.state.has_failed()).map(|element| element.node);
        return Ok(failed.chain(before.nodes + 1..=nodes).collect());
    }
    if let Some(busy) = elements.iter().find(|element| !element.state.has_ended()) {
        bail!(
            "node {} has not ended, and its command is {}\nhint: the same command comes back to it; when all nodes have ended, another --budget lets them measure on",
            busy.node,
            before.command.join(" ")
        );
    }
    Ok((1..=nodes).collect())
}

/// Submits these nodes.
fn order(
    folder: &FleetFolder,
    scheduler: &dyn Scheduler,
    arguments: &FleetArguments,
    nodes: u32,
    submitted: BTreeSet<u32>,
    command: Vec<String>,
    reporter: &Reporter,
) -> Result<Submission> {
    folder.create(&std::env::current_exe().context("this program does not know its own file")?)?;
    let count = submitted.len();
    let order = Order {
        nodes,
        submitted,
        command,
        options: arguments.sbatch.as_ref().map(|words| words.0.clone()).unwrap_or_default(),
        submitted_at: jiff::Timestamp::now().to_string(),
    };
    let submission = submit(folder, scheduler, &order)?;
    let nodes = if count == 1 { "node" } else { "nodes" };
    reporter.note(&format!(
        "submitted {count} {nodes}: {} job {}",
        submission.scheduler,
        submission.job_names()
    ));
    Ok(submission)
}

/// Merges what nodes delivered, and judges all there is. What contradicts the rest is told and left out.
fn judge(store: &mut Store, collected: &[Collected], fleet: &str, reporter: &Reporter) -> Result<Judged> {
    let open = |delivery: &Collected| {
        let opened = Store::open_read_only(&delivery.path);
        opened.with_context(|| format!("cannot take what node {} delivered", delivery.node))
    };
    let delivered: Vec<Store> = collected.iter().map(open).collect::<Result<_>>()?;
    if store.merge_all(&delivered).is_err() {
        for (delivery, delivered) in collected.iter().zip(&delivered) {
            if let Err(error) = store.merge(delivered) {
                reporter.note(&format!("node {} is left out for now: {error}", delivery.node));
            }
        }
    }
    let delivered = Delivered::of(store, fleet)?;
    let results = delivered.results();
    Ok(Judged { decided: results.decided(), rounds: results.rounds() })
}

/// What the user has been shown of the nodes.
#[derive(Default)]
struct Shown {
    line: String,
}

impl Shown {
    /// Tells what is new.
    fn tell(&mut self, standing: &Standing, reporter: &Reporter) {
        for news in &standing.news {
            reporter.note(news);
        }
        let line = line(standing);
        if line != self.line {
            reporter.note(&line);
            self.line = line;
        }
    }
}

/// E.g. `2 running, 6 waiting; rounds 1: 5, 2: 4; decided 3 steps`.
fn line(standing: &Standing) -> String {
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    for element in &standing.elements {
        *states.entry(status::word(element.state)).or_default() += 1;
    }
    let states: Vec<String> = states.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let rounds: Vec<String> =
        standing.nodes.iter().filter_map(|node| Some(format!("{}: {}", node.node, node.rounds?))).collect();
    let mut parts = vec![format!("nodes: {}", states.join(", "))];
    if !rounds.is_empty() {
        parts.push(format!("rounds {}", rounds.join(", ")));
    }
    if !standing.decided.is_empty() {
        parts.push(format!("decided {}", standing.decided.len()));
    }
    parts.join("; ")
}
