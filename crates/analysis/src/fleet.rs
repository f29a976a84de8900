//! One experiment on several machines: which nodes there are, of which kinds, and what all of them found together.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use basecase_model::{CandidateFacts, Experiment, FleetNode, StepCount, Trial};
use basecase_stats::{FleetDecision, FleetJudgement, JudgementError, NodeTrials};

use crate::Stored;
use crate::counts::Counted;
use crate::judged::order;

/// What the nodes of a fleet measured.
pub struct Fleet<'a> {
    /// Its nodes by kind of machine, those of most nodes first. Nodes of different kinds are never averaged.
    pub kinds: Vec<MachineKind<'a>>,
}

/// Nodes with the same processor, memory, kernel and disk, whose rounds are judged together.
pub struct MachineKind<'a> {
    /// Its nodes by number; never empty.
    pub members: Vec<Member<'a>>,
    /// The decisions; none if the rounds cannot be judged.
    pub judgement: FleetJudgement,
    /// Why they cannot.
    pub refusal: Option<JudgementError>,
}

/// One node.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    /// Its number, from 1.
    pub number: u32,
    /// What it measured, an experiment of its own.
    pub experiment: &'a Experiment,
    /// Its trials.
    pub trials: &'a [Trial],
}

/// What a kind of machine found about a contender on a step.
#[derive(Clone, Copy)]
pub struct FleetJudged<'k> {
    /// The step, by its number in the kind's experiment.
    pub step: usize,
    /// The contender, by its number there.
    pub candidate: usize,
    /// What its rounds say.
    pub found: &'k FleetDecision,
}

/// What several nodes counted, each a share of the candidates beside the base case or a piece of a course, as one experiment. Parts share
/// counts, of the base case at least: each is told once. Candidates keep the order that they have in all parts. Counts of different kinds of
/// machines are never mixed: those of the kind with most nodes are taken, and the other nodes are named. `None` of nothing.
pub fn joined(parts: &[(Experiment, Vec<StepCount>)]) -> Option<(Experiment, Counted)> {
    let number = |experiment: &Experiment| experiment.node.as_ref().map(|node| node.number);
    let mut parts: Vec<&(Experiment, Vec<StepCount>)> = parts.iter().collect();
    parts.sort_by_key(|(experiment, _)| (number(experiment), &experiment.created_at, &experiment.id));
    let numbers = |parts: &[&(Experiment, Vec<StepCount>)]| -> BTreeSet<u32> {
        parts.iter().filter_map(|(experiment, _)| number(experiment)).collect()
    };
    let mut kinds = by_kind(parts, |(one, _), (other, _)| one.host.id == other.host.id);
    kinds.sort_by_key(|parts| Reverse(numbers(parts).len()));
    let (parts, others) = kinds.split_first()?;
    let (mut experiment, mut counts) = (*parts.first()?).clone();
    for (other, others) in parts.iter().skip(1) {
        add_in_order(&mut experiment.candidates, &other.candidates);
        counts.extend(others.iter().cloned());
    }
    counts.sort_by(|one, other| one.started_at.cmp(&other.started_at).then(one.cell.cmp(&other.cell)));
    let mut seen = BTreeSet::new();
    counts.retain(|count| seen.insert((count.cell.clone(), count.start, count.started_at.clone())));
    if let Some(fleet) = experiment.node.take() {
        experiment.id = fleet.fleet;
    }
    let nodes_left_out = numbers(&others.concat());
    let counted = Counted { nodes_left_out, ..Counted::of(&experiment, counts) };
    Some((experiment, counted))
}

/// Those of each kind together, in the order in which the first of each kind comes.
fn by_kind<T>(all: impl IntoIterator<Item = T>, is_alike: impl Fn(&T, &T) -> bool) -> Vec<Vec<T>> {
    let mut kinds: Vec<Vec<T>> = Vec::new();
    for one in all {
        match kinds.iter_mut().find(|kind| is_alike(&kind[0], &one)) {
            Some(kind) => kind.push(one),
            None => kinds.push(vec![one]),
        }
    }
    kinds
}

/// Adds what is not there yet, each before the next one in its own order that is there, or else at the end.
fn add_in_order(candidates: &mut Vec<CandidateFacts>, others: &[CandidateFacts]) {
    let mut next = None;
    for facts in others.iter().rev() {
        let place = candidates.iter().position(|known| known.name == facts.name);
        let place = place.unwrap_or_else(|| {
            let place = next.unwrap_or(candidates.len());
            candidates.insert(place, facts.clone());
            place
        });
        next = Some(place);
    }
}

/// The fleet that an experiment is a part of, if it is one node's.
pub fn fleet_of(experiment: &Experiment) -> Option<&str> {
    experiment.node.as_ref().map(|FleetNode { fleet, .. }| fleet.as_str())
}

impl<'a> Fleet<'a> {
    /// Of these experiments, each of a node of one fleet. Others are left out.
    pub fn of(stored: &'a [Stored]) -> Fleet<'a> {
        let member = |(experiment, trials): &'a Stored| {
            let number = experiment.node.as_ref()?.number;
            Some(Member { number, experiment, trials })
        };
        let members = stored.iter().filter_map(member);
        let mut kinds = by_kind(members, |one, other| is_alike(one.experiment, other.experiment));
        for members in &mut kinds {
            members.sort_by(|one, other| {
                (one.number, &one.experiment.id).cmp(&(other.number, &other.experiment.id))
            });
        }
        kinds.sort_by_key(|members| (Reverse(members.len()), members[0].number));
        Fleet { kinds: kinds.into_iter().map(MachineKind::of).collect() }
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.kinds.iter().map(|kind| kind.members.len()).sum()
    }

    /// How many nodes it was started with, at last.
    pub fn asked(&self) -> u32 {
        let members = self.kinds.iter().flat_map(|kind| &kind.members);
        members.filter_map(|member| Some(member.experiment.node.as_ref()?.of)).max().unwrap_or(0)
    }

    /// The steps, by name, that need no more rounds: on every kind of machine, all their contenders are decided.
    pub fn decided(&self) -> BTreeSet<String> {
        let names = |kind: &MachineKind<'a>| kind.decided().collect::<BTreeSet<String>>();
        let mut kinds = self.kinds.iter().map(names);
        let first = kinds.next().unwrap_or_default();
        kinds.fold(first, |decided, other| decided.intersection(&other).cloned().collect())
    }
}

/// Whether the rounds of two nodes may be judged together: the same kind of machine, the same builds, margins and interim analyses.
fn is_alike(one: &Experiment, other: &Experiment) -> bool {
    let rules = |experiment: &Experiment| {
        let schedule = experiment.schedule.as_ref()?;
        Some((schedule.read_margin, schedule.write_margin, schedule.interim_analyses.clone()))
    };
    let builds = |experiment: &Experiment| -> Vec<String> {
        experiment.candidates.iter().map(|facts| facts.build.identity()).collect()
    };
    one.host.id == other.host.id && rules(one) == rules(other) && builds(one) == builds(other)
}

impl<'a> MachineKind<'a> {
    fn of(members: Vec<Member<'a>>) -> MachineKind<'a> {
        let nodes: Vec<NodeTrials<'_>> = members
            .iter()
            .map(|Member { experiment, trials, .. }| NodeTrials { experiment, trials })
            .collect();
        let (judgement, refusal) = match FleetJudgement::of(&nodes) {
            Ok(judgement) => (judgement, None),
            Err(error) => (FleetJudgement::default(), Some(error)),
        };
        MachineKind { members, judgement, refusal }
    }

    /// The experiment of its first node, by which steps and candidates are numbered.
    pub fn experiment(&self) -> &'a Experiment {
        self.members[0].experiment
    }

    /// What is known of each step of a contender: changes first, then what is open, then what is unchanged, the largest first.
    pub fn judged(&self, candidate: usize) -> Vec<FleetJudged<'_>> {
        let own = self.judgement.decisions().filter(|((_, other), _)| *other == candidate);
        let mut own: Vec<FleetJudged<'_>> =
            own.map(|((step, candidate), found)| FleetJudged { step, candidate, found }).collect();
        let size = |judged: &FleetJudged<'_>| judged.found.decision.estimate.map_or(0.0, f64::abs);
        own.sort_by(|one, other| {
            let of = |judged: &FleetJudged<'_>| order(judged.found.decision.verdict);
            of(one).cmp(&of(other)).then(size(other).total_cmp(&size(one))).then(one.step.cmp(&other.step))
        });
        own
    }

    /// The numbers of its contenders.
    pub fn contenders(&self) -> std::ops::Range<usize> {
        1..self.experiment().candidates.len().max(1)
    }

    /// The steps that need no more rounds, by name.
    fn decided(&self) -> impl Iterator<Item = String> {
        let is_decided = |(number, _): &(usize, _)| {
            let mut decisions =
                self.contenders().map(|candidate| self.judgement.decision(*number, candidate));
            decisions.all(|found| found.is_some_and(|found| found.decision.leaves))
        };
        let steps = self.experiment().steps.iter().enumerate().filter(|(_, step)| step.is_compared());
        steps.filter(is_decided).map(|(_, step)| step.name.clone())
    }
}

impl Member<'_> {
    /// How many rounds it has measured in whole or in part.
    pub fn rounds(&self) -> usize {
        let is_compared =
            |name: &str| self.experiment.steps.iter().any(|step| step.is_compared() && step.name == name);
        let complete = self.trials.iter().filter(|trial| trial.is_complete() && is_compared(&trial.step));
        complete.map(|trial| trial.place.round).collect::<BTreeSet<u32>>().len()
    }

    /// How many of its trials failed.
    pub fn failed(&self) -> usize {
        self.trials.iter().filter(|trial| !trial.is_complete()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::counted;

    #[test]
    fn counts_are_those_of_the_kind_of_machine_with_most_nodes_and_the_others_are_named() {
        let part = |number: u32, host: &str| {
            let (mut experiment, counted) = counted();
            experiment.id = format!("part{number}");
            experiment.node = Some(FleetNode { fleet: "f".into(), number, of: 4 });
            experiment.host.id = host.into();
            (experiment, counted.starts)
        };
        let parts = [part(4, "small"), part(1, "large"), part(3, "small"), part(2, "old")];
        let (experiment, counted) = joined(&parts).unwrap();
        assert_eq!((experiment.id.as_str(), experiment.host.id.as_str()), ("f", "small"));
        assert_eq!(counted.nodes_left_out, BTreeSet::from([1, 2]));
        assert_eq!(counted.starts.len(), parts[0].1.len(), "each is told once");
        let (experiment, counted) = joined(&parts[..2]).unwrap();
        assert_eq!(experiment.host.id, "large", "the first of as many");
        assert_eq!(counted.nodes_left_out, BTreeSet::from([4]));
        assert!(joined(&[]).is_none());
    }
}
