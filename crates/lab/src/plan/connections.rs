//! Whether a server admits as many sessions as a run opens.

use anyhow::{Result, bail};
use basecase_client::Session;
use basecase_model::{Dbms, Value};
use basecase_probe::raise_open_files;
use basecase_server::{ConnectionLimit, connection_limit};

/// Refuses a run that opens more sessions than the settings of a candidate's server allow.
pub(crate) fn check(candidate: &str, dbms: Dbms, settings: &[(String, String)], sessions: u32) -> Result<()> {
    let Some(limit) = connection_limit(dbms) else { return Ok(()) };
    let said = settings.iter().rev().find(|(name, _)| name == limit.setting);
    let most = said.map_or(Some(limit.default), |(_, value)| value.parse().ok());
    let hint = format!("leave room with --set {}={}", limit.setting, room(sessions));
    refuse_more(candidate, limit, most, sessions, &hint)
}

/// Refuses a run that opens more sessions than the user's own server admits.
pub(crate) fn ask(candidate: &str, session: &mut dyn Session, dbms: Dbms, sessions: u32) -> Result<()> {
    let Some(limit) = connection_limit(dbms) else { return Ok(()) };
    let rows = session.query(limit.question)?;
    let most = match rows.first().and_then(|row| row.first()) {
        Some(Value::Integer(limit)) => u64::try_from(*limit).ok(),
        Some(Value::Text(limit)) => limit.parse().ok(),
        _ => None,
    };
    refuse_more(candidate, limit, most, sessions, &format!("set it to {} or more there", room(sessions)))
}

/// Refuses a run for which this process may not have enough files open.
pub(crate) fn check_open_files(sessions: u32) -> Result<()> {
    // Two for each session, and some for everything else.
    let needed = 2 * u64::from(sessions) + 100;
    match raise_open_files().filter(|limit| *limit < needed) {
        None => Ok(()),
        Some(limit) => bail!(
            "this run opens {sessions} connections and needs {needed} open files, and the system allows {limit}\nhint: raise the limit (ulimit -Hn), or run with fewer threads"
        ),
    }
}

/// Includes the session that observes, and some to spare.
fn room(sessions: u32) -> u32 {
    sessions + 10
}

fn refuse_more(
    candidate: &str,
    limit: ConnectionLimit,
    most: Option<u64>,
    sessions: u32,
    how: &str,
) -> Result<()> {
    let Some(most) = most.filter(|most| *most < u64::from(sessions) + 1) else { return Ok(()) };
    let setting = limit.setting;
    bail!(
        "candidate {candidate} allows {most} connections ({setting}), and this run opens {sessions} and one that watches\n\
         hint: {how}, or run with fewer threads"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_named() {
        let set = [("max_connections".to_owned(), "500".to_owned())];
        assert!(check("a", Dbms::Postgres, &set, 499).is_ok());
        let error = check("a", Dbms::Postgres, &set, 500).unwrap_err().to_string();
        assert!(error.contains("allows 500") && error.contains("--set max_connections=510"), "{error}");
        assert!(check("a", Dbms::Mysql, &[], 150).is_ok() && check("a", Dbms::Mysql, &[], 151).is_err());
        assert!(check("a", Dbms::Sqlite, &[], 9_999).is_ok());
    }
}
