//! What the configs of one dbms say differently.

use basecase_model::{ConfigFacts, Dbms, Experiment};

use super::{Cell, Column, Row, Table};

/// The configs in the order of the candidates, each once, with the dbms that reads them.
pub(crate) fn distinct(experiment: &Experiment) -> Vec<(Dbms, &ConfigFacts)> {
    let mut configs: Vec<(Dbms, &ConfigFacts)> = Vec::new();
    for candidate in &experiment.candidates {
        let config = (candidate.build.dbms, &candidate.config);
        if !configs.contains(&config) {
            configs.push(config);
        }
    }
    configs
}

/// The settings in which the configs of one dbms differ, one table for each dbms that has several configs.
pub(crate) fn differences(experiment: &Experiment) -> Vec<Table> {
    let configs = distinct(experiment);
    let of = |dbms| {
        let configs: Vec<&ConfigFacts> =
            configs.iter().filter(|(of, _)| *of == dbms).map(|(_, config)| *config).collect();
        (configs.len() > 1).then(|| table(dbms, &configs))
    };
    Dbms::ALL.into_iter().filter_map(of).collect()
}

fn table(dbms: Dbms, configs: &[&ConfigFacts]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in configs.iter().flat_map(|config| &config.settings) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let row = |name: &str| {
        let values: Vec<Option<&str>> = configs.iter().map(|config| setting(config, name)).collect();
        let differs = values.iter().any(|value| *value != values[0]);
        let cells = values.into_iter().map(|value| Cell::plain(value.unwrap_or("not set"))).collect();
        differs.then(|| Row::new(name, cells))
    };
    let rows: Vec<Row> = names.into_iter().filter_map(row).collect();
    Table {
        caption: format!("Differences between the {dbms} configs"),
        reading: if rows.is_empty() { "They hold the same settings.".into() } else { String::new() },
        corner: "setting",
        columns: configs.iter().map(|config| Column::words(&config.name)).collect(),
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
        let table = table(Dbms::Postgres, &[&small, &large]);
        let rows: Vec<(&str, &str, &str)> = table
            .rows
            .iter()
            .map(|row| (row.name.as_str(), row.cells[0].text.as_str(), row.cells[1].text.as_str()))
            .collect();
        assert_eq!(rows, [("wal", "2", "3"), ("jit", "not set", "off")]);
    }
}
