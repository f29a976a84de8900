//! What a reader has to know besides the numbers: how builds, experiments and trials differ.

use std::collections::BTreeMap;

use basecase_model::{CandidateFacts, Experiment};

use crate::results::Results;

/// Contenders that are replicates of the base case, by name.
pub fn replicates(experiment: &Experiment) -> Vec<&str> {
    let Some((base, contenders)) = experiment.candidates.split_first() else { return Vec::new() };
    contenders
        .iter()
        .filter(|contender| contender.name.is_again(&base.name))
        .map(|contender| contender.name.0.as_str())
        .collect()
}

/// Toolchains with the candidates that each compiled, for the candidates of one dbms that were compiled differently, or may have been.
/// Empty if the builds of each dbms share one known toolchain.
pub fn toolchains(experiment: &Experiment) -> Vec<(String, Vec<&str>)> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    let differs_within_its_dbms = |candidate: &&CandidateFacts| {
        experiment.candidates.iter().any(|other| {
            let is_known = candidate.build.compiler.is_some() && candidate.build.flags.is_some();
            other.build.dbms == candidate.build.dbms
                && other.build.short != candidate.build.short
                && !(is_known && other.build.toolchain() == candidate.build.toolchain())
        })
    };
    for candidate in experiment.candidates.iter().filter(differs_within_its_dbms) {
        let toolchain = candidate.build.toolchain();
        let name = candidate.name.0.as_str();
        match groups.iter_mut().find(|(known, _)| *known == toolchain) {
            Some((_, names)) => names.push(name),
            None => groups.push((toolchain, vec![name])),
        }
    }
    groups
}

/// The experiments of a store that are kept apart from an experiment, grouped by the reasons: `id (name)` of each.
pub fn kept_apart(experiment: &Experiment, others: &[Experiment]) -> BTreeMap<String, Vec<String>> {
    let mut by_reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for other in others {
        let reasons = experiment.kept_apart_by(other);
        if !reasons.is_empty() {
            by_reasons.entry(reasons.join("; ")).or_default().push(format!("{} ({})", other.id, other.name));
        }
    }
    by_reasons
}

/// A warning's text with the candidates that have it, each with its steps.
pub type Warning<'a> = (&'a str, Vec<(&'a str, Vec<&'a str>)>);

/// The warnings of all chosen trials, each text once with where it holds, in the order of the steps.
pub fn warnings<'a>(results: &Results<'a>) -> Vec<Warning<'a>> {
    let mut warnings: Vec<Warning<'a>> = Vec::new();
    for (candidate, facts) in results.candidates() {
        for (step, step_facts) in results.steps() {
            let trial = results.trial(step, candidate);
            for text in trial.into_iter().flat_map(|trial| &trial.warnings) {
                let known = warnings.iter().position(|(known, _)| known == text).unwrap_or_else(|| {
                    warnings.push((text, Vec::new()));
                    warnings.len() - 1
                });
                let places = &mut warnings[known].1;
                match places.last_mut().filter(|(name, _)| *name == facts.name.0) {
                    Some((_, steps)) => steps.push(&step_facts.name),
                    None => places.push((&facts.name.0, vec![&step_facts.name])),
                }
            }
        }
    }
    warnings
}
