//! Sessions as rows.

use basecase_model::SessionRecord;
use rusqlite::{Connection, params};

use crate::Problem;

pub(crate) fn insert(
    connection: &Connection,
    trial: &str,
    sessions: &[SessionRecord],
) -> Result<(), Problem> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO session (trial, number, seed, first_pass, passes, operations, counters)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for session in sessions {
        statement.execute(params![
            trial,
            session.number,
            format!("{:016x}", session.seed),
            session.first_pass,
            session.passes,
            session.operations,
            serde_json::to_string(&session.counters)?,
        ])?;
    }
    Ok(())
}

pub(crate) fn select(connection: &Connection, trial: &str) -> Result<Vec<SessionRecord>, Problem> {
    let mut statement = connection.prepare_cached(
        "SELECT number, seed, first_pass, passes, operations, counters FROM session
         WHERE trial = ?1 ORDER BY number",
    )?;
    let mut rows = statement.query([trial])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        let seed: String = row.get(1)?;
        let counters: String = row.get(5)?;
        sessions.push(SessionRecord {
            number: row.get(0)?,
            seed: u64::from_str_radix(&seed, 16)
                .map_err(|_| Problem::Damaged(format!("cannot read a session: its seed is {seed}")))?,
            first_pass: row.get(2)?,
            passes: row.get(3)?,
            operations: row.get(4)?,
            counters: serde_json::from_str(&counters)?,
        });
    }
    Ok(sessions)
}
