//! The counters and gauges of a trial as one row.

use std::collections::BTreeMap;

use basecase_model::Measures;
use rusqlite::{Connection, OptionalExtension, params};

use crate::Problem;
use crate::trial::trials_in;

pub(crate) fn insert(
    connection: &Connection,
    trial: &str,
    counters: &Measures,
    gauges: &Measures,
) -> Result<(), Problem> {
    let (counters, gauges) = (finite_numbers(counters), finite_numbers(gauges));
    if counters.is_empty() && gauges.is_empty() {
        return Ok(());
    }
    let mut statement =
        connection.prepare_cached("INSERT INTO measures (trial, counters, gauges) VALUES (?1, ?2, ?3)")?;
    statement.execute(params![trial, serde_json::to_string(&counters)?, serde_json::to_string(&gauges)?])?;
    Ok(())
}

/// JSON has no other numbers.
pub(crate) fn finite_numbers(measures: &Measures) -> BTreeMap<&str, f64> {
    measures.iter().filter(|(_, value)| value.is_finite()).collect()
}

/// Counters and gauges.
pub(crate) fn select(connection: &Connection, trial: &str) -> Result<(Measures, Measures), Problem> {
    let mut statement =
        connection.prepare_cached("SELECT counters, gauges FROM measures WHERE trial = ?1")?;
    let read = |row: &rusqlite::Row<'_>| {
        let json = |column: usize| -> rusqlite::Result<_> {
            let text = row.get_ref(column)?.as_str()?;
            Ok(serde_json::from_str::<Measures>(text))
        };
        Ok((json(0)?, json(1)?))
    };
    match statement.query_row([trial], read).optional()? {
        Some((counters, gauges)) => Ok((counters?, gauges?)),
        None => Ok((Measures::new(), Measures::new())),
    }
}

/// Moves measures from the table that had a row for each, until version 10.
pub(crate) fn pack(connection: &Connection) -> Result<(), Problem> {
    let mut statement =
        connection.prepare("SELECT name, value FROM measure WHERE trial = ?1 AND kind = ?2")?;
    let mut rows_of = |trial: &str, kind: &str| -> Result<Measures, Problem> {
        let mut rows = statement.query([trial, kind])?;
        let mut measures = Measures::new();
        while let Some(row) = rows.next()? {
            measures.set(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?, row.get(1)?);
        }
        Ok(measures)
    };
    for trial in trials_in(connection, "measure")? {
        insert(connection, &trial, &rows_of(&trial, "counter")?, &rows_of(&trial, "gauge")?)?;
    }
    Ok(())
}
