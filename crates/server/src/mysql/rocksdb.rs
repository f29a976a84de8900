//! RocksDB's debt: memtables to flush, and files to compact.

use std::time::Duration;

use basecase_client::{Error, Session};
use basecase_model::Measures;
use basecase_stop::pause;

use super::status::{Figures, first_number};
use crate::served::Patience;
use crate::served::text;

/// How often to check for running compactions.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The size of memtables up to which RocksDB counts as at rest: an empty one takes about 1 MiB.
const MEMORY_TABLE_BYTES_AT_REST: f64 = (16 << 20) as f64;

/// The folder of RocksDB's files, in the data directory.
pub(super) fn folder(session: &mut dyn Session) -> Result<String, Error> {
    text(session, "select @@rocksdb_datadir")
}

/// Waits until no compaction runs, then flushes the memtables and, if the server can be told to, compacts level 0. A
/// variable that does both is not used, because it was found unsafe (issues 1200 and 1295 of
/// <https://github.com/facebook/mysql-5.6>).
pub(super) fn pay(session: &mut dyn Session, patience: &Patience<'_>) -> Result<(), Error> {
    wait_for_compactions(session, patience)?;
    session.query("set global rocksdb_force_flush_memtable_now = 1")?;
    // MariaDB has no such variable.
    let compacts = "rocksdb_compact_lzero_now";
    if Figures::variables(session, &[compacts])?.spelling(compacts).is_some() {
        wait_for_compactions(session, patience)?;
        session.query(&format!("set global {compacts} = 1"))?;
    }
    Ok(())
}

fn wait_for_compactions(session: &mut dyn Session, patience: &Patience<'_>) -> Result<(), Error> {
    while !patience.is_over() && busy(session)? > 0.0 {
        pause(POLL_INTERVAL.min(patience.left()));
    }
    Ok(())
}

/// The number of files being compacted, and of column families waiting for a compaction or a flush.
fn busy(session: &mut dyn Session) -> Result<f64, Error> {
    let compacting = "select sum(value) from information_schema.rocksdb_compaction_stats \
                      where level = 'Sum' and type = 'CompactedFiles'";
    let waiting = "select sum(value) from information_schema.rocksdb_cfstats \
                   where stat_type in ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')";
    Ok(first_number(session, compacting)?.unwrap_or(0.0) + first_number(session, waiting)?.unwrap_or(0.0))
}

/// Measures the debt, and tells whether it is small.
///
/// `debt.compactions` (files that are being compacted, and column families that wait for a compaction or a flush),
/// `debt.memory_table_bytes`, `debt.level0_files`.
pub(super) fn is_at_rest(session: &mut dyn Session, measures: &mut Measures) -> Result<bool, Error> {
    let compactions = busy(session)?;
    let in_memory = "select sum(value) from information_schema.rocksdb_cfstats \
                     where stat_type = 'CUR_SIZE_ALL_MEM_TABLES'";
    let in_level0 = "select sum(value) from information_schema.rocksdb_compaction_stats \
                     where level = 'L0' and type = 'NumFiles'";
    let memory = first_number(session, in_memory)?.unwrap_or(0.0);
    measures.set("debt.compactions", compactions);
    measures.set("debt.memory_table_bytes", memory);
    if let Some(files) = first_number(session, in_level0)? {
        measures.set("debt.level0_files", files);
    }
    Ok(compactions == 0.0 && memory <= MEMORY_TABLE_BYTES_AT_REST)
}
