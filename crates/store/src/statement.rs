//! Kinds of statements as rows, two for each: the measured window, and the warm-up.

use basecase_model::{StatementCounts, StatementRecord};
use rusqlite::{Connection, Row, params};

use crate::Problem;

pub(crate) fn insert(
    connection: &Connection,
    trial: &str,
    records: &[StatementRecord],
) -> Result<(), Problem> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO statement (trial, number, name, class, phase, executed, without_effect, affected, undone,
             fetched, mismatches)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    for (number, record) in records.iter().enumerate() {
        for (phase, counts) in [("window", &record.window), ("warm_up", &record.warm_up)] {
            statement.execute(params![
                trial,
                number,
                record.name,
                record.class.as_str(),
                phase,
                counts.executed,
                counts.without_effect,
                counts.affected,
                counts.undone,
                counts.fetched,
                counts.mismatches,
            ])?;
        }
    }
    Ok(())
}

pub(crate) fn select(connection: &Connection, trial: &str) -> Result<Vec<StatementRecord>, Problem> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM statement WHERE trial = ?1 ORDER BY number, phase")?;
    let mut rows = statement.query([trial])?;
    let mut records: Vec<StatementRecord> = Vec::new();
    while let Some(row) = rows.next()? {
        let number: usize = row.get("number")?;
        if records.len() <= number {
            let class: String = row.get("class")?;
            records.push(StatementRecord {
                name: row.get("name")?,
                class: serde_json::from_value(class.into())?,
                window: StatementCounts::default(),
                warm_up: StatementCounts::default(),
            });
        }
        if let Some(record) = records.last_mut() {
            let is_window = row.get_ref("phase")?.as_str().is_ok_and(|phase| phase == "window");
            *(if is_window { &mut record.window } else { &mut record.warm_up }) = counts(row)?;
        }
    }
    Ok(records)
}

fn counts(row: &Row<'_>) -> Result<StatementCounts, Problem> {
    Ok(StatementCounts {
        executed: row.get("executed")?,
        without_effect: row.get("without_effect")?,
        affected: row.get("affected")?,
        undone: row.get("undone")?,
        fetched: row.get("fetched")?,
        mismatches: row.get("mismatches")?,
    })
}
