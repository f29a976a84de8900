//! The rounds of all nodes in the order in which they ended, and the data of interim analyses on them.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::node_means::NodeMeans;
use super::{FleetComparison, FleetRound, NodeEffect};
use crate::comparison::{Comparison, Round};
use crate::interim_data::{Basis, InterimData, spread};
use crate::interval::Interval;
use crate::judge::{Judge, Series};
use crate::load_correlation::design_effect;
use crate::round_conditions::RoundConditions;
use crate::sample::Sample;

/// Up to as many rounds as twice the nodes and this, the scatter of a mean is that of all rounds and not that within nodes: it holds what nodes
/// differ by as well, and so is too large rather than too small, but is known with more degrees of freedom.
const ROUNDS_BESIDES: usize = 4;

/// The rounds of one comparison on all nodes, in the order in which they ended. That order, and so all that follows from it, does not depend
/// on the order of the nodes.
pub(super) struct Sequence {
    /// The rounds, with effects and loads alone; each load of each node has a number of its own.
    pub(super) comparison: Comparison,
    /// The place of the node of each round.
    places: Vec<usize>,
    rounds: Vec<FleetRound>,
    /// By place: the node's number in the comparison.
    numbers: Vec<usize>,
    /// All nodes, with rounds or without.
    nodes: usize,
}

impl Sequence {
    pub(super) fn of(fleet: &FleetComparison) -> Self {
        let in_order = |(number, rounds): (usize, &Vec<FleetRound>)| {
            let mut rounds = rounds.clone();
            rounds.sort_by(|left, right| left.ended_s.total_cmp(&right.ended_s));
            (number, rounds)
        };
        let mut nodes: Vec<(usize, Vec<FleetRound>)> = fleet.nodes.iter().enumerate().map(in_order).collect();
        nodes.retain(|(_, rounds)| !rounds.is_empty());
        nodes.sort_by(|(_, left), (_, right)| by_content(left, right));
        let placed = nodes
            .iter()
            .enumerate()
            .flat_map(|(place, (_, rounds))| rounds.iter().map(move |round| (place, *round)));
        let mut placed: Vec<(usize, FleetRound)> = placed.collect();
        placed.sort_by(|(_, left), (_, right)| left.ended_s.total_cmp(&right.ended_s));
        let loads: BTreeSet<(usize, u32)> =
            placed.iter().map(|(place, round)| (*place, round.load)).collect();
        let loads: Vec<(usize, u32)> = loads.into_iter().collect();
        let round = |(place, round): &(usize, FleetRound)| {
            let load = loads.binary_search(&(*place, round.load)).unwrap_or_else(|at| at);
            plain_round(load as u32, round.effect)
        };
        Sequence {
            comparison: Comparison { rounds: placed.iter().map(round).collect(), margin: fleet.margin },
            places: placed.iter().map(|(place, _)| *place).collect(),
            rounds: placed.into_iter().map(|(_, round)| round).collect(),
            numbers: nodes.into_iter().map(|(number, _)| number).collect(),
            nodes: fleet.nodes.len(),
        }
    }

    /// The number in the comparison of the node at this place.
    pub(super) fn number_of(&self, place: usize) -> usize {
        self.numbers[place]
    }

    /// The first rounds of the nodes, as many together. Nodes without one are left out.
    fn first(&self, rounds: usize) -> Vec<Vec<FleetRound>> {
        let mut nodes = vec![Vec::new(); self.numbers.len()];
        for (place, round) in self.places.iter().zip(&self.rounds).take(rounds) {
            nodes[*place].push(*round);
        }
        nodes.retain(|rounds| !rounds.is_empty());
        nodes
    }

    /// Each node as a comparison of its own.
    pub(super) fn by_node(&self) -> Vec<Comparison> {
        let of_node = |rounds: Vec<FleetRound>| Comparison {
            rounds: rounds.iter().map(|round| plain_round(round.load, round.effect)).collect(),
            margin: self.comparison.margin,
        };
        self.first(self.rounds.len()).into_iter().map(of_node).collect()
    }

    /// The mean effects of all nodes; `None` if none has two rounds.
    pub(super) fn means(&self, load_correlation: f64) -> Option<NodeMeans> {
        NodeMeans::of(&self.first(self.rounds.len()), load_correlation)
    }

    /// The series that is judged: that of one host where one node has rounds.
    pub(super) fn series(&self, judge: &Judge) -> Series<'_> {
        if self.numbers.len() < 2 {
            return Series::of(judge, &self.comparison);
        }
        let analyses = judge.analyses(&self.comparison.rounds);
        let last = analyses.last().copied().unwrap_or(self.rounds.len());
        let data = |rounds: usize| self.interim_data(rounds, last, judge.load_correlation());
        let basis = Basis { has_stalls: false, rounds_each: 1, nodes: self.first(last).len() };
        let means = self.means(judge.load_correlation());
        let effects: Vec<f64> = self.rounds.iter().map(|round| round.effect).collect();
        let sd = means.map(|means| means.sd()).or_else(|| Sample::of(&effects).map(|sample| sample.sd));
        Series::with_data(judge, &self.comparison, analyses.into_iter().map(data).collect(), basis, sd)
    }

    /// The data after the first `rounds` rounds. Nodes have the weights that they have at the last analysis, after `last` rounds, so that all
    /// analyses estimate one thing, as long as they see the same nodes.
    fn interim_data(&self, rounds: usize, last: usize, load_correlation: f64) -> InterimData {
        let now = self.first(rounds);
        if now.len() < 2 {
            return InterimData::after(&self.comparison, rounds, load_correlation);
        }
        let at_last = self.first(last);
        let weighing = if at_last.len() == now.len() { &at_last } else { &now };
        let all: usize = weighing.iter().map(Vec::len).sum();
        let weights: Vec<f64> = weighing.iter().map(|rounds| rounds.len() as f64 / all as f64).collect();
        let values: Vec<f64> = self.rounds[..rounds].iter().map(|round| round.effect).collect();
        let loads = self.comparison.rounds[..rounds].iter().map(|round| round.conditions.load);
        let factor = design_effect(loads, load_correlation);
        let within = NodeMeans::of(&now, load_correlation)
            .filter(|_| rounds >= 2 * now.len() + ROUNDS_BESIDES)
            .map(|means| means.weighted(&weights));
        let of_all = || {
            let mean: f64 =
                now.iter().zip(&weights).map(|(rounds, weight)| weight * mean_effect(rounds)).sum();
            // Of so many rounds of equal weight the mean would be as uncertain.
            let worth: f64 =
                now.iter().zip(&weights).map(|(rounds, weight)| weight * weight / rounds.len() as f64).sum();
            let sample = Sample::of(&values)?;
            let variance = sample.variance() * factor * worth * rounds as f64;
            Some(Sample::with_variance(rounds, mean, variance, sample.freedom()))
        };
        InterimData {
            rounds,
            basis: Basis { has_stalls: false, rounds_each: 1, nodes: now.len() },
            within_nodes: within.or_else(of_all),
            values: spread(values, factor.sqrt()),
        }
    }

    /// What each node tells by itself, by the nodes' numbers.
    pub(super) fn effects(&self, judge: &Judge) -> Vec<Option<NodeEffect>> {
        let mut effects = vec![None; self.nodes];
        for (number, rounds) in self.numbers.iter().zip(self.first(self.rounds.len())) {
            let values: Vec<f64> = rounds.iter().map(|round| round.effect).collect();
            let factor = design_effect(rounds.iter().map(|round| Some(round.load)), judge.load_correlation());
            let sample = Sample::of(&values).map(|sample| {
                Sample::with_variance(sample.count, sample.mean, sample.variance() * factor, sample.freedom())
            });
            effects[*number] = Some(NodeEffect {
                rounds: rounds.len(),
                estimate: mean_effect(&rounds),
                interval: sample.map(|sample| Interval::of_mean(&sample, judge.plan().alpha)),
            });
        }
        effects
    }
}

/// The mean effect of rounds.
pub(super) fn mean_effect(rounds: &[FleetRound]) -> f64 {
    rounds.iter().map(|round| round.effect).sum::<f64>() / rounds.len() as f64
}

/// A round with nothing but a load and an effect.
fn plain_round(load: u32, effect: f64) -> Round {
    Round {
        conditions: RoundConditions { load: Some(load), ..RoundConditions::default() },
        ..Round::from(effect)
    }
}

/// An order of nodes that follows from their rounds alone. Of rounds that end at one instant it prefers neither the better nor the worse:
/// the product spreads effects over all bits (Knuth's multiplicative hashing).
fn by_content(left: &[FleetRound], right: &[FleetRound]) -> Ordering {
    let key = |round: &FleetRound| round.effect.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let of_rounds = |(left, right): (&FleetRound, &FleetRound)| {
        let by_time = left.ended_s.total_cmp(&right.ended_s);
        by_time.then(left.load.cmp(&right.load)).then(key(left).cmp(&key(right)))
    };
    let differing = left.iter().zip(right).map(of_rounds).find(|order| order.is_ne());
    differing.unwrap_or(left.len().cmp(&right.len()))
}
