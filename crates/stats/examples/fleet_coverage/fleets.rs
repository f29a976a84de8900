//! Fleets whose truth is known, from a seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What one comparison on a fleet is like. Effects and standard deviations are logarithms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Truth {
    /// δ: the effect for the kind of machine.
    pub(crate) effect: f64,
    /// ω: how far effects scatter between nodes.
    pub(crate) omega: f64,
    /// How far rounds of one load of one node scatter.
    pub(crate) sd: f64,
    /// How far loads of one node scatter.
    pub(crate) load_sd: f64,
    /// How many rounds of a node begin with one load.
    pub(crate) rounds_of_load: usize,
    /// How many nodes there are.
    pub(crate) nodes: usize,
    /// How many rounds each has.
    pub(crate) rounds: usize,
}

/// One node, with what is measured on it.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// The effect on this node.
    pub(crate) effect: f64,
    /// Of each round when it ended, in seconds, the number of its load, and its effect.
    pub(crate) rounds: Vec<(f64, u32, f64)>,
}

/// Random numbers.
pub(crate) struct Draws(Xoshiro256PlusPlus);

impl Draws {
    /// Those of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        Draws(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform in (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal, by the method of Box and Muller (1958).
    fn gaussian(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
    }

    /// The nodes of a fleet. They begin within half a minute; their rounds take about a minute, by up to a tenth more or less on one node than
    /// on another, and in one round than in another.
    pub(crate) fn fleet(&mut self, truth: &Truth) -> Vec<Node> {
        (0..truth.nodes).map(|_| self.node(truth)).collect()
    }

    fn node(&mut self, truth: &Truth) -> Node {
        let effect = truth.effect + truth.omega * self.gaussian();
        let round_s = self.minute();
        let (mut ended_s, mut luck) = (30.0 * self.uniform(), 0.0);
        let mut round = |number: usize| {
            if number.is_multiple_of(truth.rounds_of_load) {
                luck = truth.load_sd * self.gaussian();
            }
            ended_s += round_s / 60.0 * self.minute();
            (ended_s, (number / truth.rounds_of_load) as u32, effect + luck + truth.sd * self.gaussian())
        };
        let rounds = (0..truth.rounds).map(&mut round).collect();
        Node { effect, rounds }
    }

    /// Seconds between 54 and 66.
    fn minute(&mut self) -> f64 {
        54.0 + 12.0 * self.uniform()
    }
}

/// The nodes with the first rounds alone that ended, as many on all of them.
pub(crate) fn first(nodes: &[Node], rounds: usize) -> Vec<Node> {
    let mut ends: Vec<f64> =
        nodes.iter().flat_map(|node| node.rounds.iter().map(|(ended_s, ..)| *ended_s)).collect();
    ends.sort_by(f64::total_cmp);
    let until = ends.get(rounds).copied().unwrap_or(f64::INFINITY);
    let before = |node: &Node| Node {
        rounds: node.rounds.iter().copied().filter(|(ended_s, ..)| *ended_s < until).collect(),
        ..*node
    };
    nodes.iter().map(before).collect()
}

/// The effect on these nodes, each with the weight of its rounds.
pub(crate) fn effect_on(nodes: &[Node]) -> f64 {
    let rounds: usize = nodes.iter().map(|node| node.rounds.len()).sum();
    nodes.iter().map(|node| node.rounds.len() as f64 * node.effect).sum::<f64>() / rounds as f64
}
