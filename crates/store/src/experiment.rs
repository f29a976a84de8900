//! Experiments and their cells.

use std::collections::HashMap;

use basecase_model::{CandidateName, Cell, Experiment};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::Problem;

pub(crate) fn insert(connection: &Connection, experiment: &Experiment) -> Result<(), Problem> {
    connection.execute(
        "INSERT INTO experiment (id, name, created_at, facts, sequence)
         VALUES (?1, ?2, ?3, ?4, (SELECT coalesce(max(sequence), 0) + 1 FROM experiment))
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, facts = excluded.facts",
        params![experiment.id, experiment.name, experiment.created_at, serde_json::to_string(experiment)?],
    )?;
    Ok(())
}

/// Stores a cell and links it to the experiment.
pub(crate) fn insert_cell(
    connection: &Connection,
    experiment: &str,
    candidate: &str,
    cell: &Cell,
) -> Result<(), Problem> {
    insert_cell_with_key(connection, experiment, candidate, cell, &cell.key())
}

/// Stores cells and links them to the experiment. Those of an experiment that goes on are linked already, and asking for all of them at once
/// takes a fraction of the time.
pub(crate) fn insert_cells(
    connection: &Connection,
    experiment: &str,
    cells: &[(CandidateName, Cell)],
) -> Result<(), Problem> {
    let mut statement =
        connection.prepare_cached("SELECT cell, candidate FROM experiment_cell WHERE experiment = ?1")?;
    let linked: HashMap<String, String> =
        statement.query_map([experiment], texts)?.collect::<Result<_, _>>()?;
    for (candidate, cell) in cells {
        let key = cell.key();
        if linked.get(&key) != Some(&candidate.0) {
            insert_cell_with_key(connection, experiment, &candidate.0, cell, &key)?;
        }
    }
    Ok(())
}

fn insert_cell_with_key(
    connection: &Connection,
    experiment: &str,
    candidate: &str,
    cell: &Cell,
    key: &str,
) -> Result<(), Problem> {
    connection
        .prepare_cached("INSERT INTO cell (key, facts) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING")?
        .execute(params![key, serde_json::to_string(cell)?])?;
    connection
        .prepare_cached(
            "INSERT INTO experiment_cell (experiment, cell, candidate) VALUES (?1, ?2, ?3)
             ON CONFLICT (experiment, cell) DO UPDATE SET candidate = excluded.candidate WHERE candidate <> excluded.candidate",
        )?
        .execute(params![experiment, key, candidate])?;
    Ok(())
}

pub(crate) fn select(connection: &Connection, id: &str) -> Result<Option<Experiment>, Problem> {
    connection
        .query_row("SELECT facts, created_at FROM experiment WHERE id = ?1", [id], texts)
        .optional()?
        .map(read)
        .transpose()
}

pub(crate) fn select_all(connection: &Connection) -> Result<Vec<Experiment>, Problem> {
    let mut statement = connection.prepare("SELECT facts, created_at FROM experiment ORDER BY sequence")?;
    let rows = statement.query_map([], texts)?;
    rows.map(|row| read(row?)).collect()
}

fn texts(row: &Row<'_>) -> rusqlite::Result<(String, String)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn read((facts, created_at): (String, String)) -> Result<Experiment, Problem> {
    let experiment: Experiment = serde_json::from_str(&facts)?;
    Ok(Experiment { created_at, ..experiment })
}
