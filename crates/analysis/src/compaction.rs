//! What RocksDB's compaction did during a step, by level.

use std::collections::BTreeSet;

use basecase_model::{Trial, names};

use crate::results::quotient;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// One level of a column family: what it holds at the end of a step, and what compaction into it did during the step.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionLevel {
    /// The column family.
    pub family: String,
    /// The level, e.g. `L1`, or `Sum`.
    pub level: String,
    /// Files at the end.
    pub files: Option<f64>,
    /// Their bytes.
    pub bytes: Option<f64>,
    /// Bytes that compaction read; 0 if it read nothing.
    pub read_bytes: f64,
    /// Bytes that compaction, or on level 0 flushes, wrote.
    pub written_bytes: f64,
    /// Bytes written for each byte that came from the level above, in the sum for each byte that was flushed; `None` if none came.
    pub write_amplification: Option<f64>,
    /// Number of compactions and flushes.
    pub compactions: f64,
    /// Their time, seconds.
    pub seconds: f64,
}

/// How RocksDB held writes back during a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalls {
    /// Time that writers waited, seconds.
    pub seconds: f64,
    /// How often writes were slowed down; absent if the server does not tell.
    pub slowdowns: Option<f64>,
    /// How often writes were stopped.
    pub stops: Option<f64>,
}

/// The levels that hold anything or were written to, in the order of the server; empty for other engines.
pub fn compaction_levels(trial: &Trial) -> Vec<CompactionLevel> {
    let all = trial.counters.iter().chain(trial.gauges.iter());
    let places: BTreeSet<(&str, &str)> = all
        .filter_map(|(name, _)| {
            // The name of a column family may have dots in it.
            let mut parts = name.strip_prefix(names::ROCKSDB_PREFIX)?.rsplitn(3, '.').skip(1);
            let (level, family) = (parts.next()?, parts.next()?);
            Some((family, level))
        })
        .collect();
    let levels = places.into_iter().map(|(family, level)| compaction_level(trial, family, level));
    levels.filter(|level| level.bytes.is_some_and(|bytes| bytes > 0.0) || level.written_bytes > 0.0).collect()
}

fn compaction_level(trial: &Trial, family: &str, level: &str) -> CompactionLevel {
    let name = |level: &str, figure: &str| format!("{}{family}.{level}.{figure}", names::ROCKSDB_PREFIX);
    // Counters that did not move are not stored.
    let counted = |level: &str, figure: &str| trial.counters.get(&name(level, figure)).unwrap_or(0.0);
    let own = |figure: &str| counted(level, figure);
    let came = if level == "sum" { counted("l0", "writegb") } else { own("rngb") };
    CompactionLevel {
        family: family.to_owned(),
        level: if level == "sum" { "Sum".to_owned() } else { level.to_uppercase() },
        files: trial.gauges.get(&name(level, "numfiles")),
        bytes: trial.gauges.get(&name(level, "sizebytes")),
        read_bytes: own("readgb") * GIB,
        written_bytes: own("writegb") * GIB,
        write_amplification: quotient(own("writegb"), came),
        compactions: own("compcount"),
        seconds: own("compsec"),
    }
}

impl Stalls {
    /// Those of a trial; `None` for other engines.
    pub fn of(trial: &Trial) -> Option<Stalls> {
        if compaction_levels(trial).is_empty() {
            return None;
        }
        let counted = |name: &str| trial.counters.get(name);
        Some(Stalls {
            seconds: counted("mysql.rocksdb_stall_micros").unwrap_or(0.0) / 1e6,
            slowdowns: counted("mysql.rocksdb_stall_total_slowdowns"),
            stops: counted("mysql.rocksdb_stall_total_stops"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn levels_tell_what_was_written_for_each_byte_from_above() {
        let mut trial = fixture::empty_trial();
        assert!(compaction_levels(&trial).is_empty() && Stalls::of(&trial).is_none());
        for (name, value) in [
            ("cf.a.l0.writegb", 1.0),
            ("cf.a.l1.writegb", 3.0),
            ("cf.a.l1.rngb", 1.0),
            ("cf.a.l1.readgb", 2.5),
            ("cf.a.sum.writegb", 4.0),
        ] {
            trial.counters.set(&format!("rocksdb.{name}"), value);
        }
        trial.counters.set("mysql.rocksdb_stall_micros", 2_500_000.0);
        for (name, value) in [("l1.numfiles", 2.0), ("l1.sizebytes", 5e6), ("l6.sizebytes", 0.0)] {
            trial.gauges.set(&format!("rocksdb.cf.a.{name}"), value);
        }
        let levels = compaction_levels(&trial);
        let told: Vec<(&str, &str, Option<f64>)> = levels
            .iter()
            .map(|one| (one.family.as_str(), one.level.as_str(), one.write_amplification))
            .collect();
        assert_eq!(told, [("cf.a", "L0", None), ("cf.a", "L1", Some(3.0)), ("cf.a", "Sum", Some(4.0))]);
        assert_eq!((levels[1].files, levels[1].read_bytes), (Some(2.0), 2.5 * GIB));
        assert_eq!(Stalls::of(&trial), Some(Stalls { seconds: 2.5, slowdowns: None, stops: None }));
    }
}
