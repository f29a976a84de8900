//! Tracks as rows.

use basecase_model::{Track, TrackKind};
use rusqlite::{Connection, params};

use crate::{Problem, bytes};

pub(crate) fn insert(connection: &Connection, trial: &str, tracks: &[Track]) -> Result<(), Problem> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO track (trial, number, name, kind, interval_ms, numbers) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (number, track) in tracks.iter().enumerate() {
        let numbers: Vec<u8> = track.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        statement.execute(params![
            trial,
            number,
            track.name,
            track.kind.as_str(),
            track.interval_ms,
            bytes::compressed(&numbers)?,
        ])?;
    }
    Ok(())
}

/// The tracks of a trial that took this many seconds.
pub(crate) fn select(connection: &Connection, trial: &str, seconds: f64) -> Result<Vec<Track>, Problem> {
    let mut statement = connection.prepare_cached("SELECT * FROM track WHERE trial = ?1 ORDER BY number")?;
    let mut rows = statement.query([trial])?;
    let mut tracks = Vec::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get("kind")?;
        let interval_ms = row.get("interval_ms")?;
        let most = bytes::most_intervals(seconds * 1e6, interval_ms);
        let plain = bytes::plain_column(row, "numbers", most * 4, "track")?;
        let (numbers, rest) = plain.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(Problem::Damaged("cannot read a track: its last number is truncated".to_owned()));
        }
        tracks.push(Track {
            name: row.get("name")?,
            kind: if kind == TrackKind::Rate.as_str() { TrackKind::Rate } else { TrackKind::Level },
            interval_ms,
            values: numbers.iter().map(|number| f32::from_le_bytes(*number)).collect(),
        });
    }
    Ok(tracks)
}
