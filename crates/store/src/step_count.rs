//! Counts of instructions as rows.

use basecase_model::{Cell, StepCount};
use rusqlite::{Connection, Row, params};

use crate::{Problem, bytes};

/// Largest size of a count with all its functions, in bytes.
const MOST_BYTES: u64 = 64 << 20;

pub(crate) fn insert(
    connection: &Connection,
    experiment: &str,
    cell: &Cell,
    count: &StepCount,
) -> Result<(), Problem> {
    let key = cell.key();
    if count.cell != key {
        return Err(Problem::WrongCell { trial: count.cell.clone(), cell: key });
    }
    connection
        .prepare_cached(
            "INSERT INTO step_count (cell, experiment, start, started_at, status, counts)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            key,
            experiment,
            count.start,
            count.started_at,
            if count.is_complete() { "complete" } else { "failed" },
            bytes::compressed(&serde_json::to_vec(count)?)?,
        ])?;
    Ok(())
}

/// The counts of an experiment's cells, by cell and start. Candidates are named as in this experiment. Where stores were merged that both
/// counted a start, the earlier count stands.
pub(crate) fn select_of_experiment(
    connection: &Connection,
    experiment: &str,
) -> Result<Vec<StepCount>, Problem> {
    let mut statement = connection.prepare_cached(
        "SELECT step_count.*, link.candidate AS shown
         FROM experiment_cell AS link JOIN step_count ON step_count.cell = link.cell
         WHERE link.experiment = ?1 AND NOT (status = 'complete' AND EXISTS (
             SELECT 1 FROM step_count AS earlier
             WHERE earlier.cell = step_count.cell AND earlier.start = step_count.start
                 AND earlier.status = 'complete' AND earlier.started_at < step_count.started_at))
         ORDER BY started_at, step_count.cell, start",
    )?;
    let mut rows = statement.query([experiment])?;
    let mut counts = Vec::new();
    while let Some(row) = rows.next()? {
        let shown: String = row.get("shown")?;
        counts.push(StepCount { candidate: shown, ..read(row)? });
    }
    Ok(counts)
}

pub(crate) fn read(row: &Row<'_>) -> Result<StepCount, Problem> {
    Ok(serde_json::from_slice(&bytes::plain_column(row, "counts", MOST_BYTES, "count")?)?)
}
