//! The builds and configs of an experiment, each once, and the settings in which configs differ.

use basecase_model::{BuildFacts, CandidateFacts, ConfigFacts, Dbms, Experiment};

/// A config as one dbms reads it.
pub struct DistinctConfig<'a> {
    /// The dbms.
    pub dbms: Dbms,
    /// Its name; with a build if the name means other settings for another version.
    pub label: String,
    /// What it says.
    pub facts: &'a ConfigFacts,
}

/// The configs in the order of the candidates, each once.
pub fn distinct_configs(experiment: &Experiment) -> Vec<DistinctConfig<'_>> {
    let mut found: Vec<&CandidateFacts> = Vec::new();
    for candidate in &experiment.candidates {
        if !found
            .iter()
            .any(|other| (other.build.dbms, &other.config) == (candidate.build.dbms, &candidate.config))
        {
            found.push(candidate);
        }
    }
    let is_ambiguous = |candidate: &CandidateFacts| {
        let same = |other: &&&CandidateFacts| {
            (other.build.dbms, &other.config.name) == (candidate.build.dbms, &candidate.config.name)
        };
        found.iter().filter(same).count() > 1
    };
    let label = |candidate: &CandidateFacts| match is_ambiguous(candidate) {
        true => format!("{} ({})", candidate.config.name, candidate.build.short),
        false => candidate.config.name.clone(),
    };
    found
        .iter()
        .map(|candidate| DistinctConfig {
            dbms: candidate.build.dbms,
            label: label(candidate),
            facts: &candidate.config,
        })
        .collect()
}

/// The settings in which configs differ, in the order in which they first appear, with the value in each config.
pub fn differing_settings<'a>(configs: &[&'a ConfigFacts]) -> Vec<(&'a str, Vec<Option<&'a str>>)> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in configs.iter().flat_map(|config| &config.settings) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let values = |name: &'a str| {
        let values: Vec<Option<&str>> = configs.iter().map(|config| setting(config, name)).collect();
        values.iter().any(|value| *value != values[0]).then_some((name, values))
    };
    names.into_iter().filter_map(values).collect()
}

/// The effective value: servers use the last of several.
fn setting<'a>(config: &'a ConfigFacts, name: &str) -> Option<&'a str> {
    config.settings.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The builds in the order of the candidates, each once.
pub fn distinct_builds(experiment: &Experiment) -> Vec<&BuildFacts> {
    let mut builds: Vec<&BuildFacts> = Vec::new();
    for candidate in &experiment.candidates {
        if !builds.contains(&&candidate.build) {
            builds.push(&candidate.build);
        }
    }
    builds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_differ_are_listed() {
        let config = |name: &str, settings: &[(&str, &str)]| ConfigFacts {
            name: name.into(),
            settings: settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
            sha256: name.into(),
        };
        let small = config("small", &[("fsync", "on"), ("wal", "1"), ("wal", "2")]);
        let large = config("large", &[("fsync", "on"), ("wal", "3"), ("jit", "off")]);
        let found = differing_settings(&[&small, &large]);
        assert_eq!(found, [("wal", vec![Some("2"), Some("3")]), ("jit", vec![None, Some("off")])]);
    }

    #[test]
    fn one_name_for_two_versions_is_told_apart_by_build() {
        let (mut experiment, _) = crate::fixture::sample();
        experiment.candidates.truncate(2);
        for (number, candidate) in experiment.candidates.iter_mut().enumerate() {
            candidate.build.dbms = Dbms::Mysql;
            candidate.build.short = format!("my{number}");
            candidate.config.name = "z12a".into();
            candidate.config.settings = vec![("redo".into(), number.to_string())];
        }
        let labels: Vec<String> =
            distinct_configs(&experiment).into_iter().map(|config| config.label).collect();
        assert_eq!(labels, ["z12a (my0)", "z12a (my1)"]);
    }
}
