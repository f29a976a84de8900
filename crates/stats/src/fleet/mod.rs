//! Fleets: the effects of one experiment that was measured on several hosts, its nodes.
//!
//! The effect on node h is δ + u_h, where u_h scatters by ω between nodes of a kind; rounds of a node scatter about it. What N nodes make
//! faster is the effect *on these nodes* (fixed effects), which the decision is of. From five nodes on there is also δ, the effect for the
//! *kind* of machine (random effects), and what to expect of a node that was not measured.

mod heterogeneity;
mod kind;
mod node_means;
mod sequence;
#[cfg(test)]
mod tests;

use crate::comparison::{Comparison, ComparisonError};
use crate::decision::Decision;
use crate::interval::Interval;
use crate::judge::Judge;
use crate::load_correlation::load_correlation;
use crate::verdict::Verdict;

use node_means::NodeMeans;
use sequence::Sequence;

/// One round of a comparison on one node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetRound {
    /// When it ended, in seconds since 1970.
    pub ended_s: f64,
    /// The number of the load of the data that it began with. Loads of different nodes are different loads.
    pub load: u32,
    /// The natural logarithm of the ratio of contender to base; larger is better.
    pub effect: f64,
}

/// One step of one contender against the base on all nodes, in one metric.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FleetComparison {
    /// The smallest effect that matters, as a logarithm: ln 1.02 for 2 %.
    pub margin: f64,
    /// The group of steps whose effects scatter alike from node to node.
    pub group: usize,
    /// The rounds of each node in their order, the nodes in the same order in all comparisons; none where a node has none.
    pub nodes: Vec<Vec<FleetRound>>,
}

/// What all nodes tell of one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetDecision {
    /// On the effect on these nodes: the mean over their rounds. Its rounds are those of all nodes together.
    pub decision: Decision,
    /// The effect for the kind of machine; from five nodes with two rounds on.
    pub kind: Option<KindEffect>,
    /// Whether nodes differ; from two nodes with two rounds on.
    pub heterogeneity: Option<Heterogeneity>,
    /// Each node by itself; `None` where it has no round.
    pub nodes: Vec<Option<NodeEffect>>,
}

/// The effect for machines of the kind of the nodes, from all rounds that there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KindEffect {
    /// The verdict by the interval.
    pub verdict: Verdict,
    /// δ, as a logarithm.
    pub estimate: f64,
    /// The interval of δ at the plan's error, without interim analyses.
    pub interval: Interval,
    /// ω: the standard deviation of effects between nodes, that of all comparisons of the group.
    pub omega: f64,
    /// Where the effect on a node that was not measured lies, at the plan's error.
    pub prediction: Interval,
}

/// How far the effects on the nodes differ by more than the scatter of their rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heterogeneity {
    /// Cochran's Q (Cochran 1954).
    pub q: f64,
    /// Its degrees of freedom: nodes less 1.
    pub freedom: f64,
    /// Its p-value, by F since the scatter of rounds is estimated.
    pub p: f64,
    /// The same, adjusted for the number of comparisons.
    pub adjusted_p: f64,
    /// Whether it is a discovery among the family.
    pub hosts_differ: bool,
    /// Where they differ, and there are three or more: the node, from 0, whose effect is off that of the others by more than they differ.
    pub stands_out: Option<usize>,
}

/// What one node tells by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeEffect {
    /// How many rounds it has.
    pub rounds: usize,
    /// Their mean effect, as a logarithm.
    pub estimate: f64,
    /// Student's interval at the plan's error, without interim analyses; from two rounds on.
    pub interval: Option<Interval>,
}

/// What is told of a comparison by all of its nodes.
type Told = ((Decision, Option<KindEffect>), Option<Heterogeneity>);

impl Judge {
    /// Judges a family that was measured on several nodes. The order of the decisions is that of the comparisons. The order of the nodes
    /// does not matter, and rounds count in the order in which they ended. With one node a decision is that of [`Judge::decide`].
    ///
    /// # Errors
    /// When an effect is no logarithm or a margin is not above 0; the message names comparison and round, as they ended.
    pub fn decide_fleet(&self, family: &[FleetComparison]) -> Result<Vec<FleetDecision>, ComparisonError> {
        let sequences: Vec<Sequence> = family.iter().map(Sequence::of).collect();
        for (index, sequence) in sequences.iter().enumerate() {
            sequence.comparison.check(index + 1)?;
        }
        let judge = self.clone().with_load_correlation(self.load_correlation_of(&sequences));
        let series: Vec<_> = sequences.iter().map(|sequence| sequence.series(&judge)).collect();
        let decisions = judge.decide_all(&series);
        let means: Vec<Option<NodeMeans>> =
            sequences.iter().map(|sequence| sequence.means(judge.load_correlation())).collect();
        let groups: Vec<usize> = family.iter().map(|comparison| comparison.group).collect();
        let margins: Vec<f64> = family.iter().map(|comparison| comparison.margin).collect();
        let kinds = kind::of_family(&judge, &means, &groups, &margins);
        let heterogeneities = heterogeneity::of_family(&judge, &means);
        let told = decisions.into_iter().zip(kinds).zip(heterogeneities);
        let decision = |(sequence, ((decision, kind), found)): (&Sequence, Told)| FleetDecision {
            decision,
            kind,
            heterogeneity: found.map(|found| Heterogeneity {
                stands_out: found.stands_out.map(|place| sequence.number_of(place)),
                ..found
            }),
            nodes: sequence.effects(&judge),
        };
        Ok(sequences.iter().zip(told).map(decision).collect())
    }

    /// How much rounds of one load on one node resemble each other: as far as is known, or what this family tells.
    fn load_correlation_of(&self, sequences: &[Sequence]) -> f64 {
        if self.load_correlation() > 0.0 {
            return self.load_correlation();
        }
        let by_node: Vec<Comparison> = sequences.iter().flat_map(Sequence::by_node).collect();
        load_correlation(&by_node)
    }
}
