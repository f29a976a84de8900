//! Records of a trial's roles as rows.

use basecase_model::{PackedHistogram, RoleRecord, Series};
use rusqlite::types::ValueRef;
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

pub(crate) fn select(connection: &Connection, trial: &str) -> Result<Vec<RoleRecord>, Problem> {
    select_by(connection, trial, read)
}

/// The same without latencies and samples.
pub(crate) fn select_totals(connection: &Connection, trial: &str) -> Result<Vec<RoleRecord>, Problem> {
    select_by(connection, trial, totals)
}

fn select_by(
    connection: &Connection,
    trial: &str,
    read: impl Fn(&Row<'_>) -> Result<RoleRecord, Problem>,
) -> Result<Vec<RoleRecord>, Problem> {
    let mut statement = connection.prepare_cached("SELECT * FROM role WHERE trial = ?1 ORDER BY number")?;
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

/// Decodes one row of the table `role`.
pub(crate) fn read(row: &Row<'_>) -> Result<RoleRecord, Problem> {
    let totals = totals(row)?;
    let most = bytes::most_intervals(totals.ended_us as f64, totals.series.interval_ms);
    let blob = |name: &str| row.get::<_, Option<Vec<u8>>>(name);
    Ok(RoleRecord {
        service: PackedHistogram::from_bytes(&blob("service")?.unwrap_or_default())?,
        response: blob("response")?.map(|bytes| PackedHistogram::from_bytes(&bytes)).transpose()?,
        series: Series {
            interval_ms: totals.series.interval_ms,
            samples: samples::from_bytes(&blob("samples")?.unwrap_or_default(), most)?,
        },
        ..totals
    })
}

/// The same without latencies and samples.
fn totals(row: &Row<'_>) -> Result<RoleRecord, Problem> {
    let class: String = row.get("class")?;
    let asides: String = row.get("asides")?;
    Ok(RoleRecord {
        client: row.get("client")?,
        role: row.get("role")?,
        class: serde_json::from_value(class.into())?,
        statements: row.get("statements")?,
        items: row.get("items")?,
        events: row.get("events")?,
        affected: row.get("affected")?,
        fetched: row.get("fetched")?,
        retries: row.get("retries")?,
        mismatches: row.get("mismatches")?,
        started_us: row.get("started_us")?,
        ended_us: row.get("ended_us")?,
        client_cpu_us: row.get("client_cpu_us")?,
        server_cpu_us: row.get("server_cpu_us")?,
        service: PackedHistogram::default(),
        response: (row.get_ref("response")? != ValueRef::Null).then(PackedHistogram::default),
        series: Series { interval_ms: row.get("interval_ms")?, samples: Vec::new() },
        asides: serde_json::from_str(&asides)?,
    })
}
