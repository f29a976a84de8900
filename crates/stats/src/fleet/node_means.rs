//! The mean effect of each node, and how well it is known.

use std::collections::BTreeMap;

use super::FleetRound;
use super::sequence::mean_effect;
use crate::load_correlation::shared_variance;
use crate::sample::{SMALLEST_SD, Sample, mean};
use crate::scatter::Scatter;

/// At least this share of the variance of rounds is seen within nodes, however much rounds of one load are said to resemble each other.
const LEAST_SEEN: f64 = 0.1;

/// The mean effects of nodes. Few rounds tell little of the scatter on one node, so it is pooled over all of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeMeans {
    pub(super) nodes: Vec<NodeMean>,
    alike: Vec<Alike>,
    /// Variance of one round within nodes.
    variance: f64,
    /// Degrees of freedom of the variances: rounds less nodes.
    pub(super) freedom: f64,
    rounds: usize,
}

/// The mean effect of one node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NodeMean {
    pub(super) effect: f64,
    /// Variance of it, as an estimate of what this node would come to with more rounds.
    pub(super) variance: f64,
    pub(super) rounds: usize,
}

/// Nodes whose means are known equally well, as those of as many rounds are: they have one weight. What is asked for many values of ω² so takes
/// no longer for many nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Alike {
    variance: f64,
    nodes: f64,
    /// The mean of their effects, and the squares of what the nodes are off it.
    effect: f64,
    squares: f64,
}

/// A mean over nodes with weights 1/(variance + ω²).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WeightedMean {
    pub(super) effect: f64,
    /// The sum of the weights.
    pub(super) weight: f64,
    /// The weighted squares of the deviations of nodes (generalised Q).
    pub(super) q: f64,
}

impl NodeMeans {
    /// Of the rounds of each node, at least one; rounds of one load of a node correlate. `None` if no node has two rounds.
    pub(super) fn of(nodes: &[Vec<FleetRound>], load_correlation: f64) -> Option<Self> {
        let effects = |rounds: &Vec<FleetRound>| rounds.iter().map(|round| round.effect).collect::<Vec<_>>();
        let effects: Vec<Vec<f64>> = nodes.iter().map(effects).collect();
        let Scatter { variance, freedom } = Scatter::of(effects.iter().map(Vec::as_slice))?;
        let shared = |rounds: &Vec<FleetRound>| {
            let loads: Vec<u32> = rounds.iter().map(|round| round.load).collect();
            shared_variance(&loads, load_correlation)
        };
        let shared: Vec<f64> = nodes.iter().map(shared).collect();
        let seen = (1.0 - shared.iter().sum::<f64>() / freedom).max(LEAST_SEEN);
        let variance = variance.max(SMALLEST_SD.powi(2)) / seen;
        let of_node = |(rounds, shared): (&Vec<FleetRound>, &f64)| NodeMean {
            effect: mean_effect(rounds),
            variance: variance * (1.0 + shared) / rounds.len() as f64,
            rounds: rounds.len(),
        };
        let means: Vec<NodeMean> = nodes.iter().zip(&shared).map(of_node).collect();
        Some(NodeMeans {
            alike: alike(&means),
            nodes: means,
            variance,
            freedom,
            rounds: nodes.iter().map(Vec::len).sum(),
        })
    }

    /// Standard deviation of rounds within nodes.
    pub(super) fn sd(&self) -> f64 {
        self.variance.sqrt()
    }

    /// How many nodes have two rounds or more.
    pub(super) fn repeated(&self) -> usize {
        self.nodes.iter().filter(|node| node.rounds > 1).count()
    }

    /// Degrees of freedom between nodes.
    pub(super) fn between(&self) -> f64 {
        self.nodes.len() as f64 - 1.0
    }

    /// The mean with these weights, whose sum is 1, as a sample of all rounds that has its standard error.
    pub(super) fn weighted(&self, weights: &[f64]) -> Sample {
        let nodes = || self.nodes.iter().zip(weights);
        let mean = nodes().map(|(node, weight)| weight * node.effect).sum();
        let variance: f64 = nodes().map(|(node, weight)| weight * weight * node.variance).sum();
        Sample::with_variance(self.rounds, mean, variance * self.rounds as f64, self.freedom)
    }

    /// The mean where effects scatter by ω between nodes, whose square is `between`, and the variances of nodes are so many times as large.
    pub(super) fn mean(&self, between: f64, times: f64) -> WeightedMean {
        let weight = |alike: &Alike| 1.0 / (between + times * alike.variance);
        let all: f64 = self.alike.iter().map(|alike| weight(alike) * alike.nodes).sum();
        let effect =
            self.alike.iter().map(|alike| weight(alike) * alike.nodes * alike.effect).sum::<f64>() / all;
        let squares = |alike: &Alike| alike.squares + alike.nodes * (alike.effect - effect).powi(2);
        let q = self.alike.iter().map(|alike| weight(alike) * squares(alike)).sum();
        WeightedMean { effect, weight: all, q }
    }

    /// The same without the node at this place.
    pub(super) fn without(&self, place: usize) -> NodeMeans {
        let mut others = self.clone();
        others.nodes.remove(place);
        others.alike = alike(&others.nodes);
        others
    }
}

/// The nodes by their variances.
fn alike(nodes: &[NodeMean]) -> Vec<Alike> {
    let mut by_variance: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    nodes.iter().for_each(|node| by_variance.entry(node.variance.to_bits()).or_default().push(node.effect));
    let of_variance = |(variance, effects): (u64, Vec<f64>)| {
        let effect = mean(&effects);
        let squares = effects.iter().map(|own| (own - effect).powi(2)).sum();
        Alike { variance: f64::from_bits(variance), nodes: effects.len() as f64, effect, squares }
    };
    by_variance.into_iter().map(of_variance).collect()
}
