//! Tables of an experiment on several machines.

use basecase_analysis::{Effect, FleetJudged, MachineKind, Member};
use basecase_stats::{FleetDecision, Interval};

use super::answer::compact;
use super::relative::decided;
use super::{Column, MISSING, Row, Table, TableCell};
use crate::words::{effect_on_nodes, label, percent_range, percent_text};

/// How to read what a kind of machine found.
const READING: &str = "Change in throughput, in per cent of the base case. The verdict is about these nodes.";
/// The same where machines that were not measured are told of.
const OF_KIND: &str = "The kind's change is what such machines have on average, and the next machine's is where one that was not measured \
                       probably lies.";

/// What the nodes of one kind found about a contender, a row for each step; `None` if nothing is judged.
pub(crate) fn steps(kind: &MachineKind<'_>, candidate: usize) -> Option<Table> {
    let judged = kind.judged(candidate);
    let has_kind = judged.iter().any(|judged| judged.found.kind.is_some());
    let row = |judged: &FleetJudged<'_>| {
        let FleetDecision { decision, kind: of_kind, .. } = judged.found;
        let change = effect_on_nodes(judged).map_or_else(|| MISSING.to_owned(), |effect| compact(&effect));
        let mut cells = vec![
            TableCell::marked(change, decided(decision.verdict)),
            TableCell::plain(decision.verdict.as_str()),
            TableCell::plain(differ(judged.found)),
        ];
        if has_kind {
            let [change, next] = match of_kind {
                Some(kind) => [with_half(kind.estimate, kind.interval), percent_range(kind.prediction)],
                None => [MISSING.to_owned(), MISSING.to_owned()],
            };
            cells.extend([TableCell::plain(change), TableCell::plain(next)]);
        }
        Row { step: Some(judged.step), ..Row::new(label(kind, judged.step), cells) }
    };
    let mut columns = vec![
        Column::numbers("change %", "on these nodes, with half the width of its interval"),
        Column::words("verdict"),
        Column::words("nodes differ"),
    ];
    if has_kind {
        columns.push(Column::numbers("this kind %", "mean over all machines of this kind"));
        columns.push(Column::numbers("next machine %", "prediction interval"));
    }
    let name = kind.experiment().candidates.get(candidate).map(|facts| facts.name.0.clone());
    (!judged.is_empty()).then(|| Table {
        caption: name.unwrap_or_default(),
        reading: if has_kind { format!("{READING} {OF_KIND}") } else { READING.to_owned() },
        corner: "step",
        columns,
        rows: judged.iter().map(row).collect(),
        ..Table::default()
    })
}

/// Whether the nodes differ in their effects.
fn differ(found: &FleetDecision) -> String {
    match &found.heterogeneity {
        None => MISSING.to_owned(),
        Some(found) if found.hosts_differ => "yes".to_owned(),
        Some(_) => "not for certain".to_owned(),
    }
}

fn with_half(estimate: f64, interval: Interval) -> String {
    compact(&Effect { ratio: estimate.exp(), interval: Some([interval.lower.exp(), interval.upper.exp()]) })
}

/// The nodes of a kind, with what each of them found about the steps on which they differ, or else about none.
pub(crate) fn nodes(kind: &MachineKind<'_>) -> Table {
    let contenders = || kind.contenders().flat_map(|candidate| kind.judged(candidate));
    let differing: Vec<FleetJudged<'_>> = contenders()
        .filter(|judged| judged.found.heterogeneity.as_ref().is_some_and(|found| found.hosts_differ))
        .take(MOST_STEPS)
        .collect();
    let row = |(place, member): (usize, &Member<'_>)| {
        let mut cells = vec![
            TableCell::plain(member.rounds().to_string()),
            TableCell::plain(member.failed().to_string()),
            TableCell::plain(&member.experiment.id),
        ];
        let own = |judged: &FleetJudged<'_>| {
            let node = judged.found.nodes.get(place).and_then(Option::as_ref);
            TableCell::plain(
                node.map_or_else(|| MISSING.to_owned(), |node| percent_text(node.estimate.exp(), 1)),
            )
        };
        cells.extend(differing.iter().map(own));
        Row::new(format!("node {}", member.number), cells)
    };
    let mut columns = vec![
        Column::numbers("rounds", "that it has measured, in whole or in part"),
        Column::numbers("failed", "trials that failed"),
        Column::words("experiment"),
    ];
    columns.extend(differing.iter().map(|judged| {
        Column::numbers(format!("{} %", label(kind, judged.step)), "change in throughput on this node alone")
    }));
    Table {
        caption: "Nodes".to_owned(),
        corner: "node",
        columns,
        rows: kind.members.iter().enumerate().map(row).collect(),
        ..Table::default()
    }
}

/// Steps that the table of nodes has room for.
const MOST_STEPS: usize = 4;
