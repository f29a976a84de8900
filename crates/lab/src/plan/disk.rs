//! Whether the disk will hold what a run writes.

use std::path::Path;

use anyhow::{Context, Result, bail};
use basecase_model::Dbms;
use basecase_server::{ConfigFile, free_bytes};

use crate::request::Protocol;
use crate::workload::Workload;

/// Bytes on disk for each row with its indexes, measured on Postgres 15 after churn (about 320), rounded up.
const BYTES_PER_ROW: u64 = 400;
/// Bytes that a server takes before it has tables, without its log: about 110 MB of MySQL 8.0.
const BYTES_OF_SERVER: u64 = 128 << 20;
/// The whole data of each candidate while it is counted: what images are made of, and what a server runs on for each of two processors.
const WHOLE_OF_COUNTS: u64 = 3;
/// Bytes for logs, WAL and everything else that a small database needs.
const BYTES_BESIDES: u64 = 1 << 30;

/// How many copies of each candidate's tables are on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    /// Candidates run one after the other, and each is removed when it is done: the largest counts.
    OneAtATime,
    /// All candidates have this many at the same time.
    Each(u64),
    /// All candidates have this many images without the zeros of their logs. Beside them are whole data as [`WHOLE_OF_COUNTS`] says.
    Images(u64),
}

impl Copies {
    /// In rounds that begin with an image of the data, the image and the copy that a server runs on.
    pub(crate) fn of(protocol: &Protocol, workload: &dyn Workload) -> Copies {
        match protocol {
            Protocol::Classic => Copies::OneAtATime,
            Protocol::Counts(_) => {
                Copies::Images(if workload.is_chain() { workload.outlines().len() as u64 } else { 1 })
            }
            Protocol::Rounds(_) if workload.is_chain() => Copies::Each(1),
            Protocol::Rounds(_) => Copies::Each(2),
        }
    }

    /// How many there are of each candidate's data at the same time; `None` if candidates run one after the other.
    pub(crate) fn at_once(self) -> Option<u64> {
        match self {
            Copies::OneAtATime => None,
            Copies::Each(copies) => Some(copies),
            Copies::Images(images) => Some(images + WHOLE_OF_COUNTS),
        }
    }
}

/// Bytes that the tables of a candidate take at most.
pub(crate) fn tables_bytes(workload: &dyn Workload) -> u64 {
    workload.rows_on_disk().saturating_mul(BYTES_PER_ROW)
}

/// Bytes on a disk.
pub(crate) struct Room {
    /// What a run needs at most.
    pub(crate) needed: u64,
    pub(crate) free: u64,
}

/// What a run needs of the disk under `data`, and what there is.
pub(crate) fn room<'a>(
    workload: &dyn Workload,
    configs: impl Iterator<Item = &'a ConfigFile>,
    copies: Copies,
    data: &Path,
) -> Result<Room> {
    let needed = needed_bytes(tables_bytes(workload), configs, copies);
    let free =
        free_bytes(data).with_context(|| format!("cannot read the free space under {}", data.display()))?;
    Ok(Room { needed, free })
}

/// Refuses a run that the disk under `data` will not hold.
pub(crate) fn check<'a>(
    workload: &dyn Workload,
    configs: impl Iterator<Item = &'a ConfigFile>,
    copies: Copies,
    data: &Path,
) -> Result<()> {
    let Room { needed, free } = room(workload, configs, copies, data)?;
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

/// What candidates with these configs take, with logs.
fn needed_bytes<'a>(tables: u64, configs: impl Iterator<Item = &'a ConfigFile>, copies: Copies) -> u64 {
    let sum = |one: u64, other: u64| one.saturating_add(other);
    let each = configs.map(|file| (log_bytes(file, tables), tables));
    let whole = |(log, tables)| sum(tables, log);
    let all = match copies {
        Copies::OneAtATime => each.map(whole).max().unwrap_or(tables),
        Copies::Each(times) => each.map(whole).fold(0, sum).saturating_mul(times),
        Copies::Images(images) => {
            let image = |(log, tables)| sum(sum(tables, written_log_bytes(tables).min(log)), BYTES_OF_SERVER);
            let data =
                |data| sum(whole(data).saturating_mul(WHOLE_OF_COUNTS), image(data).saturating_mul(images));
            each.map(data).fold(0, sum)
        }
    };
    all.saturating_add(BYTES_BESIDES)
}

/// How much log is written for tables of that size, about.
fn written_log_bytes(tables: u64) -> u64 {
    tables.saturating_mul(4)
}

/// How much log a config lets the server keep beside tables of that size, in the version for which that is most.
fn log_bytes(file: &ConfigFile, tables: u64) -> u64 {
    let largest = |name: &'static str| file.values(name).filter_map(bytes).max().unwrap_or(0);
    let written = written_log_bytes(tables);
    match file.dbms() {
        Dbms::Postgres => largest("max_wal_size").min(written),
        Dbms::Mysql | Dbms::Mariadb => {
            let files =
                file.values("innodb_log_files_in_group").filter_map(|value| value.parse::<u64>().ok());
            let redo = largest("innodb_redo_log_capacity")
                .max(largest("innodb_log_file_size").saturating_mul(files.max().unwrap_or(2)));
            // MySQL up to 5.7 writes its whole redo log at once, however small the tables are.
            redo.min(written.max(4 << 30))
        }
        Dbms::Sqlite => 0,
    }
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

#[cfg(test)]
mod tests {
    use basecase_server::Host;

    use super::*;

    #[test]
    fn candidates_that_are_there_at_the_same_time_need_room_for_all() {
        let config = |dbms, text| ConfigFile::parse(dbms, "own", "own.conf", text, Host::detect()).unwrap();
        let postgres = config(Dbms::Postgres, "max_wal_size = 8GB\n");
        let mysql = config(Dbms::Mysql, "innodb_log_file_size = 1G\ninnodb_log_files_in_group = 4\n");
        let needed = |tables_gib: u64, copies| {
            needed_bytes(tables_gib << 30, [&postgres, &mysql].into_iter(), copies) >> 30
        };
        assert_eq!(needed(10, Copies::OneAtATime), 10 + 8 + 1, "the larger log");
        assert_eq!(needed(10, Copies::Each(1)), (10 + 8) + (10 + 4) + 1);
        assert_eq!(needed(1, Copies::Each(1)), (1 + 4) + (1 + 4) + 1, "a small table writes little");
        assert_eq!(needed(1, Copies::Each(2)), 2 * ((1 + 4) + (1 + 4)) + 1);
        let counted = needed(1, Copies::Images(8));
        assert_eq!(counted, 2 * (3 * 5 + 8 * 5) + 2 + 1, "what is written is in each image");
        let small = needed_bytes(1 << 20, [&mysql].into_iter(), Copies::Images(8));
        assert_eq!(small >> 30, 3 * 4 + 1 + 1, "and zeros are in none");
        assert_eq!(needed_bytes(1 << 30, std::iter::empty(), Copies::OneAtATime) >> 30, 2);
    }
}
