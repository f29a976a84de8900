//! Names of candidates as people say them.

use basecase_analysis::Results;
use basecase_model::{CandidateFacts, CandidateName, Engine};

/// E.g. `postgres 18.6 · x10a`. What is measured again or with a setting that is tried keeps its exact name.
fn readable(facts: &CandidateFacts) -> String {
    match is_plain(facts) {
        true => format!("{} {} · {}", family(facts), version(facts), facts.config.name),
        false => facts.name.0.clone(),
    }
}

/// Only what distinguishes a candidate from the others: a version where dbms and config are the same, a config where the build is.
pub(crate) fn distinctive(results: &Results<'_>, candidate: usize) -> String {
    let all = &results.experiment.candidates;
    let Some(facts) = all.get(candidate) else { return String::new() };
    let is_one = |of: fn(&CandidateFacts) -> String| all.iter().all(|other| of(other) == of(facts));
    let is_one_config = is_one(|facts| facts.config.name.clone());
    match is_one(family) {
        _ if !all.iter().all(is_plain) => readable(facts),
        true if is_one_config && is_one(qualifier) => facts.build.version.clone(),
        true if is_one_config => version(facts),
        true if is_one(version) => facts.config.name.clone(),
        _ => readable(facts),
    }
}

/// A contender beside the base case, e.g. `sqlite 3.26.0 → 3.54.1` or `postgres 18.6: x10a → x10b`.
pub(crate) fn transition(all: &[CandidateFacts], candidate: usize) -> String {
    let (Some(base), Some(contender)) = (all.first(), all.get(candidate)) else { return String::new() };
    let is_one = |of: fn(&CandidateFacts) -> String| of(base) == of(contender);
    let is_one_config = base.config.name == contender.config.name;
    let both = |of: fn(&CandidateFacts) -> String| format!("{} → {}", of(base), of(contender));
    match is_one(family) && is_plain(base) && is_plain(contender) {
        true if is_one_config && is_one(qualifier) && !is_one(version) => {
            format!("{} {}", family(base), both(|facts| facts.build.version.clone()))
        }
        true if is_one_config => format!("{} {}", family(base), both(version)),
        true if is_one(version) => {
            format!("{} {}: {}", family(base), version(base), both(|facts| facts.config.name.clone()))
        }
        _ => both(readable),
    }
}

/// The dbms, with its storage engine where that is not the usual one.
fn family(facts: &CandidateFacts) -> String {
    match facts.engine {
        None | Some(Engine::Innodb) => facts.build.dbms.to_string(),
        Some(engine) => format!("{} {engine}", facts.build.dbms),
    }
}

/// E.g. `18.6`, or `18.6 o1_44ce5dc4` for a build with a type or of a commit.
fn version(facts: &CandidateFacts) -> String {
    format!("{} {}", facts.build.version, qualifier(facts)).trim_end().to_owned()
}

/// What the name of a build has beside its version, e.g. `rel_o2nofp`.
fn qualifier(facts: &CandidateFacts) -> String {
    facts.build.short.split_once('_').map_or_else(String::new, |(_, qualifier)| qualifier.to_owned())
}

/// Whether the exact name says no more than build, engine and config.
fn is_plain(facts: &CandidateFacts) -> bool {
    CandidateName::new(&facts.build.short, facts.engine, &facts.config.name) == facts.name
}

#[cfg(test)]
mod tests {
    use basecase_analysis::fixture;

    use super::*;

    #[test]
    fn names_say_what_differs() {
        let (mut experiment, trials) = fixture::sample();
        experiment.candidates.truncate(2);
        let of = |experiment: &basecase_model::Experiment| {
            let results = Results::new(experiment, &trials);
            (
                readable(&experiment.candidates[1]),
                distinctive(&results, 1),
                transition(&experiment.candidates, 1),
            )
        };
        for (number, (version, short)) in [("18.5", "pg185"), ("18.6", "pg186")].into_iter().enumerate() {
            let facts = &mut experiment.candidates[number];
            facts.build.version = version.to_owned();
            facts.build.short = short.to_owned();
            facts.config.name = "x10a".to_owned();
            facts.name = CandidateName::new(short, facts.engine, "x10a");
        }
        let told = ["postgres 18.6 · x10a", "18.6", "postgres 18.5 → 18.6"].map(str::to_owned);
        assert_eq!(of(&experiment), told.into());
        experiment.candidates[0].build = experiment.candidates[1].build.clone();
        experiment.candidates[0].config.name = "x10b".to_owned();
        experiment.candidates[0].name = CandidateName::new("pg186", None, "x10b");
        let told = ["postgres 18.6 · x10a", "x10a", "postgres 18.6: x10b → x10a"].map(str::to_owned);
        assert_eq!(of(&experiment), told.into());
        for facts in &mut experiment.candidates {
            facts.config.name = "x10a".to_owned();
        }
        for (number, short) in ["pg186_o1_44ce5dc4", "pg186_o1_f2686d6f"].into_iter().enumerate() {
            experiment.candidates[number].build.short = short.to_owned();
            experiment.candidates[number].name = CandidateName::new(short, None, "x10a");
        }
        let commits = "postgres 18.6 o1_44ce5dc4 → 18.6 o1_f2686d6f";
        let told = ["postgres 18.6 o1_f2686d6f · x10a", "18.6 o1_f2686d6f", commits].map(str::to_owned);
        assert_eq!(of(&experiment), told.into());
        experiment.candidates[1].name = CandidateName(format!("{}_again", experiment.candidates[0].name));
        let exact = experiment.candidates[1].name.0.clone();
        let told = [exact.clone(), exact.clone(), format!("postgres 18.6 o1_44ce5dc4 · x10a → {exact}")];
        assert_eq!(of(&experiment), told.into());
    }
}
