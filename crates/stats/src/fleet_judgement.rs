//! From the trials of several nodes to decisions on the steps that all of them measured.

use std::collections::BTreeMap;

use basecase_model::{Experiment, StepFacts, Trial};
use jiff::Timestamp;

use crate::fleet::{FleetComparison, FleetDecision, FleetRound};
use crate::interim_data::{effects, has_stalls};
use crate::judgement::judge_of;
use crate::pair::Pair;
use crate::{JudgedMetric, JudgementError, Round};

/// What one node measured: an experiment of its own, with its trials.
#[derive(Debug, Clone, Copy)]
pub struct NodeTrials<'a> {
    /// Its experiment.
    pub experiment: &'a Experiment,
    /// Its trials, in the order in which they were measured.
    pub trials: &'a [Trial],
}

/// Decisions on the throughput of the steps of one experiment that several nodes measured.
#[derive(Debug, Clone, Default)]
pub struct FleetJudgement {
    decisions: BTreeMap<(usize, usize), FleetDecision>,
}

/// A step and a contender, with the rounds of each node.
struct Compared {
    place: (usize, usize),
    margin: f64,
    group: usize,
    /// Each with when it ended, in seconds since 1970.
    nodes: Vec<Vec<(f64, Round)>>,
}

impl FleetJudgement {
    /// Judges every compared step of every contender that has a round on some node. Steps and candidates are numbered as in the experiment of
    /// the first node, and found by their names in those of the others. Nodes are numbered as they are given.
    ///
    /// # Errors
    /// When the schedule or a trial holds what no schedule or trial can hold.
    pub fn of(nodes: &[NodeTrials<'_>]) -> Result<FleetJudgement, JudgementError> {
        let Some((experiment, schedule)) =
            nodes.first().and_then(|node| Some((node.experiment, node.experiment.schedule.as_ref()?)))
        else {
            return Ok(FleetJudgement::default());
        };
        let steps = experiment.steps.iter().enumerate().filter(|(_, step)| step.is_compared());
        let places = steps.flat_map(|(number, step)| {
            (1..experiment.candidates.len()).map(move |candidate| (number, step, candidate))
        });
        let compared: Vec<Compared> = places
            .map(|(number, step, candidate)| Compared {
                place: (number, candidate),
                margin: (1.0 + schedule.margin(step)).ln(),
                group: group(experiment, step),
                nodes: nodes.iter().map(|node| rounds(node, experiment, step, candidate)).collect(),
            })
            .filter(|compared| compared.nodes.iter().any(|rounds| !rounds.is_empty()))
            .collect();
        let judge = judge_of(schedule)?;
        let family: Vec<FleetComparison> = compared.iter().map(Compared::comparison).collect();
        let mut decisions = judge.decide_fleet(&family)?;
        if nodes.iter().any(|node| node.experiment.short_timing().is_some()) {
            decisions.iter_mut().for_each(|found| found.decision.withhold());
        }
        let places = compared.iter().map(|compared| compared.place);
        Ok(FleetJudgement { decisions: places.zip(decisions).collect() })
    }

    /// The decision on a step of a candidate, both by their numbers.
    pub fn decision(&self, step: usize, candidate: usize) -> Option<&FleetDecision> {
        self.decisions.get(&(step, candidate))
    }

    /// All decisions, by the numbers of step and candidate.
    pub fn decisions(&self) -> impl Iterator<Item = ((usize, usize), &FleetDecision)> {
        self.decisions.iter().map(|(place, decision)| (*place, decision))
    }
}

/// The group of steps over which the variance between nodes is pooled: that of the workload, or else steps that read and steps that write.
fn group(experiment: &Experiment, step: &StepFacts) -> usize {
    let named = experiment.groups.iter().position(|group| group.steps.contains(&step.label));
    named.unwrap_or(experiment.groups.len() + usize::from(step.writes))
}

/// The rounds of a node, of a step and a candidate of `experiment`.
fn rounds(
    node: &NodeTrials<'_>,
    experiment: &Experiment,
    step: &StepFacts,
    candidate: usize,
) -> Vec<(f64, Round)> {
    let named = |candidate: usize| {
        let name = &experiment.candidates.get(candidate)?.name;
        node.experiment.candidates.iter().position(|facts| facts.name == *name)
    };
    let Some(own) = named(candidate).filter(|_| named(0) == Some(0)) else { return Vec::new() };
    let Some(step) = node.experiment.steps.iter().find(|one| one.name == step.name) else {
        return Vec::new();
    };
    let pairs = Pair::all(node.experiment, node.trials, step, own);
    let round = |pair: &Pair<'_>| {
        let mut round = pair.round(JudgedMetric::Throughput)?;
        // A round whose load is not known resembles no other.
        round.conditions.load.get_or_insert(pair.base.place.round);
        Some((ended_s(pair.base).max(ended_s(pair.contender)), round))
    };
    pairs.iter().filter_map(round).collect()
}

/// When a trial ended, in seconds since 1970; 0 if it does not tell.
fn ended_s(trial: &Trial) -> f64 {
    let started: Option<Timestamp> = trial.started_at.parse().ok();
    started.map_or(0.0, |started| started.as_microsecond() as f64 / 1e6 + trial.seconds)
}

impl Compared {
    /// What is judged: whether one side stalls is a question to the rounds of all nodes together.
    fn comparison(&self) -> FleetComparison {
        let all: Vec<Round> = self.nodes.iter().flatten().map(|(_, round)| round.clone()).collect();
        let stalls = has_stalls(&all, self.margin);
        let of_node = |rounds: &Vec<(f64, Round)>| {
            let plain: Vec<Round> = rounds.iter().map(|(_, round)| round.clone()).collect();
            let round = |((ended_s, round), effect): (&(f64, Round), f64)| FleetRound {
                ended_s: *ended_s,
                load: round.conditions.load.unwrap_or(0),
                effect,
            };
            rounds.iter().zip(effects(&plain, stalls)).map(round).collect()
        };
        FleetComparison {
            margin: self.margin,
            group: self.group,
            nodes: self.nodes.iter().map(of_node).collect(),
        }
    }
}
