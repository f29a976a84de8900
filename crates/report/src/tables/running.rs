//! Settings that differed between running servers of one dbms.

use std::collections::{BTreeMap, BTreeSet};

use basecase_analysis::{BOUND_TO_DIFFER, is_bound_to_differ, sets};
use basecase_model::{CandidateFacts, Dbms, Experiment};

use super::{Column, Highlight, Row, Table, TableCell};
use crate::words::{brief, first};

/// Most names in one line.
const NAMED: usize = 16;

/// A table for each dbms with several servers whose settings are known; the first is the reference.
pub(crate) fn differences(experiment: &Experiment) -> Vec<Table> {
    let table_of_dbms = |dbms: Dbms| {
        let has_settings =
            |candidate: &&CandidateFacts| candidate.build.dbms == dbms && !candidate.running.is_empty();
        let candidates: Vec<&CandidateFacts> = experiment.candidates.iter().filter(has_settings).collect();
        (candidates.len() > 1).then(|| table(dbms, &candidates))
    };
    Dbms::ALL.into_iter().filter_map(table_of_dbms).collect()
}

fn table(dbms: Dbms, candidates: &[&CandidateFacts]) -> Table {
    let names: BTreeSet<&str> =
        candidates.iter().flat_map(|candidate| candidate.running.keys()).map(String::as_str).collect();
    let mut rows = Vec::new();
    // Names that some servers lack, by the servers that have them.
    let mut partial: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    for name in names.into_iter().filter(|name| !is_bound_to_differ(name)) {
        let having = candidates.iter().filter(|candidate| candidate.running.contains_key(name));
        let having: Vec<&str> = having.map(|candidate| candidate.name.0.as_str()).collect();
        if having.len() < candidates.len() {
            partial.entry(having).or_default().push(name);
        } else {
            rows.extend(row(name, candidates));
        }
    }
    let left_out = BOUND_TO_DIFFER.map(|(what, _)| what).join(", ");
    let mut reading = vec![format!("All settings of the running servers. Left out: {left_out}.")];
    if rows.is_empty() {
        reading.push("All values were the same.".into());
    }
    for (having, names) in partial {
        reading.push(format!("Only in {}: {}.", having.join(", "), first(&names, NAMED)));
    }
    Table {
        caption: format!("Settings that differed between the {dbms} servers"),
        reading: reading.join("\n"),
        legend: vec![(
            Highlight::DefaultChanged,
            "set by no config: the default differs, or follows from another setting".into(),
        )],
        corner: "setting",
        columns: candidates.iter().map(|candidate| Column::words(&candidate.name.0)).collect(),
        rows,
        ..Table::default()
    }
}

/// The values of one setting; `None` if all are equal.
fn row(name: &str, candidates: &[&CandidateFacts]) -> Option<Row> {
    let values: Vec<&str> =
        candidates.iter().filter_map(|candidate| Some(candidate.running.get(name)?.as_str())).collect();
    let first = *values.first()?;
    if values.iter().all(|value| *value == first) {
        return None;
    }
    let cell = |((candidate, value), text): ((&&CandidateFacts, &&str), String)| {
        let changed = *value != first && !sets(candidate, name) && !sets(candidates[0], name);
        TableCell::marked(text, if changed { Highlight::DefaultChanged } else { Highlight::None })
    };
    Some(Row::new(name, candidates.iter().zip(&values).zip(brief(&values)).map(cell).collect()))
}

#[cfg(test)]
mod tests {
    use basecase_analysis::fixture;

    use super::*;

    #[test]
    fn a_changed_default_is_marked_and_a_setting_of_a_config_is_not() {
        let (experiment, _) = fixture::sample();
        let tables = differences(&experiment);
        assert_eq!(tables.len(), 1, "SQLite ran once");
        let rows: Vec<(&str, Vec<(&str, Highlight)>)> = tables[0]
            .rows
            .iter()
            .map(|row| {
                (row.name.as_str(), row.cells.iter().map(|cell| (cell.text.as_str(), cell.mark)).collect())
            })
            .collect();
        use Highlight::{DefaultChanged, None};
        let expected = [
            ("effective_io_concurrency", vec![("1", None), ("1", None), ("16", DefaultChanged)]),
            ("maintenance_io_concurrency", vec![("10", None), ("10", None), ("16", DefaultChanged)]),
            ("synchronous_commit", vec![("on", None), ("off", None), ("on", None)]),
        ];
        assert_eq!(rows, expected);
        assert!(tables[0].reading.contains("Only in pg181.x10a: io_workers."), "{}", tables[0].reading);
        assert!(!tables[0].reading.contains("data_directory"));
    }
}
