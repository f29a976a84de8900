//! Whether the disk will hold what a run writes.

use std::path::Path;

use anyhow::{Context, Result, bail};
use basecase_server::{ConfigFile, free_bytes};

use crate::task::Task;

/// Bytes on disk for each row with its indexes, measured on Postgres 15 after churn (about 320), rounded up.
const BYTES_PER_ROW: u64 = 400;
/// Bytes for logs, WAL and what else a small database needs.
const BYTES_BESIDES: u64 = 1 << 30;

/// Refuses a run that the disk under `data` will not hold. Candidates run one after the other and each is removed when it is
/// done, so the largest counts.
pub(crate) fn check<'a>(
    task: &Task,
    configs: impl Iterator<Item = &'a ConfigFile>,
    data: &Path,
) -> Result<()> {
    let tables = task.rows_on_disk().saturating_mul(BYTES_PER_ROW);
    // MySQL up to 5.7 writes its whole redo log at once, however small the tables are.
    let log = configs.filter_map(log_bytes).max().unwrap_or(0).min(tables.saturating_mul(4).max(4 << 30));
    let needed = tables.saturating_add(BYTES_BESIDES).saturating_add(log);
    let free =
        free_bytes(data).with_context(|| format!("cannot read the free space under {}", data.display()))?;
    if free < needed {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        bail!(
            "the disk under {} has {:.1} GiB free, and this run needs about {:.1} GiB\nhint: choose another folder with --data, or smaller sizes with --rows or --scale",
            data.display(),
            gib(free),
            gib(needed)
        );
    }
    Ok(())
}

/// How much log a config lets the server keep, in the version for which that is most.
fn log_bytes(file: &ConfigFile) -> Option<u64> {
    let largest = |name: &'static str| file.values(name).filter_map(bytes).max();
    let files = file.values("innodb_log_files_in_group").filter_map(|value| value.parse::<u64>().ok()).max();
    [
        largest("max_wal_size"),
        largest("innodb_redo_log_capacity"),
        largest("innodb_log_file_size").map(|bytes| bytes.saturating_mul(files.unwrap_or(2))),
    ]
    .into_iter()
    .flatten()
    .max()
}

/// A size as the dbms writes it: `4GB` or `4G`. A bare number is MB for Postgres and bytes for MySQL; the larger counts.
fn bytes(value: &str) -> Option<u64> {
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match value[digits.len()..].to_ascii_uppercase().as_str() {
        "" if digits.len() > 6 => 0,
        "" | "M" | "MB" => 20,
        "K" | "KB" => 10,
        "G" | "GB" => 30,
        "T" | "TB" => 40,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_shl(unit)
}
