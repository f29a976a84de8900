//! InnoDB's debt: dirty pages, and rows that purge has yet to remove.

use basecase_client::{Error, Kind, Session};
use basecase_model::{Measures, Value};

use super::status::Figures;

/// Variables that make the page cleaners write back nearly everything, and their values, in the order in which they are set:
/// the server would lower a low-water mark above the limit. The idle flush exists from MySQL 8.0.18 on. The last one, which
/// exists from MySQL 5.7 on, makes purge truncate the history list after each batch, instead of every 128th.
const HASTENING: [(&str, &str); 4] = [
    ("innodb_max_dirty_pages_pct_lwm", "1"),
    ("innodb_max_dirty_pages_pct", "1"),
    ("innodb_idle_flush_pct", "100"),
    (TRIMMING, "1"),
];
/// How many purge batches pass before the history list is truncated.
const TRIMMING: &str = "innodb_purge_rseg_truncate_frequency";
/// The dirty pages up to which InnoDB counts as at rest, as a share of the buffer pool. Above it, the hastened page cleaners
/// still work.
const DIRTY_SHARE_AT_REST: f64 = 0.02;
/// The same in bytes, for a small pool.
const DIRTY_BYTES_AT_REST: f64 = (16 << 20) as f64;
/// The unpurged transactions up to which InnoDB counts as at rest: with 50 rows each, a thousand rows.
const UNPURGED_AT_REST: f64 = 20.0;

/// A transaction that writes to a table that only its session sees. Purge advances to the last transaction that wrote, so
/// later read-only transactions would look as if they were yet to be purged.
const SOMETHING_TO_PURGE: [&str; 4] = [
    "create temporary table basecase_purge (a int primary key) engine=innodb",
    "insert into basecase_purge values (1)",
    "update basecase_purge set a = 2",
    "drop temporary table basecase_purge",
];

/// InnoDB's debt.
pub(super) struct Rest {
    /// Whether it is small.
    pub(super) at_rest: bool,
    /// Whether also nothing is left to purge.
    pub(super) is_purged: bool,
}

/// Sets the variables that make the page cleaners write back nearly everything, as far as they exist. Adds the statements
/// that reset them to `undo`.
pub(super) fn hasten(session: &mut dyn Session, undo: &mut Vec<String>) -> Result<(), Error> {
    let present = Figures::variables(session, &HASTENING.map(|(name, _)| name))?;
    for (name, value) in HASTENING {
        let Some(before) = present.spelling(name) else { continue };
        // First, because the variable may be set even if the answer is lost.
        undo.insert(0, format!("set global {name} = {before}"));
        if let Err(error) = session.query(&format!("set global {name} = {value}")) {
            if error.kind() == Kind::Refused {
                undo.remove(0);
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Lets purge advance to the last transaction, on versions that number read-only transactions too.
pub(super) fn show_purge_the_end(session: &mut dyn Session, radix: u32) -> Result<(), Error> {
    if monitor(session, radix)?.behind.is_some_and(|behind| behind > UNPURGED_AT_REST) {
        write_something(session)?;
    }
    Ok(())
}

/// Wakes a purge thread of MySQL 5.5. After a batch of which a reader kept all, it sleeps until the next transaction that writes.
pub(super) fn wake_purge(session: &mut dyn Session) -> Result<(), Error> {
    if least_purged(session)? > 0.0 { write_something(session) } else { Ok(()) }
}

fn write_something(session: &mut dyn Session) -> Result<(), Error> {
    SOMETHING_TO_PURGE.iter().try_for_each(|statement| session.query(statement).map(drop))
}

/// Measures the debt, and tells whether it is small. Versions before 5.6 print transaction numbers with `radix` 16.
///
/// `debt.dirty_pages` and `debt.dirty_bytes` of the buffer pool, `debt.unpurged_transactions` (whose deleted rows purge has not
/// reached), `debt.history_transactions` (whose undo log is kept, which some versions keep long after purge is done),
/// `debt.redo_bytes` (log since the last checkpoint).
pub(super) fn look(session: &mut dyn Session, measures: &mut Measures, radix: u32) -> Result<Rest, Error> {
    let pages = ["innodb_buffer_pool_pages_dirty", "innodb_buffer_pool_pages_total", "innodb_page_size"];
    let status = Figures::status(session, &pages)?;
    let [dirty, total, page_bytes] = pages.map(|name| status.number(name));
    let (dirty, page_bytes) = (dirty.unwrap_or(0.0), page_bytes.unwrap_or(16_384.0));
    measures.set("debt.dirty_pages", dirty);
    measures.set("debt.dirty_bytes", dirty * page_bytes);
    let monitor = monitor(session, radix)?;
    for (name, value) in [
        ("debt.unpurged_transactions", monitor.unpurged()),
        ("debt.history_transactions", monitor.history),
        ("debt.redo_bytes", monitor.redo_bytes),
    ] {
        if let Some(value) = value {
            measures.set(name, value);
        }
    }
    let few_dirty = dirty * page_bytes <= DIRTY_BYTES_AT_REST
        || total.is_some_and(|total| dirty <= total * DIRTY_SHARE_AT_REST);
    let at_rest = few_dirty && monitor.unpurged().is_none_or(|unpurged| unpurged <= UNPURGED_AT_REST);
    let is_purged = at_rest
        && match (monitor.history, monitor.behind) {
            (None | Some(0.0), _) => true,
            // Transactions that stay in the history list after purge is done with them do not count.
            (_, Some(0.0)) => Figures::variables(session, &[TRIMMING])?.spelling(TRIMMING).is_none(),
            _ if radix == 16 => {
                let least = least_purged(session)?;
                monitor.unpurged().is_some_and(|unpurged| unpurged < least)
            }
            _ => false,
        };
    Ok(Rest { at_rest, is_purged })
}

/// The number of transactions from which a purge thread of MySQL 5.5 works: it sleeps while less than a batch is left. 0 where the master thread
/// purges, which leaves nothing.
fn least_purged(session: &mut dyn Session) -> Result<f64, Error> {
    let purge = Figures::variables(session, &["innodb_purge_threads", "innodb_purge_batch_size"])?;
    let has_thread = purge.number("innodb_purge_threads").is_some_and(|threads| threads > 0.0);
    Ok(purge.number("innodb_purge_batch_size").filter(|_| has_thread).unwrap_or(0.0))
}

fn monitor(session: &mut dyn Session, radix: u32) -> Result<Monitor, Error> {
    let shown = match session.query("show engine innodb status") {
        // The user's own server may deny this.
        Err(error) if error.kind() == Kind::Refused => Vec::new(),
        shown => shown?,
    };
    Ok(match shown.first().and_then(|row| row.last()) {
        Some(Value::Text(text)) => Monitor::read(text, radix),
        _ => Monitor::default(),
    })
}

/// The debt according to the InnoDB monitor.
#[derive(Debug, Default, PartialEq)]
struct Monitor {
    /// Transaction numbers that purge has not reached. Before MySQL 5.7 they include those of read-only transactions.
    behind: Option<f64>,
    /// Transactions whose undo log is kept; purge may have reached some of them.
    history: Option<f64>,
    redo_bytes: Option<f64>,
}

impl Monitor {
    fn read(text: &str, radix: u32) -> Self {
        let after = |words: &str, radix: u32| -> Option<f64> {
            let rest = text.lines().find_map(|line| line.trim().strip_prefix(words))?;
            Some(u64::from_str_radix(rest.split_whitespace().next()?, radix).ok()? as f64)
        };
        let less = |upper: Option<f64>, lower: Option<f64>| {
            upper.zip(lower).map(|(upper, lower)| (upper - lower).max(0.0))
        };
        Monitor {
            behind: less(after("Trx id counter", radix), after("Purge done for trx's n:o <", radix)),
            history: after("History list length", 10),
            redo_bytes: less(after("Log sequence number", 10), after("Last checkpoint at", 10)),
        }
    }

    /// The most transactions that purge may have yet to reach: each has a number, and is in the history list.
    fn unpurged(&self) -> Option<f64> {
        self.behind.into_iter().chain(self.history).min_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monitor_of_all_versions_is_read() {
        let old = "TRANSACTIONS\n------------\nTrx id counter 109E\n\
            Purge done for trx's n:o < D6C undo n:o < 1E\nHistory list length 1103\nLOG\n---\n\
            Log sequence number 1597945\nLog flushed up to   1597945\nLast checkpoint at  1597900\n";
        let expected = Monitor {
            behind: Some(f64::from(0x109E - 0xD6C)),
            history: Some(1103.0),
            redo_bytes: Some(45.0),
        };
        assert_eq!(Monitor::read(old, 16), expected);
        let new = "Trx id counter 4964\nPurge done for trx's n:o < 4963 undo n:o < 0 state: running but idle\n\
            History list length 3\nLog sequence number          19531234\n\
            Last checkpoint at           19531234\n";
        let expected = Monitor { behind: Some(1.0), history: Some(3.0), redo_bytes: Some(0.0) };
        assert_eq!(Monitor::read(new, 10), expected);
        assert_eq!(Monitor::read("nothing", 10), Monitor::default());
    }

    #[test]
    fn defect_24_transactions_that_only_read_are_nothing_to_purge() {
        // 5.5.34 after 3,000 reads, each of which took a number.
        let reads = "Trx id counter 14FF\nPurge done for trx's n:o < 947 undo n:o < 0\nHistory list length 1\nLOG\n---\n\
            Log sequence number 3040457\nLog flushed up to   3040457\nLast checkpoint at  3040347\n";
        let monitor = Monitor::read(reads, 16);
        assert_eq!((monitor.behind, monitor.history), (Some(3000.0), Some(1.0)));
        assert_eq!(monitor.unpurged(), Some(1.0));
        // Transactions that stay in the list after purge is done with them.
        for (kept, radix) in [
            // 5.5.34
            (
                "Trx id counter 1503\nPurge done for trx's n:o < 1503 undo n:o < 0\nHistory list length 482\n",
                16,
            ),
            // 5.6 and 5.7
            (
                "Trx id counter 41223\nPurge done for trx's n:o < 41223 undo n:o < 0 state: running but idle\nHistory list length 482\n",
                10,
            ),
            // 8.0.33, and 9.x alike
            (
                "Trx id counter 2890\nPurge done for trx's n:o < 2890 undo n:o < 0 state: running but idle\nHistory list length 181\n",
                10,
            ),
            // MariaDB
            (
                "Trx id counter 1204\nPurge done for trx's n:o < 1204 undo n:o < 0 state: running\nHistory list length 23\n",
                10,
            ),
        ] {
            assert_eq!(Monitor::read(kept, radix).unpurged(), Some(0.0), "{kept}");
        }
        let writes =
            "Trx id counter 947\nPurge done for trx's n:o < 0 undo n:o < 0\nHistory list length 481\n";
        assert_eq!(Monitor::read(writes, 16).unpurged(), Some(481.0));
    }
}
