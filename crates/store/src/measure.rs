//! The counters and gauges of a trial as one row.

use std::collections::BTreeMap;

use basecase_model::Measures;
use rusqlite::{Connection, OptionalExtension, params};

use crate::Problem;

pub(crate) fn insert(
    connection: &Connection,
    trial: &str,
    counters: &Measures,
    gauges: &Measures,
) -> Result<(), Problem> {
    let (counters, gauges) = (finite(counters), finite(gauges));
    if counters.is_empty() && gauges.is_empty() {
        return Ok(());
    }
    let mut statement =
        connection.prepare_cached("INSERT INTO measures (trial, counters, gauges) VALUES (?1, ?2, ?3)")?;
    statement.execute(params![trial, serde_json::to_string(&counters)?, serde_json::to_string(&gauges)?])?;
    Ok(())
}

/// JSON has no other numbers.
pub(crate) fn finite(measures: &Measures) -> BTreeMap<&str, f64> {
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
        connection.prepare("SELECT trial, kind = 'counter', name, value FROM measure ORDER BY trial")?;
    let mut rows = statement.query([])?;
    let (mut trial, mut counters, mut gauges) = (String::new(), Measures::new(), Measures::new());
    while let Some(row) = rows.next()? {
        let text = |column| -> Result<&str, Problem> {
            Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
        };
        let own = text(0)?;
        if own != trial {
            insert(connection, &trial, &counters, &gauges)?;
            own.clone_into(&mut trial);
            (counters, gauges) = (Measures::new(), Measures::new());
        }
        let measures = if row.get(1)? { &mut counters } else { &mut gauges };
        measures.set(text(2)?, row.get(3)?);
    }
    insert(connection, &trial, &counters, &gauges)
}
