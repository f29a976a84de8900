//! Trials as rows.

use std::collections::BTreeMap;

use basecase_model::{
    Cell, Check, Observation, Place, RoleRecord, State, TableState, Trial, TrialStatus, hexadecimal,
};
use rusqlite::{Connection, Row, params};
use sha2::{Digest, Sha256};

use crate::{Problem, measure, plan, profile, role, server_reading, session_record, slice, statement, track};

/// The columns of a trial's own row, in the order in which [`head`] reads them; the name that the candidate is shown by follows. By place,
/// because a name is searched for in each row.
macro_rules! columns {
    () => {
        "trial.id, trial.warnings, trial.cell, trial.experiment, trial.step, trial.round, trial.pass, trial.position,
            trial.placement, trial.started_at, trial.seconds, trial.observation, trial.reason, trial.log_tail"
    };
}

/// How many trials an experiment has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrialCounts {
    /// Those with a result.
    pub complete: usize,
    /// Those that failed.
    pub failed: usize,
}

/// How much of a trial is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// All that is stored.
    Whole,
    /// What its own row tells, and of its roles what they did and when. Of very many trials this is read soon.
    Brief,
}

/// A trial's id: the first 32 hexadecimal digits of the SHA-256 of its identifying values, as a JSON array.
pub(crate) fn id_of(
    experiment: &str,
    cell: &str,
    candidate: &str,
    place: Place,
    started_at: &str,
) -> Result<String, Problem> {
    let parts = (experiment, cell, candidate, place.round, place.pass, place.position, started_at);
    let digest = Sha256::digest(serde_json::to_vec(&parts)?);
    Ok(hexadecimal(&digest[..16]))
}

pub(crate) fn insert(
    connection: &Connection,
    experiment: &str,
    cell: &Cell,
    trial: &Trial,
) -> Result<String, Problem> {
    let key = cell.key();
    if trial.cell != key {
        return Err(Problem::WrongCell { trial: trial.cell.clone(), cell: key });
    }
    let place = trial.place;
    if trial.is_complete() && has_complete(connection, experiment, trial)? {
        return Err(Problem::Repeated { step: trial.step.clone(), round: place.round + 1 });
    }
    let id = id_of(experiment, &key, &trial.candidate, place, &trial.started_at)?;
    let (status, reason, log_tail) = match &trial.status {
        TrialStatus::Complete => ("complete", None, None),
        TrialStatus::Failed { reason, log_tail } => ("failed", Some(reason), Some(log_tail)),
    };
    connection
        .prepare_cached(
            "INSERT INTO trial (id, experiment, cell, step, candidate, round, pass, position, placement,
                 started_at, seconds, status, reason, log_tail, protocol_revision, warnings, observation, sequence)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 (SELECT coalesce(max(sequence), 0) + 1 FROM trial))",
        )?
        .execute(params![
            id,
            experiment,
            key,
            trial.step,
            trial.candidate,
            place.round,
            place.pass,
            place.position,
            trial.placement,
            trial.started_at,
            finite(trial.seconds, "seconds")?,
            status,
            reason,
            log_tail,
            cell.protocol_revision,
            serde_json::to_string(&trial.warnings)?,
            trial.observation.as_str(),
        ])?;
    for (number, record) in trial.roles.iter().enumerate() {
        role::insert(connection, &id, number, record)?;
    }
    statement::insert(connection, &id, &trial.statements)?;
    slice::insert(connection, &id, &trial.slices)?;
    session_record::insert(connection, &id, &trial.sessions)?;
    track::insert(connection, &id, &trial.tracks)?;
    plan::insert(connection, &id, &trial.plans)?;
    profile::insert(connection, &id, &trial.profiles)?;
    measure::insert(connection, &id, &trial.counters, &trial.gauges)?;
    server_reading::insert(connection, &id, &trial.server_readings)?;
    insert_state(connection, &id, &trial.state)?;
    insert_checks(connection, &id, &trial.checks)?;
    Ok(id)
}

/// Whether the experiment already has a complete trial of this cell and round, likewise profiled or not.
fn has_complete(connection: &Connection, experiment: &str, trial: &Trial) -> Result<bool, Problem> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM trial WHERE cell = ?1 AND round = ?2 AND experiment = ?3
             AND (observation = 'profiled') = ?4 AND status = 'complete'",
    )?;
    let is_profiled = trial.observation == Observation::Profiled;
    Ok(statement.exists(params![trial.cell, trial.place.round, experiment, is_profiled])?)
}

/// Adds a warning to a stored trial, unless it already has it.
pub(crate) fn add_warning(connection: &Connection, trial: &Trial, warning: &str) -> Result<(), Problem> {
    let of_trial = params![trial.cell, trial.place.round, trial.measured_by, trial.started_at];
    let known: String = connection.query_row(
        "SELECT warnings FROM trial WHERE cell = ?1 AND round = ?2 AND experiment = ?3 AND started_at = ?4",
        of_trial,
        |row| row.get(0),
    )?;
    let mut warnings: Vec<String> = serde_json::from_str(&known)?;
    if warnings.iter().any(|known| known == warning) {
        return Ok(());
    }
    warnings.push(warning.to_owned());
    connection.execute(
        "UPDATE trial SET warnings = ?5 WHERE cell = ?1 AND round = ?2 AND experiment = ?3 AND started_at = ?4",
        params![
            trial.cell,
            trial.place.round,
            trial.measured_by,
            trial.started_at,
            serde_json::to_string(&warnings)?
        ],
    )?;
    Ok(())
}

/// `value`, unless it is infinite or NaN.
pub(crate) fn finite(value: f64, name: &'static str) -> Result<f64, Problem> {
    if value.is_finite() { Ok(value) } else { Err(Problem::NotFinite(name)) }
}

/// The ids of the trials that have rows in a table.
pub(crate) fn trials_in(connection: &Connection, table: &str) -> Result<Vec<String>, Problem> {
    let mut statement = connection.prepare(&format!("SELECT DISTINCT trial FROM {table}"))?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

fn insert_state(connection: &Connection, id: &str, state: &State) -> Result<(), Problem> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO table_state (trial, number, name, rows, min_id, max_id, last_value)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (number, table) in state.tables.iter().enumerate() {
        let TableState { table, rows, min_id, max_id, last_value } = table;
        statement.execute(params![id, number, table, rows, min_id, max_id, last_value])?;
    }
    Ok(())
}

fn insert_checks(connection: &Connection, id: &str, checks: &[Check]) -> Result<(), Problem> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO comparison (trial, number, name, expected, actual, passed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (number, check) in checks.iter().enumerate() {
        statement.execute(params![id, number, check.name, check.expected, check.actual, check.passed])?;
    }
    Ok(())
}

pub(crate) fn select_of_experiment(connection: &Connection, experiment: &str) -> Result<Vec<Trial>, Problem> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        ", link.candidate FROM experiment_cell AS link JOIN trial ON trial.cell = link.cell
         WHERE link.experiment = ?1 ORDER BY sequence"
    ))?;
    let rows = statement.query_map([experiment], head)?;
    rows.map(|row| whole(connection, row?)).collect()
}

/// The first problem with reading a trial, of each experiment that measured one that cannot be read.
pub(crate) fn problems_by_experiment(connection: &Connection) -> Result<BTreeMap<String, Problem>, Problem> {
    let mut statement = connection.prepare(concat!("SELECT ", columns!(), ", candidate FROM trial"))?;
    let mut rows = statement.query([])?;
    let mut problems = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let read = head(row).map_err(Problem::from).and_then(|head| whole(connection, head));
        if let Err(problem) = read {
            problems.entry(row.get(3)?).or_insert(problem);
        }
    }
    Ok(problems)
}

pub(crate) fn exists_of_steps(
    connection: &Connection,
    experiment: &str,
    steps: &[&str],
) -> Result<bool, Problem> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM experiment_cell AS link JOIN trial ON trial.cell = link.cell
         WHERE link.experiment = ?1 AND trial.experiment = ?1 AND status = 'complete'
             AND step IN (SELECT value FROM json_each(?2))",
    )?;
    Ok(statement.exists(params![experiment, serde_json::to_string(steps)?])?)
}

/// How many trials of each experiment are complete, and how many failed. A cell that experiments share counts in each.
pub(crate) fn select_counts(connection: &Connection) -> Result<BTreeMap<String, TrialCounts>, Problem> {
    let mut statement = connection.prepare_cached(
        "WITH counted AS MATERIALIZED (
             SELECT cell, sum(status = 'complete') AS complete, sum(status <> 'complete') AS failed
             FROM trial GROUP BY cell)
         SELECT link.experiment, sum(complete), sum(failed)
         FROM experiment_cell AS link JOIN counted ON counted.cell = link.cell GROUP BY link.experiment",
    )?;
    let rows = statement.query_map([], |row| {
        Ok((
            row.get(0)?,
            TrialCounts { complete: row.get::<_, u32>(1)? as usize, failed: row.get::<_, u32>(2)? as usize },
        ))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn select_of_cells(connection: &Connection, cells: &[String]) -> Result<Vec<Trial>, Problem> {
    select_where(connection, "cell", &serde_json::to_string(cells)?, whole)
}

/// The trials with these ids, as far as verdicts and their causes need them.
pub(crate) fn select_judged(connection: &Connection, ids: &[&str]) -> Result<Vec<Trial>, Problem> {
    select_where(connection, "id", &serde_json::to_string(ids)?, judged)
}

/// The trials with one of these values, a list as JSON, in a column.
fn select_where(
    connection: &Connection,
    column: &str,
    values: &str,
    complete: impl Fn(&Connection, Head) -> Result<Trial, Problem>,
) -> Result<Vec<Trial>, Problem> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {}, candidate FROM trial
         WHERE {column} IN (SELECT value FROM json_each(?1)) ORDER BY sequence",
        columns!()
    ))?;
    let rows = statement.query_map([values], head)?;
    rows.map(|row| complete(connection, row?)).collect()
}

pub(crate) fn select_complete(
    connection: &Connection,
    cell: &str,
    round: u32,
    is_profiled: bool,
    detail: Detail,
) -> Result<Option<Trial>, Problem> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        ", candidate FROM trial
         WHERE cell = ?1 AND round = ?2 AND (observation = 'profiled') = ?3 AND status = 'complete' ORDER BY sequence DESC LIMIT 1"
    ))?;
    let mut rows = statement.query_map(params![cell, round, is_profiled], head)?;
    let complete = |head| match detail {
        Detail::Whole => whole(connection, head),
        Detail::Brief => brief(connection, head),
    };
    rows.next().map(|row| complete(row?)).transpose()
}

/// A trial's id, its warnings as JSON, and the trial as far as its own row describes it.
type Head = (String, String, Trial);

fn head(row: &Row<'_>) -> rusqlite::Result<Head> {
    let status = match row.get(12)? {
        None => TrialStatus::Complete,
        Some(reason) => TrialStatus::Failed { reason, log_tail: row.get(13)? },
    };
    let place = Place { round: row.get(5)?, pass: row.get(6)?, position: row.get(7)? };
    let (step, candidate): (String, String) = (row.get(4)?, row.get(14)?);
    let observation: String = row.get(11)?;
    let trial = Trial {
        observation: Observation::ALL
            .into_iter()
            .find(|known| known.as_str() == observation)
            .unwrap_or(Observation::Off),
        measured_by: row.get(3)?,
        placement: row.get(8)?,
        seconds: row.get(10)?,
        status,
        ..Trial::empty(row.get(2)?, &step, &candidate, place, row.get(9)?)
    };
    Ok((row.get(0)?, row.get(1)?, trial))
}

/// Completes a trial with what its roles did and when.
fn brief(connection: &Connection, (id, warnings, trial): Head) -> Result<Trial, Problem> {
    let roles = role::select_in_brief(connection, &id)?;
    Ok(Trial { roles, warnings: serde_json::from_str(&warnings)?, ..trial })
}

/// Completes a trial with the rows of the other tables.
fn whole(connection: &Connection, head: Head) -> Result<Trial, Problem> {
    let id = head.0.clone();
    let trial = with_roles(connection, head, role::select)?;
    Ok(Trial {
        statements: statement::select(connection, &id)?,
        tracks: track::select(connection, &id, trial.seconds)?,
        profiles: profile::select(connection, &id)?,
        server_readings: server_reading::select(connection, &id)?,
        state: select_state(connection, &id)?,
        checks: select_checks(connection, &id)?,
        ..trial
    })
}

/// Completes a trial with what verdicts and their causes need. What is left out is most of it.
fn judged(connection: &Connection, head: Head) -> Result<Trial, Problem> {
    with_roles(connection, head, role::select_totals)
}

fn with_roles(
    connection: &Connection,
    (id, warnings, trial): Head,
    select: impl Fn(&Connection, &str) -> Result<Vec<RoleRecord>, Problem>,
) -> Result<Trial, Problem> {
    let (counters, gauges) = measure::select(connection, &id)?;
    Ok(Trial {
        roles: select(connection, &id)?,
        slices: slice::select(connection, &id)?,
        sessions: session_record::select(connection, &id)?,
        plans: plan::select(connection, &id)?,
        counters,
        gauges,
        warnings: serde_json::from_str(&warnings)?,
        ..trial
    })
}

fn select_state(connection: &Connection, id: &str) -> Result<State, Problem> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM table_state WHERE trial = ?1 ORDER BY number")?;
    let tables = statement.query_map([id], |row| {
        Ok(TableState {
            table: row.get("name")?,
            rows: row.get("rows")?,
            min_id: row.get("min_id")?,
            max_id: row.get("max_id")?,
            last_value: row.get("last_value")?,
        })
    })?;
    Ok(State { tables: tables.collect::<Result<_, _>>()? })
}

fn select_checks(connection: &Connection, id: &str) -> Result<Vec<Check>, Problem> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM comparison WHERE trial = ?1 ORDER BY number")?;
    let checks = statement.query_map([id], |row| {
        Ok(Check {
            name: row.get("name")?,
            expected: row.get("expected")?,
            actual: row.get("actual")?,
            passed: row.get("passed")?,
        })
    })?;
    Ok(checks.collect::<Result<_, _>>()?)
}
