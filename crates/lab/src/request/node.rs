//! One machine of several that measure one experiment.

use basecase_model::{FleetNode, hexadecimal};
use sha2::{Digest, Sha256};

use super::Request;

/// More nodes than any fleet has.
const MOST: u32 = 10_000;

/// Where a scheduler tells the number of a node: the variable, the one that says where it begins to count, and where it usually does.
const NUMBERED_BY: [(&str, Option<&str>, u32); 2] =
    [("SLURM_ARRAY_TASK_ID", Some("SLURM_ARRAY_TASK_MIN"), 1), ("JOB_COMPLETION_INDEX", None, 0)];

/// One node of a fleet, such as the third of eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Its number, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Node {
    /// Reads `3/8`, or `auto/8`, whose number a scheduler tells in `SLURM_ARRAY_TASK_ID` or `JOB_COMPLETION_INDEX`.
    ///
    /// # Errors
    /// A message for people, if it is neither.
    pub fn read(text: &str) -> Result<Node, String> {
        Node::read_with(text, |name| std::env::var(name).ok())
    }

    fn read_with(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Node, String> {
        let wrong = || "write the number of the node and how many there are, as in 3/8, or auto/8".to_owned();
        let (number, of) = text.trim().split_once('/').ok_or_else(wrong)?;
        let of: u32 = of.parse().map_err(|_| wrong())?;
        if !(1..=MOST).contains(&of) {
            return Err(format!("a fleet has 1 to {MOST} nodes"));
        }
        let number = match number {
            "auto" => told(variable)?,
            number => number.parse().map_err(|_| wrong())?,
        };
        if (1..=of).contains(&number) {
            Ok(Node { number, of })
        } else {
            Err(format!("there is no node {number} of {of}: they are numbered from 1"))
        }
    }

    /// The seed of this node's draws, from that of the experiment: what all nodes drew alike would be in no interval.
    fn seed(self, experiment: u64) -> u64 {
        let digest = Sha256::digest(format!("{experiment} {}", self.number));
        // Short enough to be typed again.
        digest.iter().take(4).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }

    /// This node's part of `count` things that are shared out, as a range: parts differ by one thing at most.
    fn share(self, count: usize) -> std::ops::Range<usize> {
        let end = |nodes: u32| count * nodes as usize / self.of as usize;
        end(self.number - 1)..end(self.number)
    }

    /// This node's piece of a course of `count` candidates, as a range. Neighbouring pieces share an end, so that no change falls between them.
    /// Empty where there are more nodes than steps from candidate to candidate.
    pub fn piece(self, count: usize) -> std::ops::Range<usize> {
        let own = self.share(count.saturating_sub(1));
        if own.is_empty() { own } else { own.start..own.end + 1 }
    }
}

/// The number that a scheduler tells, from 1.
fn told(variable: impl Fn(&str) -> Option<String>) -> Result<u32, String> {
    let number = |name: &str| variable(name).and_then(|value| value.trim().parse::<u32>().ok());
    let from_one = |(name, first, usual): &(&str, Option<&str>, u32)| {
        let first = first.and_then(&number).unwrap_or(*usual);
        Some(number(name)?.saturating_sub(first) + 1)
    };
    NUMBERED_BY.iter().find_map(from_one).ok_or_else(|| {
        "auto takes the number from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, and neither is set"
            .to_owned()
    })
}

/// What a node of a fleet counts: a share of the candidates, each beside the base case, or a share of the steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Share {
    /// All candidates that the request has left, on all steps.
    Candidates,
    /// These steps, by name, on all candidates.
    Steps(Vec<String>),
    /// There are more nodes than things to count, and nothing is left for this one.
    Nothing,
}

impl Request {
    /// Takes the share of one node of what is counted. Counts are exact, so that no two nodes need to count the same, but for the base case where
    /// candidates are shared out.
    pub fn take_share(&mut self, node: Node) -> Share {
        let contenders = self.candidates.len().saturating_sub(1);
        if contenders >= node.of as usize {
            let own = node.share(contenders);
            let is_own = |place: usize| place == 0 || own.contains(&(place - 1));
            let mut place = 0..;
            self.candidates.retain(|_| place.next().is_some_and(is_own));
            return Share::Candidates;
        }
        let steps = self.workload.outlines().into_iter().filter(|step| step.facts.is_compared());
        let names: Vec<String> = steps.map(|step| step.facts.name).collect();
        match &names[node.share(names.len())] {
            [] => Share::Nothing,
            own => Share::Steps(own.to_vec()),
        }
    }

    /// Makes the request that of one node, which measures rounds with draws of its own, unless it counts.
    pub fn on_node(&mut self, node: Node) {
        self.protocol = std::mem::take(&mut self.protocol).in_rounds();
        self.node = Some(FleetNode { fleet: self.fleet(), number: node.number, of: node.of });
        if !self.protocol.is_counts() {
            self.workload = self.workload.with_seed(node.seed(self.workload.seed()));
        }
    }

    /// What identifies the experiment that all nodes measure a part of: what is asked for, whatever the machine.
    fn fleet(&self) -> String {
        let steps = self.workload.outlines().len();
        let asked = serde_json::json!({
            "candidates": self.candidates.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "workload": self.workload.name(),
            "sizes": (0..steps).map(|step| self.workload.cell_sizes(step)).collect::<Vec<_>>(),
            "settings": self.extra_settings,
            "settle": self.settle,
            "protocol": self.protocol.cell_parameters(),
        });
        hexadecimal(&Sha256::digest(asked.to_string())[..6])
    }
}

/// The most rounds that a node measures of an experiment that may have so many: those of all nodes count together.
pub(crate) fn rounds_of_node(all: u32, node: Option<&FleetNode>) -> u32 {
    node.map_or(all, |node| all.div_ceil(node.of.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, variables: &[(&str, &str)]) -> Result<(u32, u32), String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Node::read_with(text, variable).map(|node| (node.number, node.of))
    }

    #[test]
    fn a_node_is_numbered_by_the_user_or_by_a_scheduler() {
        assert_eq!(read("3/8", &[("SLURM_ARRAY_TASK_ID", "5")]), Ok((3, 8)));
        assert_eq!(
            read("auto/8", &[("SLURM_ARRAY_TASK_ID", "5"), ("SLURM_ARRAY_TASK_MIN", "1")]),
            Ok((5, 8))
        );
        assert_eq!(
            read("auto/8", &[("SLURM_ARRAY_TASK_ID", "0"), ("SLURM_ARRAY_TASK_MIN", "0")]),
            Ok((1, 8))
        );
        assert_eq!(read("auto/8", &[("SLURM_ARRAY_TASK_ID", "8")]), Ok((8, 8)));
        assert_eq!(read("auto/8", &[("JOB_COMPLETION_INDEX", "7")]), Ok((8, 8)));
        for (text, variables, problem) in [
            ("auto/8", &[][..], "neither is set"),
            ("auto/8", &[("JOB_COMPLETION_INDEX", "8")], "no node 9 of 8"),
            ("0/8", &[], "no node 0 of 8"),
            ("9/8", &[], "no node 9 of 8"),
            ("1/0", &[], "1 to 10000"),
            ("3", &[], "as in 3/8"),
            ("x/8", &[], "as in 3/8"),
            ("3/8/2", &[], "as in 3/8"),
        ] {
            let refused = read(text, variables).unwrap_err();
            assert!(refused.contains(problem), "{text}: {refused}");
        }
    }

    #[test]
    fn every_node_draws_for_itself() {
        let seeds: std::collections::BTreeSet<u64> =
            (1..=200).map(|number| Node { number, of: 200 }.seed(1)).collect();
        assert_eq!(seeds.len(), 200);
        assert_ne!(Node { number: 1, of: 2 }.seed(1), Node { number: 1, of: 2 }.seed(2));
        assert_eq!(Node { number: 1, of: 2 }.seed(1), Node { number: 1, of: 9 }.seed(1), "nodes may join");
    }

    #[test]
    fn shares_are_all_there_is_and_differ_by_one_at_most() {
        for (count, of) in [(0, 1), (1, 3), (10, 3), (11, 4), (42, 8), (3, 3)] {
            let shares: Vec<_> = (1..=of).map(|number| Node { number, of }.share(count)).collect();
            let all: Vec<usize> = shares.iter().cloned().flatten().collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
            let sizes = || shares.iter().map(std::ops::Range::len);
            assert!(sizes().max() <= sizes().min().map(|least| least + 1), "{shares:?}");
        }
    }

    #[test]
    fn pieces_share_their_ends() {
        let pieces = |count: usize, of: u32| -> Vec<(usize, usize)> {
            let pieces = (1..=of).map(|number| Node { number, of }.piece(count));
            pieces.map(|piece| (piece.start, piece.end)).collect()
        };
        assert_eq!(pieces(9, 1), [(0, 9)]);
        assert_eq!(pieces(9, 2), [(0, 5), (4, 9)]);
        assert_eq!(pieces(11, 3), [(0, 4), (3, 7), (6, 11)]);
        assert_eq!(pieces(3, 3), [(0, 0), (0, 2), (1, 3)]);
        assert_eq!(pieces(0, 1), [(0, 0)]);
    }

    #[test]
    fn rounds_are_those_of_all_nodes_together() {
        let node = FleetNode { fleet: "f".to_owned(), number: 2, of: 8 };
        assert_eq!((rounds_of_node(40, Some(&node)), rounds_of_node(41, Some(&node))), (5, 6));
        assert_eq!((rounds_of_node(3, Some(&node)), rounds_of_node(40, None)), (1, 40));
    }
}
