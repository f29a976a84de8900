//! Slices as rows.

use basecase_model::Slice;
use rusqlite::{Connection, params};

use crate::Problem;
use crate::trial::finite;

pub(crate) fn insert(connection: &Connection, trial: &str, slices: &[Slice]) -> Result<(), Problem> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO slice (trial, number, pass, position, opened_us, length_us, operations, rate,
             warm_up_operations, server_cpu_us, others_cpu_us, steal_us, canary_ns)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for (number, slice) in slices.iter().enumerate() {
        statement.execute(params![
            trial,
            number,
            slice.pass,
            slice.position,
            slice.opened_us,
            finite(slice.length_us, "length of a slice")?,
            slice.operations,
            finite(slice.rate, "rate of a slice")?,
            slice.warm_up_operations,
            slice.server_cpu_us,
            slice.others_cpu_us,
            slice.steal_us,
            slice.canary_ns,
        ])?;
    }
    Ok(())
}

pub(crate) fn select(connection: &Connection, trial: &str) -> Result<Vec<Slice>, Problem> {
    // By place: a trial has dozens of slices, and a column's name is searched for in each.
    let mut statement = connection.prepare_cached(
        "SELECT pass, position, opened_us, length_us, operations, rate, warm_up_operations, server_cpu_us,
             others_cpu_us, steal_us, canary_ns
         FROM slice WHERE trial = ?1 ORDER BY number",
    )?;
    let slices = statement.query_map([trial], |row| {
        Ok(Slice {
            pass: row.get(0)?,
            position: row.get(1)?,
            opened_us: row.get(2)?,
            length_us: row.get(3)?,
            operations: row.get(4)?,
            rate: row.get(5)?,
            warm_up_operations: row.get(6)?,
            server_cpu_us: row.get(7)?,
            others_cpu_us: row.get(8)?,
            steal_us: row.get(9)?,
            canary_ns: row.get(10)?,
        })
    })?;
    Ok(slices.collect::<Result<_, _>>()?)
}
