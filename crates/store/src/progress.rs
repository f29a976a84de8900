//! The step in flight.

use basecase_model::Place;
use rusqlite::{Connection, OptionalExtension, params};

use crate::Problem;

/// A step that has begun and whose trial is not stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFlight {
    /// The experiment's id.
    pub experiment: String,
    /// Key of the cell.
    pub cell: String,
    /// The step's name.
    pub step: String,
    /// The candidate's printed name.
    pub candidate: String,
    /// Its place in the schedule.
    pub place: Place,
}

pub(crate) fn replace(connection: &Connection, step: &InFlight) -> Result<(), Problem> {
    connection.execute(
        "INSERT OR REPLACE INTO in_flight (id, experiment, cell, step, candidate, round, pass, position)
         VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            step.experiment,
            step.cell,
            step.step,
            step.candidate,
            step.place.round,
            step.place.pass,
            step.place.position
        ],
    )?;
    Ok(())
}

pub(crate) fn select(connection: &Connection) -> Result<Option<InFlight>, Problem> {
    let step = connection
        .query_row("SELECT * FROM in_flight", [], |row| {
            Ok(InFlight {
                experiment: row.get("experiment")?,
                cell: row.get("cell")?,
                step: row.get("step")?,
                candidate: row.get("candidate")?,
                place: Place {
                    round: row.get("round")?,
                    pass: row.get("pass")?,
                    position: row.get("position")?,
                },
            })
        })
        .optional()?;
    Ok(step)
}

pub(crate) fn clear(connection: &Connection) -> Result<(), Problem> {
    connection.execute("DELETE FROM in_flight", [])?;
    Ok(())
}
