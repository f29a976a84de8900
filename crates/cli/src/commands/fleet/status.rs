//! `fleet status`: the nodes of a store's fleet.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use basecase_analysis::fleet_of;
use basecase_fleet::{Collected, Element, ElementState, FleetFolder, Slurm, Submission, collect};
use basecase_model::printable_json;
use basecase_store::Store;
use serde::Serialize;

use super::results::{Delivered, Results};
use crate::output;

/// The word for what a node does.
pub(super) fn word(state: ElementState) -> &'static str {
    match state {
        ElementState::Waiting => "waiting",
        ElementState::Running => "running",
        ElementState::Requeued => "requeued",
        ElementState::Done => "done",
        ElementState::Failed { .. } => "failed",
        ElementState::Cancelled => "cancelled",
        ElementState::Gone => "gone",
    }
}

#[derive(Serialize)]
struct Status {
    scheduler: String,
    jobs: Vec<String>,
    submitted_at: String,
    nodes: Vec<NodeStatus>,
    decided: Vec<String>,
    answer: Vec<String>,
}

#[derive(Serialize)]
struct NodeStatus {
    node: u32,
    state: &'static str,
    host: Option<String>,
    rounds: Option<u32>,
    /// The scheduler's reason, or the last words of the node's log.
    because: Option<String>,
}

pub(super) fn run(store: &Path, json: bool) -> Result<()> {
    let Some(folder) = FleetFolder::open(store) else {
        bail!(
            "{} has no fleet: there is no folder {}\nhint: name the store that --fleet was given; `basecase report` shows stores that were merged by hand",
            store.display(),
            FleetFolder::beside(store).path().display()
        );
    };
    let submission = folder
        .submission()?
        .context("nothing was submitted for this store yet\nhint: the command with --fleet submits it")?;
    // Also what the coordinator has not collected yet, in a store of our own: it may run right now.
    let place = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut all = Store::create_or_open(&place.path().join("all.sqlite"))?;
    let mut stores = Vec::new();
    if store.exists() {
        stores.push(Store::open_read_only(store)?);
    }
    let collected: Vec<Option<Collected>> =
        (1..=submission.nodes).map(|node| collect(&folder, node, None)).collect::<Result<_, _>>()?;
    for delivery in collected.iter().flatten() {
        stores.push(Store::open_read_only(&delivery.path)?);
    }
    all.merge_all(&stores)?;
    let fleet = all.experiments()?.iter().rev().find_map(|one| fleet_of(one).map(str::to_owned));
    let delivered = fleet.map(|fleet| Delivered::of(&all, &fleet)).transpose()?;
    let results = delivered.as_ref().map(Delivered::results);
    let elements = submission.elements(&folder, &Slurm::of_system())?;
    let status = status(&folder, &submission, &elements, results.as_ref());
    if json {
        let status = serde_json::to_value(&status).context("cannot write the status as JSON")?;
        return output::print_report(&printable_json(&format!("{status:#}\n")));
    }
    output::print(&text(&status))
}

fn status(
    folder: &FleetFolder,
    submission: &Submission,
    elements: &[Element],
    results: Option<&Results<'_>>,
) -> Status {
    let rounds = results.map(Results::rounds).unwrap_or_default();
    let node = |element: &Element| {
        let Element { node, state, host, reason } = element.clone();
        let has_failed = matches!(state, ElementState::Failed { .. } | ElementState::Gone);
        NodeStatus {
            node,
            state: word(state),
            host,
            rounds: rounds.get(&node).copied(),
            because: if has_failed { folder.last_words(node).or(reason) } else { reason },
        }
    };
    Status {
        scheduler: submission.scheduler.clone(),
        jobs: submission.jobs.clone(),
        submitted_at: submission.submitted_at.clone(),
        nodes: elements.iter().map(node).collect(),
        decided: results.map(|results| results.decided().into_iter().collect()).unwrap_or_default(),
        answer: results.map(Results::sentences).unwrap_or_default(),
    }
}

fn text(status: &Status) -> String {
    let mut text = format!(
        "{} job {} of {}\n\nnode  state      rounds  host                  because\n",
        status.scheduler,
        status.jobs.join(", "),
        status.submitted_at
    );
    for NodeStatus { node, state, host, rounds, because } in &status.nodes {
        let rounds = rounds.map_or_else(|| "–".to_owned(), |rounds| rounds.to_string());
        let line = format!(
            "{node:>4}  {state:<9}  {rounds:>6}  {:<20}  {}",
            host.as_deref().unwrap_or("–"),
            because.as_deref().unwrap_or("")
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if !status.decided.is_empty() {
        let _ = writeln!(text, "\ndecided: {}", status.decided.join(", "));
    }
    for sentence in &status.answer {
        let _ = writeln!(text, "\n{sentence}");
    }
    text
}
