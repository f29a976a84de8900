//! Profiles as rows.

use basecase_model::{Profile, ProfileKind};
use rusqlite::{Connection, params};

use crate::{Problem, bytes};

/// Largest size of a profile's stacks, in bytes.
const MOST_STACKS_BYTES: u64 = 256 << 20;

pub(crate) fn insert(connection: &Connection, trial: &str, profiles: &[Profile]) -> Result<(), Problem> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO profile (trial, kind, frequency_hz, samples, lost, stacks, modules)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for profile in profiles {
        statement.execute(params![
            trial,
            profile.kind.as_str(),
            profile.frequency_hz,
            profile.samples,
            profile.lost,
            bytes::compressed(profile.stacks.as_bytes())?,
            serde_json::to_string(&profile.modules)?,
        ])?;
    }
    Ok(())
}

pub(crate) fn select(connection: &Connection, trial: &str) -> Result<Vec<Profile>, Problem> {
    let mut statement = connection.prepare_cached("SELECT * FROM profile WHERE trial = ?1 ORDER BY kind")?;
    let mut rows = statement.query([trial])?;
    let mut profiles = Vec::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get("kind")?;
        let modules: String = row.get("modules")?;
        let stacks = bytes::plain_column(row, "stacks", MOST_STACKS_BYTES, "profile")?;
        profiles.push(Profile {
            kind: kind
                .parse::<ProfileKind>()
                .map_err(|()| Problem::Damaged(format!("unknown profile `{kind}`")))?,
            frequency_hz: row.get("frequency_hz")?,
            samples: row.get("samples")?,
            lost: row.get("lost")?,
            stacks: String::from_utf8(stacks)
                .map_err(|_| Problem::Damaged("cannot read a profile: it is not text".to_owned()))?,
            modules: serde_json::from_str(&modules)?,
        });
    }
    Ok(profiles)
}
