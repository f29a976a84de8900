//! Query plans as rows.

use basecase_model::StatementPlan;
use rusqlite::{Connection, params};

use crate::Problem;

pub(crate) fn insert(connection: &Connection, trial: &str, plans: &[StatementPlan]) -> Result<(), Problem> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO plan (trial, number, statement, sql, text) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (number, plan) in plans.iter().enumerate() {
        statement.execute(params![trial, number, plan.statement, plan.sql, plan.text])?;
    }
    Ok(())
}

pub(crate) fn select(connection: &Connection, trial: &str) -> Result<Vec<StatementPlan>, Problem> {
    let mut statement = connection
        .prepare_cached("SELECT statement, sql, text FROM plan WHERE trial = ?1 ORDER BY number")?;
    let plans = statement.query_map([trial], |row| {
        Ok(StatementPlan { statement: row.get(0)?, sql: row.get(1)?, text: row.get(2)? })
    })?;
    Ok(plans.collect::<Result<_, _>>()?)
}
