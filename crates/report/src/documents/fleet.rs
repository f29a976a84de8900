//! What several machines found together.

use basecase_analysis::{Fleet, MachineKind};

use super::Block;
use crate::tables::fleet::{nodes, steps};
use crate::tables::grouped;
use crate::words::{fleet_notes, fleet_sentences, machine, nodes as count_of_nodes, standing_out};

/// The whole answer: sentences, then for each kind of machine the steps and the nodes.
pub(crate) fn compose(fleet: &Fleet<'_>) -> Vec<Block> {
    let Some(first) = fleet.kinds.first() else {
        return vec![Block::Note("No node has delivered anything yet.".to_owned())];
    };
    let mut blocks = vec![Block::Title(title(fleet, first))];
    if fleet.kinds.len() == 1 {
        blocks.push(Block::List(fleet_sentences(first)));
    }
    let notes = fleet_notes(fleet);
    if !notes.is_empty() {
        blocks.push(Block::List(notes));
    }
    for kind in &fleet.kinds {
        blocks.push(Block::Heading(format!(
            "{}: {}",
            count_of_nodes(kind.members.len()),
            machine(&kind.experiment().host)
        )));
        blocks.extend(of_kind(kind, fleet.kinds.len() > 1));
    }
    blocks
}

/// The name of the experiment, and how many nodes measured it.
pub(crate) fn title(fleet: &Fleet<'_>, first: &MachineKind<'_>) -> String {
    let experiment = first.experiment();
    let rows = grouped(experiment.loaded_rows);
    let nodes = count_of_nodes(fleet.nodes());
    format!("{}: {}, {rows} rows, {nodes}", experiment.name, experiment.workload)
}

/// What the nodes of one kind found.
fn of_kind(kind: &MachineKind<'_>, has_others: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(refusal) = &kind.refusal {
        blocks.push(Block::Note(format!("The rounds cannot be judged: {refusal}")));
    }
    if has_others {
        blocks.push(Block::List(fleet_sentences(kind)));
    }
    blocks.extend(kind.contenders().filter_map(|candidate| steps(kind, candidate)).map(Block::Table));
    let odd = standing_out(kind);
    if !odd.is_empty() {
        blocks.push(Block::List(odd));
    }
    blocks.push(Block::Table(nodes(kind)));
    blocks
}

#[cfg(test)]
mod tests {
    use basecase_analysis::{Fleet, fixture};

    fn told(effects: &[f64]) -> String {
        let nodes = fixture::fleet(effects, 6);
        let answer = crate::fleet(&Fleet::of(&nodes));
        let text = answer.document.text(false);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        text
    }

    #[test]
    fn six_nodes_tell_of_the_next_machine() {
        insta::assert_snapshot!(told(&[-0.06, -0.055, -0.065, -0.06, -0.05, -0.061]));
    }

    #[test]
    fn two_nodes_tell_of_themselves() {
        insta::assert_snapshot!(told(&[-0.06, -0.055]));
    }

    #[test]
    fn a_node_that_stands_out_is_named() {
        let text = told(&[-0.06, -0.055, -0.065, -0.06, 0.10, -0.061]);
        assert!(text.contains("node 5 stands out"), "{text}");
        assert!(text.contains("  yes"), "{text}");
    }

    #[test]
    fn kinds_of_machines_are_told_apart() {
        let mut nodes = fixture::fleet(&[-0.06, -0.055, 0.05], 6);
        let host = &mut nodes[2].0.host;
        (host.id, host.kernel) = ("other".to_owned(), "6.12.1".to_owned());
        let answer = crate::fleet(&Fleet::of(&nodes));
        insta::assert_snapshot!(answer.document.text(false));
        insta::assert_snapshot!(answer.json);
    }

    #[test]
    fn the_order_of_nodes_does_not_matter() {
        let mut nodes = fixture::fleet(&[-0.06, -0.055, 0.05, 0.01, -0.02, 0.0], 6);
        let told = crate::fleet(&Fleet::of(&nodes)).json;
        nodes.reverse();
        assert_eq!(crate::fleet(&Fleet::of(&nodes)).json, told);
    }

    #[test]
    fn a_fleet_without_results_says_so() {
        assert!(crate::fleet(&Fleet::of(&[])).document.text(false).contains("No node has delivered"));
    }
}
