//! An experiment on several machines as a folder of pages: one that tells what all nodes found, and the report of each node in a folder.

use std::path::{Path, PathBuf};

use basecase_analysis::{Effect, Fleet, FleetJudged, MachineKind};
use basecase_stats::Interval;
use maud::{Markup, html};

use super::folder::Folder;
use super::forest::{self, NodeLine};
use super::shell::{Frame, framed, link};
use super::{INDEX, STYLE, table};
use crate::documents::fleet::title;
use crate::error::Error;
use crate::tables;
use crate::words::{EffectWords as _, fleet_notes, fleet_sentences, label, machine, nodes, standing_out};

/// Writes the first page and returns its path. The reports of nodes are written into [`folder_of`] each.
pub(crate) fn write(fleet: &Fleet<'_>, out_dir: &Path) -> Result<PathBuf, Error> {
    let mut folder = Folder::of_our_own(out_dir)?;
    folder.write_asset(STYLE.0, STYLE.1)?;
    folder.write(INDEX, &page(fleet).into_string())?;
    let first = folder.file(INDEX);
    folder.finish()?;
    Ok(first)
}

/// The folder of one node's report, below that of the fleet's.
pub(crate) fn folder_of(number: u32) -> String {
    format!("node-{number}")
}

fn page(fleet: &Fleet<'_>) -> Markup {
    let Some(first) = fleet.kinds.first() else { return Markup::default() };
    let experiment = first.experiment();
    let members = fleet.kinds.iter().flat_map(|kind| &kind.members);
    let links = html! {
        (link(INDEX, "All nodes", true))
        @for member in members {
            (link(&format!("{}/{INDEX}", folder_of(member.number)), &format!("Node {}", member.number), false))
        }
    };
    let content = html! {
        @if fleet.kinds.len() == 1 {
            section #answer { @for sentence in fleet_sentences(first) { p.lead { (sentence) } } }
        }
        @for note in fleet_notes(fleet) { p.note { (note) } }
        @for kind in &fleet.kinds { (of_kind(kind, fleet.kinds.len() > 1)) }
    };
    let foot = html! {
        "basecase " (experiment.basecase_version) ", protocol revision " (experiment.protocol_revision)
        ". Started " (experiment.created_at) "."
    };
    framed(&Frame {
        title: &title(fleet, first),
        charts: false,
        is_overview: true,
        links,
        content: &content,
        foot,
    })
}

/// What the nodes of one kind found.
fn of_kind(kind: &MachineKind<'_>, has_others: bool) -> Markup {
    let experiment = kind.experiment();
    html! {
        section {
            h2 { (nodes(kind.members.len())) ": " (machine(&experiment.host)) }
            @if let Some(refusal) = &kind.refusal { p.note { "The rounds cannot be judged: " (refusal) } }
            @if has_others { @for sentence in fleet_sentences(kind) { p.lead { (sentence) } } }
            @for candidate in kind.contenders() { (of_contender(kind, candidate)) }
            @let odd = standing_out(kind);
            @if !odd.is_empty() { ul { @for line in odd { li { (line) } } } }
            (table::unlinked(experiment, &tables::fleet::nodes(kind)))
        }
    }
}

/// The steps of a contender: a forest plot of all, the table, and below it each node's own effect.
fn of_contender(kind: &MachineKind<'_>, candidate: usize) -> Markup {
    let judged = kind.judged(candidate);
    let name = kind.experiment().candidates.get(candidate).map_or("", |facts| &facts.name.0);
    let plot = forest::of_decisions(
        &html! { (name) },
        judged.iter().map(|judged| (html! { (label(kind, judged.step)) }, &judged.found.decision)).collect(),
    );
    html! {
        @if let Some(plot) = plot { (plot) }
        @if let Some(found) = tables::fleet::steps(kind, candidate) {
            (table::unlinked(kind.experiment(), &found))
        }
        @if kind.members.len() > 1 {
            details {
                summary { "Each node by itself" }
                @for judged in &judged { (of_step(kind, judged)) }
            }
        }
    }
}

/// The effect on each node, and where one that was not measured probably lies.
fn of_step(kind: &MachineKind<'_>, judged: &FleetJudged<'_>) -> Markup {
    let nodes = kind.members.iter().zip(&judged.found.nodes);
    let mut lines: Vec<NodeLine> = nodes
        .filter_map(|(member, found)| {
            let found = found.as_ref()?;
            Some(node_line(format!("node {}", member.number), found.estimate, found.interval))
        })
        .collect();
    if let Some(of_kind) = &judged.found.kind {
        lines.push(node_line("this kind".to_owned(), of_kind.estimate, Some(of_kind.interval)));
        lines.push(node_line("next machine".to_owned(), of_kind.estimate, Some(of_kind.prediction)));
    }
    forest::of_nodes(&html! { (label(kind, judged.step)) }, &lines, judged.found.decision.margin)
}

fn node_line(name: String, estimate: f64, interval: Option<Interval>) -> NodeLine {
    let ends = interval.map(|Interval { lower, upper }| [lower.exp(), upper.exp()]);
    let effect = Effect { ratio: estimate.exp(), interval: ends };
    let value = format!("{} %", effect.percent_text());
    NodeLine { name, estimate, interval, value, range: effect.percent_interval() }
}
