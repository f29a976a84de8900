//! The debt of InnoDB: dirty pages and rows that purge has still to remove.

use basecase_client::{Error, Session};
use basecase_model::{Measures, Value};

use super::status::Figures;

/// What makes the page cleaners write back nearly everything: the variable and its value, in the order in which they are set.
/// A low-water mark above the limit would be lowered by the server. The last is there from MySQL 8.0.18 on.
const HASTENING: [(&str, &str); 3] = [
    ("innodb_max_dirty_pages_pct_lwm", "1"),
    ("innodb_max_dirty_pages_pct", "1"),
    ("innodb_idle_flush_pct", "100"),
];
/// Dirty pages up to which InnoDB counts as at rest, as a share of the buffer pool: above it the hastened page cleaners work.
const DIRTY_SHARE_AT_REST: f64 = 0.02;
/// … and in bytes, which a small pool may have dirty.
const DIRTY_BYTES_AT_REST: f64 = (16 << 20) as f64;
/// Transactions whose deleted rows are not purged, up to which InnoDB counts as at rest.
const HISTORY_AT_REST: f64 = 1_000.0;

/// Sets what makes the page cleaners write back nearly everything, where it exists. Returns the statements that set it back.
pub(super) fn hasten(session: &mut dyn Session) -> Result<Vec<String>, Error> {
    let present = Figures::variables(session, &HASTENING.map(|(name, _)| name))?;
    let mut undo: Vec<String> = Vec::new();
    for (name, value) in HASTENING {
        let Some(before) = present.spelling(name) else { continue };
        if let Err(error) = session.query(&format!("set global {name} = {value}")) {
            // The first error says more than whatever setting back says.
            for statement in &undo {
                let _ = session.query(statement);
            }
            return Err(error);
        }
        undo.insert(0, format!("set global {name} = {before}"));
    }
    Ok(undo)
}

/// Measures the debt, and says whether it is little.
///
/// `debt.dirty_pages` and `debt.dirty_bytes` of the buffer pool, `debt.history_transactions` (committed ones whose deleted rows
/// are not purged), `debt.redo_bytes` (log since the last checkpoint).
pub(super) fn is_at_rest(session: &mut dyn Session, measures: &mut Measures) -> Result<bool, Error> {
    let pages = ["innodb_buffer_pool_pages_dirty", "innodb_buffer_pool_pages_total", "innodb_page_size"];
    let status = Figures::status(session, &pages)?;
    let [dirty, total, page_bytes] = pages.map(|name| status.number(name));
    let (dirty, page_bytes) = (dirty.unwrap_or(0.0), page_bytes.unwrap_or(16_384.0));
    measures.set("debt.dirty_pages", dirty);
    measures.set("debt.dirty_bytes", dirty * page_bytes);
    let monitor = session.query("show engine innodb status")?;
    let monitor = monitor.first().and_then(|row| row.last());
    let monitor =
        if let Some(Value::Text(text)) = monitor { Monitor::read(text) } else { Monitor::default() };
    if let Some(history) = monitor.history {
        measures.set("debt.history_transactions", history);
    }
    if let Some(redo) = monitor.redo_bytes {
        measures.set("debt.redo_bytes", redo);
    }
    let few_dirty = dirty * page_bytes <= DIRTY_BYTES_AT_REST
        || total.is_some_and(|total| dirty <= total * DIRTY_SHARE_AT_REST);
    Ok(few_dirty && monitor.history.is_none_or(|history| history <= HISTORY_AT_REST))
}

/// What the InnoDB monitor says of the debt.
#[derive(Debug, Default, PartialEq)]
struct Monitor {
    history: Option<f64>,
    redo_bytes: Option<f64>,
}

impl Monitor {
    fn read(text: &str) -> Self {
        let after = |words: &str| -> Option<f64> {
            text.lines().find_map(|line| line.trim().strip_prefix(words)?.trim().parse().ok())
        };
        let written = after("Log sequence number");
        Monitor {
            history: after("History list length"),
            redo_bytes: written.zip(after("Last checkpoint at")).map(|(written, saved)| written - saved),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monitor_of_all_versions_is_read() {
        let old = "TRANSACTIONS\n------------\nTrx id counter 501\nHistory list length 12\nLOG\n---\n\
            Log sequence number 1597945\nLog flushed up to   1597945\nLast checkpoint at  1597900\n";
        assert_eq!(Monitor::read(old), Monitor { history: Some(12.0), redo_bytes: Some(45.0) });
        let new = "History list length 3\nLog sequence number          19531234\n\
            Last checkpoint at           19531234\n";
        assert_eq!(Monitor::read(new), Monitor { history: Some(3.0), redo_bytes: Some(0.0) });
        assert_eq!(Monitor::read("nothing"), Monitor::default());
    }
}
