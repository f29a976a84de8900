//! Settling: brings vacuum, purge, flush and compaction debt down to a stated level.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use basecase_client::{Error, Kind, Session};
use basecase_model::Measures;
use basecase_probe::host_dirty_bytes;
use basecase_stop::{afterwards, pause};
use serde::{Deserialize, Serialize};

use super::{Debt, Served};

/// When settling ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Settle {
    /// Once the measured debt is at rest, at the latest after the formula's time.
    #[default]
    Condition,
    /// The same, but not before nothing at all is left to purge.
    Purged,
    /// After the reference's time, whatever the debt.
    Formula,
    /// At once, without any maintenance.
    Off,
}

/// How long settling may take, if not the formula's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleLimit {
    /// This long.
    Time(Duration),
    /// As long as it takes.
    Endless,
}

impl fmt::Display for SettleLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettleLimit::Time(time) => write!(f, "{} s", time.as_secs_f64()),
            SettleLimit::Endless => f.write_str("none"),
        }
    }
}

/// How debt is settled.
#[derive(Debug, Clone, Copy)]
pub struct Settling {
    /// When it ends.
    pub mode: Settle,
    /// How long it may take; `None` means the formula's time.
    pub limit: Option<SettleLimit>,
    /// Rows that the load inserted into all tables, for the formula.
    pub loaded_rows: u64,
    /// How often to check whether it is done.
    pub poll_interval: Duration,
}

impl Default for Settling {
    fn default() -> Self {
        Settling { mode: Settle::default(), limit: None, loaded_rows: 0, poll_interval: POLL_INTERVAL }
    }
}

/// How settling went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settled {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Whether the debt was at rest at the end.
    pub at_rest: bool,
    /// The debt that was left.
    pub debt: Measures,
}

/// How often the debt is measured.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The debt of a dbms that works in the background counts as at rest after this many such measurements in a row.
const LOOKS_AT_REST: u32 = 3;

/// How long the debt that a step left is paid, and how often it is checked.
const DRAIN_PATIENCE: Duration = Duration::from_secs(20);
const DRAIN_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The reference's pause: `min(1200, 60 + rows / 1,000,000)` seconds, for the rows that the load inserted into all tables.
pub(crate) fn formula(loaded_rows: u64) -> Duration {
    Duration::from_secs((60.0 + loaded_rows as f64 / 1e6).round().min(1200.0) as u64)
}

/// How long settling may continue.
#[derive(Debug, Clone, Copy)]
pub struct Patience<'a> {
    /// `None` means without limit.
    until: Option<Instant>,
    stop: &'a AtomicBool,
}

impl Patience<'_> {
    /// Whether the time is up, or the user wants to stop.
    pub fn is_over(&self) -> bool {
        self.left().is_zero() || self.stop.load(Ordering::Relaxed)
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }
}

/// The host's dirty memory up to which it counts as at rest: far below the level at which Linux starts background
/// write-back, and above what an otherwise idle machine always has.
const DIRTY_BYTES_AT_REST: u64 = 256 << 20;

/// What is left of the debt, including what the host has yet to write back.
///
/// # Errors
/// If the dbms does not answer.
pub fn debt(served: &dyn Served, session: &mut dyn Session, tables: &[String]) -> Result<Debt, Error> {
    let mut debt = served.own_debt(session, tables)?;
    if let Some(bytes) = host_dirty_bytes() {
        debt.measures.set("debt.host_dirty_bytes", bytes as f64);
        debt.at_rest &= bytes <= DIRTY_BYTES_AT_REST;
        debt.is_purged &= debt.at_rest;
    }
    Ok(debt)
}

/// Pays the debt, then waits as `settling` says. The formula's time counts from the beginning, so no pause follows
/// maintenance that takes longer.
///
/// # Errors
/// If the dbms refuses or does not answer.
pub fn settle(
    served: &dyn Served,
    session: &mut dyn Session,
    tables: &[String],
    settling: Settling,
    stop: &AtomicBool,
) -> Result<Settled, Error> {
    let Settling { mode, limit, loaded_rows, poll_interval } = settling;
    let began = Instant::now();
    let until = match limit {
        None => Some(began + formula(loaded_rows)),
        Some(SettleLimit::Time(time)) => began.checked_add(time),
        Some(SettleLimit::Endless) => None,
    };
    let patience = Patience { until, stop };
    let debt = match mode {
        Settle::Off => debt(served, session, tables)?,
        Settle::Condition | Settle::Purged | Settle::Formula => hastened(served, session, |session| {
            pay_and_wait(served, session, tables, (mode, poll_interval), &patience)
        })?,
    };
    let at_rest = is_done(mode, &debt);
    Ok(Settled { seconds: began.elapsed().as_secs_f64(), at_rest, debt: debt.measures })
}

/// Pays the debt of the dbms, and returns how many seconds that took; `None` if it was not paid in time.
///
/// # Errors
/// If the dbms refuses or does not answer.
pub fn drain(
    served: &dyn Served,
    session: &mut dyn Session,
    tables: &[String],
    stop: &AtomicBool,
) -> Result<Option<f64>, Error> {
    let began = Instant::now();
    let patience = Patience { until: Some(began + DRAIN_PATIENCE), stop };
    hastened(served, session, |session| {
        served.pay_debt(session, tables, &patience)?;
        while !served.own_debt(session, tables)?.at_rest {
            if patience.is_over() {
                return Ok(None);
            }
            pause(DRAIN_POLL_INTERVAL.min(patience.left()));
        }
        Ok(Some(began.elapsed().as_secs_f64()))
    })
}

/// Runs `work` while the dbms pays its debt faster than its config would.
fn hastened<T>(
    served: &dyn Served,
    session: &mut dyn Session,
    work: impl FnOnce(&mut dyn Session) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut undo = Vec::new();
    let done = served.hasten(session, &mut undo).and_then(|()| work(session));
    // Also after an error: the next measurement must run with the config alone.
    let undone = put_back(served, session, &undo);
    let done = done?;
    undone?;
    Ok(done)
}

/// Whether the debt is as small as this mode demands.
fn is_done(mode: Settle, debt: &Debt) -> bool {
    if mode == Settle::Purged { debt.is_purged } else { debt.at_rest }
}

/// Resets settings, if need be in a new session: a wish to stop breaks off the existing one, and the user's own server must
/// not keep what was set for settling.
fn put_back(served: &dyn Served, session: &mut dyn Session, undo: &[String]) -> Result<(), Error> {
    let execute =
        |session: &mut dyn Session| undo.iter().try_for_each(|statement| session.query(statement).map(drop));
    match execute(session) {
        Err(error) if error.kind() == Kind::Disconnected => {
            afterwards(|| execute(served.endpoint().connect()?.as_mut()))
        }
        done => done,
    }
}

fn pay_and_wait(
    served: &dyn Served,
    session: &mut dyn Session,
    tables: &[String],
    (mode, poll_interval): (Settle, Duration),
    patience: &Patience<'_>,
) -> Result<Debt, Error> {
    served.pay_debt(session, tables, patience)?;
    let enough = if served.has_background_work() { LOOKS_AT_REST } else { 1 };
    let mut looks = 0;
    loop {
        let debt = debt(served, session, tables)?;
        looks = if is_done(mode, &debt) { looks + 1 } else { 0 };
        if patience.is_over() || (mode != Settle::Formula && looks >= enough) {
            return Ok(debt);
        }
        if looks == 0 {
            served.wake(session)?;
        }
        pause(poll_interval.min(patience.left()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_24_patience_without_a_limit_ends_when_the_user_stops() {
        let stop = AtomicBool::new(false);
        let patience = Patience { until: None, stop: &stop };
        assert!(!patience.is_over());
        assert_eq!(POLL_INTERVAL.min(patience.left()), POLL_INTERVAL);
        stop.store(true, Ordering::Relaxed);
        assert!(patience.is_over());
        let purging = Debt { at_rest: true, is_purged: false, ..Debt::default() };
        assert!(is_done(Settle::Condition, &purging) && !is_done(Settle::Purged, &purging));
    }

    #[test]
    fn the_pauses_of_the_reference() {
        let million = 1_000_000;
        let seconds = [20_000, 20 * million, 30 * million, 200 * million, 800 * million, 4_000 * million]
            .map(|rows| formula(rows).as_secs());
        assert_eq!(seconds, [60, 80, 90, 260, 860, 1200]);
    }
}
