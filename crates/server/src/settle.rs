//! Settling: bring vacuum, purge, flush and compaction debt to a stated level.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use basecase_client::{Error, Session};
use basecase_model::Measures;
use serde::{Deserialize, Serialize};

use crate::served::{Debt, Served};

/// When settling is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Settle {
    /// When the debt is measured and at rest, at the latest after the formula's time.
    #[default]
    Condition,
    /// After the reference's time, whatever the debt.
    Formula,
    /// At once: no maintenance at all.
    Off,
}

/// How settling went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settled {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Whether the debt was at rest in the end.
    pub at_rest: bool,
    /// What was left of it.
    pub debt: Measures,
}

/// Looks at the debt this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The debt is at rest when it was so at this many looks in a row.
const LOOKS_AT_REST: u32 = 3;

/// The reference's pause: `min(1200, 60 + rows / 1,000,000)` seconds, for the rows that the load put into all tables.
pub(crate) fn formula(loaded_rows: u64) -> Duration {
    Duration::from_secs((60.0 + loaded_rows as f64 / 1e6).round().min(1200.0) as u64)
}

/// How long settling may go on.
#[derive(Debug, Clone, Copy)]
pub struct Patience<'a> {
    until: Instant,
    stop: &'a AtomicBool,
}

impl Patience<'_> {
    /// Whether the time is up, or the user wants to stop.
    pub fn is_over(&self) -> bool {
        self.left().is_zero() || self.stop.load(Ordering::Relaxed)
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

/// Pays the debt, then waits as `settle` says. The formula's time counts from the beginning, so that maintenance that takes
/// longer is followed by no pause.
///
/// # Errors
/// When the dbms refuses or does not answer.
pub fn settle(
    served: &dyn Served,
    session: &mut dyn Session,
    tables: &[String],
    settle: Settle,
    loaded_rows: u64,
    stop: &AtomicBool,
) -> Result<Settled, Error> {
    let began = Instant::now();
    let patience = Patience { until: began + formula(loaded_rows), stop };
    let debt = if settle == Settle::Off {
        served.debt(session, tables)?
    } else {
        let undo = served.hasten(session)?;
        let debt = pay_and_wait(served, session, tables, settle, &patience);
        // Also after an error: what is measured next runs with the config and nothing else.
        let undone = undo.iter().try_for_each(|statement| session.query(statement).map(drop));
        let debt = debt?;
        undone?;
        debt
    };
    Ok(Settled { seconds: began.elapsed().as_secs_f64(), at_rest: debt.at_rest, debt: debt.measures })
}

fn pay_and_wait(
    served: &dyn Served,
    session: &mut dyn Session,
    tables: &[String],
    settle: Settle,
    patience: &Patience<'_>,
) -> Result<Debt, Error> {
    served.pay_debt(session, tables, patience)?;
    let mut looks = 0;
    loop {
        let debt = served.debt(session, tables)?;
        looks = if debt.at_rest { looks + 1 } else { 0 };
        if patience.is_over() || (settle == Settle::Condition && looks >= LOOKS_AT_REST) {
            return Ok(debt);
        }
        thread::sleep(LOOK_EVERY.min(patience.left()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_of_the_reference() {
        let million = 1_000_000;
        let seconds = [20_000, 20 * million, 30 * million, 200 * million, 800 * million, 4_000 * million]
            .map(|rows| formula(rows).as_secs());
        assert_eq!(seconds, [60, 80, 90, 260, 860, 1200]);
    }
}
