//! Whether the disk will hold what a run writes.

use std::path::Path;

use anyhow::{Context, Result, bail};
use basecase_server::{Config, free_bytes};
use basecase_workload::insert_benchmark::{Parameters, Step};

/// Bytes on disk for each row with its indexes, measured on Postgres 15 after churn (about 320), rounded up.
const BYTES_PER_ROW: u64 = 400;
/// Bytes for logs, WAL and what else a small database needs.
const BYTES_BESIDES: u64 = 1 << 30;

/// Refuses a run that the disk under `data` will not hold. Candidates run one after the other and each is removed when it is
/// done, so the largest counts.
pub(crate) fn check<'a>(
    parameters: &Parameters,
    configs: impl Iterator<Item = &'a Config>,
    data: &Path,
) -> Result<()> {
    let clients = u64::from(parameters.clients);
    let inserted: u64 = Step::all(parameters).iter().map(Step::inserted_rows).sum();
    // Deleted rows leave space behind that is used again; a quarter of what passes through is kept as slack.
    let rows = parameters.loaded_rows() + inserted.saturating_sub(parameters.rows) / 4 * clients;
    let tables = rows.saturating_mul(BYTES_PER_ROW);
    let wal = configs.filter_map(wal_bytes).max().unwrap_or(0).min(tables.saturating_mul(4));
    let needed = tables.saturating_add(BYTES_BESIDES).saturating_add(wal);
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

/// How much WAL a config lets the server keep.
fn wal_bytes(config: &Config) -> Option<u64> {
    let value = config.value("max_wal_size")?;
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &value[digits.len()..] {
        "kB" => 10,
        "" | "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_shl(unit)
}
