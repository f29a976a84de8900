//! Records of a trial's roles as rows.

use basecase_model::{PackedHistogram, RoleRecord, Series};
use rusqlite::{Connection, Row, params};

use crate::{Problem, bytes, samples, trial};

pub(crate) fn insert(
    connection: &Connection,
    trial: &str,
    number: usize,
    record: &RoleRecord,
) -> Result<(), Problem> {
    connection
        .prepare_cached(
            "INSERT INTO role (trial, number, client, role, class, statements, items, affected, fetched, retries,
                 mismatches, started_us, ended_us, client_cpu_us, server_cpu_us, asides, interval_ms, samples,
                 service, response, events)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                 ?21)",
        )?
        .execute(params![
            trial,
            number,
            record.client,
            record.role,
            record.class.as_str(),
            record.statements,
            record.items,
            record.affected,
            record.fetched,
            record.retries,
            record.mismatches,
            record.started_us,
            record.ended_us,
            trial::finite(record.client_cpu_us, "client_cpu_us")?,
            record.server_cpu_us.filter(|time_us| time_us.is_finite()),
            serde_json::to_string(&record.asides)?,
            record.series.interval_ms,
            samples::to_bytes(&record.series.samples)?,
            record.service.to_bytes()?,
            record.response.as_ref().map(PackedHistogram::to_bytes).transpose()?,
            record.events,
        ])?;
    Ok(())
}

/// The columns of what a role did, in the order in which [`totals`] reads them. By place, because a name is searched for in each row; and
/// without the large ones, which SQLite reads as soon as they are named.
macro_rules! totals {
    () => {
        "client, role, class, statements, items, events, affected, fetched, retries, mismatches, started_us,
            ended_us, client_cpu_us, server_cpu_us, asides, interval_ms, response IS NOT NULL"
    };
}

/// All roles of the store, in the form that [`read`] reads; the trial follows.
pub(crate) const ALL: &str = concat!("SELECT ", totals!(), ", service, response, samples, trial FROM role");

pub(crate) fn select(connection: &Connection, trial: &str) -> Result<Vec<RoleRecord>, Problem> {
    let query = concat!(
        "SELECT ",
        totals!(),
        ", service, response, samples FROM role WHERE trial = ?1 ORDER BY number"
    );
    select_by(connection, query, trial, read)
}

/// The same without latencies and samples.
pub(crate) fn select_totals(connection: &Connection, trial: &str) -> Result<Vec<RoleRecord>, Problem> {
    let query = concat!("SELECT ", totals!(), " FROM role WHERE trial = ?1 ORDER BY number");
    select_by(connection, query, trial, totals)
}

fn select_by(
    connection: &Connection,
    query: &str,
    trial: &str,
    read: impl Fn(&Row<'_>) -> Result<RoleRecord, Problem>,
) -> Result<Vec<RoleRecord>, Problem> {
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query([trial])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(read(row)?);
    }
    Ok(records)
}

/// What roles did and when, without times of statements, samples and counters.
pub(crate) fn select_in_brief(connection: &Connection, trial: &str) -> Result<Vec<RoleRecord>, Problem> {
    let mut statement = connection.prepare_cached(
        "SELECT client, role, class, interval_ms, statements, items, events, started_us, ended_us,
             response IS NOT NULL
         FROM role WHERE trial = ?1 ORDER BY number",
    )?;
    let mut rows = statement.query([trial])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let (role, class): (String, String) = (row.get(1)?, row.get(2)?);
        let class = serde_json::from_value(class.into())?;
        records.push(RoleRecord {
            statements: row.get(4)?,
            items: row.get(5)?,
            events: row.get(6)?,
            started_us: row.get(7)?,
            ended_us: row.get(8)?,
            response: row.get::<_, bool>(9)?.then(PackedHistogram::default),
            ..RoleRecord::idle(row.get(0)?, &role, class, row.get(3)?)
        });
    }
    Ok(records)
}

/// Decodes one row of the table `role`, see [`ALL`].
pub(crate) fn read(row: &Row<'_>) -> Result<RoleRecord, Problem> {
    let totals = totals(row)?;
    let most = bytes::most_intervals(totals.ended_us as f64, totals.series.interval_ms);
    let blob = |column: usize| row.get::<_, Option<Vec<u8>>>(column);
    Ok(RoleRecord {
        service: PackedHistogram::from_bytes(&blob(17)?.unwrap_or_default())?,
        response: blob(18)?.map(|bytes| PackedHistogram::from_bytes(&bytes)).transpose()?,
        series: Series {
            interval_ms: totals.series.interval_ms,
            samples: samples::from_bytes(&blob(19)?.unwrap_or_default(), most)?,
        },
        ..totals
    })
}

/// The same without latencies and samples.
fn totals(row: &Row<'_>) -> Result<RoleRecord, Problem> {
    let (class, asides): (String, String) = (row.get(2)?, row.get(14)?);
    Ok(RoleRecord {
        client: row.get(0)?,
        role: row.get(1)?,
        class: serde_json::from_value(class.into())?,
        statements: row.get(3)?,
        items: row.get(4)?,
        events: row.get(5)?,
        affected: row.get(6)?,
        fetched: row.get(7)?,
        retries: row.get(8)?,
        mismatches: row.get(9)?,
        started_us: row.get(10)?,
        ended_us: row.get(11)?,
        client_cpu_us: row.get(12)?,
        server_cpu_us: row.get(13)?,
        service: PackedHistogram::default(),
        response: row.get::<_, bool>(16)?.then(PackedHistogram::default),
        series: Series { interval_ms: row.get(15)?, samples: Vec::new() },
        asides: serde_json::from_str(&asides)?,
    })
}
