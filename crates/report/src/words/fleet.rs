//! What several machines found together, in words.

use basecase_analysis::{Effect, Fleet, FleetJudged, MachineKind};
use basecase_model::HostFacts;
use basecase_stats::{Interval, JudgedMetric, Verdict};

use super::answer::tally_words;
use super::{EffectWords as _, percent_text, transition};

/// Fewer nodes tell nothing of machines that were not measured.
pub(crate) const LEAST_OF_KIND: usize = 5;

/// E.g. `8 nodes`.
pub(crate) fn nodes(count: usize) -> String {
    format!("{count} {}", if count == 1 { "node" } else { "nodes" })
}

/// What a kind of machine is, e.g. `AMD EPYC 7402P, 24 processors, 128 GiB, kernel 6.1.0`.
pub(crate) fn machine(host: &HostFacts) -> String {
    let memory_gib = (host.memory_bytes as f64 / f64::from(1 << 30)).round();
    let HostFacts { cpu_model, cores, kernel, .. } = host;
    format!("{cpu_model}, {cores} processors, {memory_gib:.0} GiB, kernel {kernel}")
}

/// A sentence for each contender, e.g. `a → b: 4 of 10 steps faster, clearest qr100 +6.1 % (+5.0 to +7.2); 5 unchanged within 2 %; 1 not
/// settled.`
pub(crate) fn fleet_sentences(kind: &MachineKind<'_>) -> Vec<String> {
    kind.contenders().filter_map(|candidate| sentence(kind, candidate)).collect()
}

fn sentence(kind: &MachineKind<'_>, candidate: usize) -> Option<String> {
    let all = kind.judged(candidate);
    if all.is_empty() {
        return None;
    }
    let of = |verdict: Verdict| -> Vec<&FleetJudged<'_>> {
        all.iter().filter(|judged| judged.found.decision.verdict == verdict).collect()
    };
    let changes = |verdict: Verdict| {
        let found = of(verdict);
        let clearest = found.iter().max_by(|one, other| {
            let nearest = |judged: &FleetJudged<'_>| judged.found.decision.nearest();
            nearest(one).total_cmp(&nearest(other))
        });
        let prefix = if found.len() > 1 { "clearest " } else { "" };
        let clearest =
            clearest.map(|clearest| format!("{prefix}{} {}", label(kind, clearest.step), change(clearest)));
        (found.len(), clearest.unwrap_or_default())
    };
    let unchanged = of(Verdict::NoChange);
    let largest = unchanged.iter().map(|judged| judged.found.decision.margin).reduce(f64::max);
    let words = tally_words(
        all.len(),
        [("slower", changes(Verdict::Regression)), ("faster", changes(Verdict::Improvement))],
        largest.map(|largest| (unchanged.len(), largest)),
        of(Verdict::NotEnoughData).len(),
    );
    Some(format!("{}: {words}.", transition(&kind.experiment().candidates, candidate)))
}

/// The label of a step of a kind's experiment.
pub(crate) fn label<'a>(kind: &MachineKind<'a>, step: usize) -> &'a str {
    kind.experiment().steps.get(step).map_or("", |facts| facts.label.as_str())
}

/// The effect on these nodes.
pub(crate) fn effect_on_nodes(judged: &FleetJudged<'_>) -> Option<Effect> {
    Effect::of_decision(JudgedMetric::Throughput, &judged.found.decision)
}

fn change(judged: &FleetJudged<'_>) -> String {
    let effect = effect_on_nodes(judged);
    effect.map_or_else(String::new, |effect| {
        format!("{} % {}", effect.percent_text(), effect.percent_interval())
    })
}

/// An interval of logarithms in per cent, e.g. `-1.2 to +13.0`.
pub(crate) fn percent_range(interval: Interval) -> String {
    let end = |end: f64| percent_text(end.exp(), 1);
    format!("{} to {}", end(interval.lower), end(interval.upper))
}

/// The nodes that stand out, a line for each, e.g. `qr100 of pg18: node 3 stands out with +9.1 %, all nodes +6.0 %`.
pub(crate) fn standing_out(kind: &MachineKind<'_>) -> Vec<String> {
    let line = |judged: FleetJudged<'_>| {
        let place = judged.found.heterogeneity.as_ref()?.stands_out?;
        let node = kind.members.get(place)?.number;
        let own = judged.found.nodes.get(place)?.as_ref()?.estimate;
        let all = judged.found.decision.estimate?;
        let name = &kind.experiment().candidates.get(judged.candidate)?.name;
        let [own, all] = [own, all].map(|effect| percent_text(effect.exp(), 1));
        Some(format!(
            "{} of {name}: node {node} stands out with {own} %, all nodes {all} %",
            label(kind, judged.step)
        ))
    };
    kind.contenders().flat_map(|candidate| kind.judged(candidate)).filter_map(line).collect()
}

/// What a fleet lacks, in sentences: nodes that have delivered nothing yet, too few of a kind, several kinds.
pub(crate) fn fleet_notes(fleet: &Fleet<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let (there, asked) = (fleet.nodes(), fleet.asked() as usize);
    if there < asked {
        notes.push(format!("{there} of {asked} nodes have delivered results."));
    }
    if fleet.kinds.len() > 1 {
        let count = fleet.kinds.len();
        notes.push(format!(
            "The nodes are of {count} kinds of machines, which are judged apart and never averaged."
        ));
    }
    let most = fleet.kinds.first().map_or(0, |kind| kind.members.len());
    if (1..LEAST_OF_KIND).contains(&most) {
        notes.push(format!(
            "What to expect of other machines of this kind is not available with {}: it takes {LEAST_OF_KIND}.",
            nodes(most)
        ));
    }
    notes
}
