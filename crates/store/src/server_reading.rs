//! What servers reported before and after trials, as rows.

use basecase_model::{Measures, ServerReadings};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{Problem, bytes, measure};

/// Largest size of a reading, in bytes. A server reports about a thousand names.
const MOST_BYTES: u64 = 16 << 20;

pub(crate) fn insert(connection: &Connection, trial: &str, readings: &ServerReadings) -> Result<(), Problem> {
    let mut statement = connection
        .prepare_cached("INSERT INTO server_reading (trial, moment, measures) VALUES (?1, ?2, ?3)")?;
    for (moment, measures) in [("start", &readings.start), ("end", &readings.end)] {
        let finite = measure::finite_numbers(measures);
        if !finite.is_empty() {
            let text = serde_json::to_vec(&finite)?;
            statement.execute(params![trial, moment, bytes::compressed(&text)?])?;
        }
    }
    Ok(())
}

pub(crate) fn select(connection: &Connection, trial: &str) -> Result<ServerReadings, Problem> {
    Ok(ServerReadings { start: at(connection, trial, "start")?, end: at(connection, trial, "end")? })
}

fn at(connection: &Connection, trial: &str, moment: &str) -> Result<Measures, Problem> {
    let mut statement =
        connection.prepare_cached("SELECT measures FROM server_reading WHERE trial = ?1 AND moment = ?2")?;
    let read =
        |row: &rusqlite::Row<'_>| Ok(bytes::plain_column(row, "measures", MOST_BYTES, "reading of a server"));
    match statement.query_row([trial, moment], read).optional()? {
        Some(text) => Ok(serde_json::from_slice(&text?)?),
        None => Ok(Measures::new()),
    }
}
