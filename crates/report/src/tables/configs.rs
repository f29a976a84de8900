//! What the configs of one dbms say differently.

use basecase_model::{CandidateFacts, ConfigFacts, Dbms, Experiment};

use super::{Cell, Column, Row, Table};

/// A config as one dbms reads it.
pub(crate) struct Distinct<'a> {
    pub(crate) dbms: Dbms,
    /// Its name; with a build where one name means other settings for another version.
    pub(crate) label: String,
    pub(crate) facts: &'a ConfigFacts,
}

/// The configs in the order of the candidates, each once.
pub(crate) fn distinct(experiment: &Experiment) -> Vec<Distinct<'_>> {
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
        .map(|candidate| Distinct {
            dbms: candidate.build.dbms,
            label: label(candidate),
            facts: &candidate.config,
        })
        .collect()
}

/// The settings in which the configs of one dbms differ, one table for each dbms that has several configs.
pub(crate) fn differences(experiment: &Experiment) -> Vec<Table> {
    let configs = distinct(experiment);
    let of = |dbms| {
        let configs: Vec<&Distinct<'_>> = configs.iter().filter(|config| config.dbms == dbms).collect();
        (configs.len() > 1).then(|| table(dbms, &configs))
    };
    Dbms::ALL.into_iter().filter_map(of).collect()
}

fn table(dbms: Dbms, configs: &[&Distinct<'_>]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in configs.iter().flat_map(|config| &config.facts.settings) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let row = |name: &str| {
        let values: Vec<Option<&str>> = configs.iter().map(|config| setting(config.facts, name)).collect();
        let differs = values.iter().any(|value| *value != values[0]);
        let cells = values.into_iter().map(|value| Cell::plain(value.unwrap_or("not set"))).collect();
        differs.then(|| Row::new(name, cells))
    };
    let rows: Vec<Row> = names.into_iter().filter_map(row).collect();
    Table {
        caption: format!("Differences between the {dbms} configs"),
        reading: if rows.is_empty() { "They hold the same settings.".into() } else { String::new() },
        corner: "setting",
        columns: configs.iter().map(|config| Column::words(&config.label)).collect(),
        rows,
        ..Table::default()
    }
}

/// The value that holds: servers take the last of several.
fn setting<'a>(config: &'a ConfigFacts, name: &str) -> Option<&'a str> {
    config.settings.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
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
        let distinct = |facts| Distinct { dbms: Dbms::Postgres, label: String::new(), facts };
        let table = table(Dbms::Postgres, &[&distinct(&small), &distinct(&large)]);
        let rows: Vec<(&str, &str, &str)> = table
            .rows
            .iter()
            .map(|row| (row.name.as_str(), row.cells[0].text.as_str(), row.cells[1].text.as_str()))
            .collect();
        assert_eq!(rows, [("wal", "2", "3"), ("jit", "not set", "off")]);
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
        let labels: Vec<String> = distinct(&experiment).into_iter().map(|config| config.label).collect();
        assert_eq!(labels, ["z12a (my0)", "z12a (my1)"]);
    }
}
