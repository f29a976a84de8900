//! Keys and ids, as today's code computes them from what is stored.

use basecase_model::{Cell, Experiment};
use basecase_store::Store;
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::each;

/// The cells of an experiment in the order of its candidates and steps, each with its key and its text as stored.
pub(crate) fn cells(store: &Connection, experiment: &Experiment) -> Vec<(String, String)> {
    let mut statement = store
        .prepare(
            "SELECT cell.key, cell.facts FROM cell JOIN experiment_cell ON experiment_cell.cell = cell.key
             WHERE experiment = ?1 AND candidate = ?2 AND json_extract(cell.facts, '$.step') = ?3",
        )
        .unwrap();
    let mut cells = Vec::new();
    for candidate in &experiment.candidates {
        for step in &experiment.steps {
            let names = [&experiment.id, &candidate.name.0, &step.name];
            cells.push(statement.query_row(names, |row| Ok((row.get(0)?, row.get(1)?))).unwrap());
        }
    }
    cells
}

/// The id of the experiment that has these keys.
pub(crate) fn experiment_id<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    keys.into_iter().for_each(|key| hasher.update(key));
    hasher.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The only experiment of a store.
pub(crate) fn experiment(store: &Store) -> Experiment {
    let [experiment] = store.experiments().unwrap().try_into().unwrap();
    experiment
}

#[test]
fn keys_and_ids_follow_from_what_is_stored() {
    each(|golden| {
        let (_sandbox, path) = golden.unpack();
        let experiment = experiment(&Store::open_read_only(&path).unwrap());
        let cells = cells(&Connection::open(&path).unwrap(), &experiment);
        for (key, text) in &cells {
            let cell: Cell = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&cell).unwrap(), *text, "{}", golden.name);
            assert_eq!(cell.key(), *key, "{}: {text}", golden.name);
        }
        let id = experiment_id(cells.iter().map(|(key, _)| key.as_str()));
        assert_eq!(id, experiment.id, "{}", golden.name);
    });
}
