//! What several machines found together, as JSON.

use basecase_analysis::{Fleet, FleetJudged, MachineKind, Member, fleet_of};
use basecase_stats::{Heterogeneity, Interval, KindEffect, NodeEffect};
use serde::Serialize;

use super::written;
use crate::words::{fleet_notes, fleet_sentences, label, machine, verdict_word};

#[derive(Serialize)]
struct Object<'a> {
    fleet: Option<&'a str>,
    experiment: Option<&'a str>,
    /// Nodes that were asked for at last.
    nodes_asked: u32,
    notes: Vec<String>,
    decided: Vec<String>,
    kinds: Vec<KindObject<'a>>,
}

#[derive(Serialize)]
struct KindObject<'a> {
    machine: String,
    answer: Vec<String>,
    nodes: Vec<NodeObject<'a>>,
    base: Option<&'a str>,
    steps: Vec<StepObject<'a>>,
}

#[derive(Serialize)]
struct NodeObject<'a> {
    node: u32,
    id: &'a str,
    rounds: usize,
    failed: usize,
}

#[derive(Serialize)]
struct StepObject<'a> {
    step: &'a str,
    candidate: &'a str,
    verdict: String,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    adjusted_p: f64,
    rounds: usize,
    rounds_used: usize,
    of_kind: Option<OfKindObject>,
    heterogeneity: Option<HeterogeneityObject>,
    nodes: Vec<NodeEffectObject>,
}

/// What is known of the kind of machine.
#[derive(Serialize)]
struct OfKindObject {
    verdict: String,
    ratio: f64,
    interval: [f64; 2],
    omega: f64,
    prediction: [f64; 2],
}

#[derive(Serialize)]
struct HeterogeneityObject {
    q: f64,
    freedom: f64,
    p: f64,
    adjusted_p: f64,
    hosts_differ: bool,
    stands_out: Option<u32>,
}

#[derive(Serialize)]
struct NodeEffectObject {
    node: u32,
    rounds: usize,
    ratio: f64,
    interval: Option<[f64; 2]>,
}

/// One JSON object with a newline at its end.
pub(crate) fn render(fleet: &Fleet<'_>) -> String {
    let first = fleet.kinds.first().map(MachineKind::experiment);
    written(&Object {
        fleet: first.and_then(fleet_of),
        experiment: first.map(|experiment| experiment.name.as_str()),
        nodes_asked: fleet.asked(),
        notes: fleet_notes(fleet),
        decided: fleet.decided().into_iter().collect(),
        kinds: fleet.kinds.iter().map(of_kind).collect(),
    })
}

fn of_kind<'a>(kind: &MachineKind<'a>) -> KindObject<'a> {
    let experiment = kind.experiment();
    let node = |member: &Member<'a>| NodeObject {
        node: member.number,
        id: &member.experiment.id,
        rounds: member.rounds(),
        failed: member.failed(),
    };
    let steps = kind.contenders().flat_map(|candidate| kind.judged(candidate));
    KindObject {
        machine: machine(&experiment.host),
        answer: fleet_sentences(kind),
        nodes: kind.members.iter().map(node).collect(),
        base: experiment.candidates.first().map(|facts| facts.name.0.as_str()),
        steps: steps.map(|judged| step(kind, judged)).collect(),
    }
}

fn step<'a>(kind: &MachineKind<'a>, judged: FleetJudged<'_>) -> StepObject<'a> {
    let decision = &judged.found.decision;
    let name = kind.experiment().candidates.get(judged.candidate);
    let nodes = kind.members.iter().zip(&judged.found.nodes);
    StepObject {
        step: label(kind, judged.step),
        candidate: name.map_or("", |facts| &facts.name.0),
        verdict: verdict_word(decision.verdict),
        ratio: decision.estimate.map(f64::exp),
        interval: decision.interval.map(ratios),
        adjusted_p: decision.adjusted_p,
        rounds: decision.rounds,
        rounds_used: decision.rounds_used,
        of_kind: judged.found.kind.as_ref().map(of_all_machines),
        heterogeneity: judged.found.heterogeneity.as_ref().map(|found| heterogeneity(kind, found)),
        nodes: nodes
            .filter_map(|(member, found)| Some(node_effect(member.number, found.as_ref()?)))
            .collect(),
    }
}

fn of_all_machines(kind: &KindEffect) -> OfKindObject {
    OfKindObject {
        verdict: verdict_word(kind.verdict),
        ratio: kind.estimate.exp(),
        interval: ratios(kind.interval),
        omega: kind.omega,
        prediction: ratios(kind.prediction),
    }
}

fn heterogeneity(kind: &MachineKind<'_>, found: &Heterogeneity) -> HeterogeneityObject {
    let Heterogeneity { q, freedom, p, adjusted_p, hosts_differ, stands_out } = *found;
    let number = |place: usize| kind.members.get(place).map(|member| member.number);
    HeterogeneityObject { q, freedom, p, adjusted_p, hosts_differ, stands_out: stands_out.and_then(number) }
}

fn node_effect(node: u32, found: &NodeEffect) -> NodeEffectObject {
    NodeEffectObject {
        node,
        rounds: found.rounds,
        ratio: found.estimate.exp(),
        interval: found.interval.map(ratios),
    }
}

fn ratios(Interval { lower, upper }: Interval) -> [f64; 2] {
    [lower.exp(), upper.exp()]
}
