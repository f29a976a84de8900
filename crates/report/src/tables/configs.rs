//! Differences between the configs of one dbms.

use basecase_analysis::{DistinctConfig, differing_settings, distinct_configs};
use basecase_model::{ConfigFacts, Dbms, Experiment};

use super::{Column, Row, Table, TableCell};

/// Settings that differ between the configs of one dbms, a table for each dbms with several configs.
pub(crate) fn differences(experiment: &Experiment) -> Vec<Table> {
    let configs = distinct_configs(experiment);
    let differences = |dbms| {
        let own = configs.iter().filter(|config| config.dbms == dbms);
        let own: Vec<&DistinctConfig<'_>> = own.collect();
        (own.len() > 1).then(|| table(dbms, &own))
    };
    Dbms::ALL.into_iter().filter_map(differences).collect()
}

fn table(dbms: Dbms, configs: &[&DistinctConfig<'_>]) -> Table {
    let facts: Vec<&ConfigFacts> = configs.iter().map(|config| config.facts).collect();
    let row = |(name, values): (&str, Vec<Option<&str>>)| {
        Row::new(name, values.into_iter().map(|value| TableCell::plain(value.unwrap_or("not set"))).collect())
    };
    let rows: Vec<Row> = differing_settings(&facts).into_iter().map(row).collect();
    Table {
        caption: format!("Differences between the {dbms} configs"),
        reading: if rows.is_empty() { "Their settings are the same.".into() } else { String::new() },
        corner: "setting",
        columns: configs.iter().map(|config| Column::words(&config.label)).collect(),
        rows,
        ..Table::default()
    }
}
