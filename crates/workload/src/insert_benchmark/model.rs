//! The expected content of the tables after each step, by arithmetic alone.

use std::collections::VecDeque;

use super::statements::INDEXES;
use super::{InsertBenchmarkParameters, InsertBenchmarkStep, SEQUENCE_CACHE, StepKind, table_name};
use crate::Dialect;

/// The expected content of one table: the ids present, as ascending ranges with both ends included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableModel {
    ranges: VecDeque<(i64, i64)>,
    last_value: i64,
    secondary_indexes: u64,
}

impl TableModel {
    /// Rows present.
    pub fn rows(&self) -> u64 {
        self.ranges.iter().map(|(low, high)| (high - low + 1) as u64).sum()
    }

    /// Smallest id present.
    pub fn min_id(&self) -> Option<i64> {
        self.ranges.front().map(|range| range.0)
    }

    /// Largest id present.
    pub fn max_id(&self) -> Option<i64> {
        self.ranges.back().map(|range| range.1)
    }

    /// Last value that the sequence handed out.
    pub fn last_value(&self) -> i64 {
        self.last_value
    }

    /// Secondary indexes present.
    pub fn secondary_indexes(&self) -> u64 {
        self.secondary_indexes
    }

    /// Share of the ids between the smallest and the largest that are present; 1 for an empty table.
    pub fn density(&self) -> f64 {
        match (self.min_id(), self.max_id()) {
            (Some(low), Some(high)) => self.rows() as f64 / (high - low + 1) as f64,
            _ => 1.0,
        }
    }

    /// One session inserts `rows` rows, taking ids from the sequence in blocks of `cache`.
    fn insert(&mut self, rows: u64, cache: i64) {
        let rows = rows as i64;
        let (low, high) = (self.last_value + 1, self.last_value + rows);
        match self.ranges.back_mut() {
            Some(last) if last.1 + 1 == low => last.1 = high,
            _ => self.ranges.push_back((low, high)),
        }
        self.last_value += (rows + cache - 1) / cache * cache;
    }

    /// Deletes the `rows` smallest ids.
    fn delete(&mut self, rows: u64) {
        let mut left = rows as i64;
        while let Some((low, high)) = self.ranges.front_mut() {
            let present = *high - *low + 1;
            if present > left {
                *low += left;
                return;
            }
            left -= present;
            self.ranges.pop_front();
        }
    }
}

/// The expected content of all tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    tables: Vec<TableModel>,
    cache: i64,
}

impl Model {
    /// Before the first step.
    pub fn new(parameters: &InsertBenchmarkParameters, dialect: Dialect) -> Self {
        let cache = match dialect {
            Dialect::Postgres => SEQUENCE_CACHE,
            // InnoDB hands out exactly as many ids as the statement has rows, whatever `innodb_autoinc_lock_mode` is.
            Dialect::Mysql(_) | Dialect::Sqlite => 1,
        };
        Model { tables: vec![TableModel::default(); parameters.clients as usize], cache }
    }

    /// The content after `step` has run on the current content.
    pub fn apply(&mut self, step: &InsertBenchmarkStep) {
        for table in &mut self.tables {
            if step.kind == StepKind::Load {
                *table = TableModel::default();
            }
            table.insert(step.inserted_rows(), self.cache);
            if step.kind == StepKind::Index {
                table.secondary_indexes = INDEXES.len() as u64;
            }
            if step.deletes() {
                table.delete(step.inserted_rows());
            }
        }
    }

    /// The tables with their names, in client order.
    pub fn tables(&self) -> impl Iterator<Item = (String, &TableModel)> {
        (1..).zip(&self.tables).map(|(client, table)| (table_name(client), table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insert_benchmark::PRESETS;

    fn worked_example(dialect: Dialect) -> Vec<(u64, i64, i64, i64)> {
        let parameters = InsertBenchmarkParameters {
            rows: 20_000,
            writes: 10_000,
            li1_rows: None,
            seconds: 10,
            ..PRESETS[0].parameters()
        };
        let mut model = Model::new(&parameters, dialect);
        InsertBenchmarkStep::all(&parameters)
            .iter()
            .map(|step| {
                model.apply(step);
                let table = &model.tables[0];
                (table.rows(), table.min_id().unwrap(), table.max_id().unwrap(), table.last_value())
            })
            .collect()
    }

    #[test]
    fn postgres_has_the_gap_of_the_worked_example() {
        let expected = [
            (20000, 1, 20000, 20000),
            (20100, 1, 20100, 21000),
            (20100, 8001, 29000, 29000),
            (20100, 10001, 31000, 31000),
            (20100, 11001, 32000, 32000),
            (20100, 12001, 33000, 33000),
            (20100, 17001, 38000, 38000),
            (20100, 22901, 43000, 43000),
            (20100, 32901, 53000, 53000),
            (20100, 42901, 63000, 63000),
        ];
        assert_eq!(worked_example(Dialect::Postgres), expected);
    }

    #[test]
    fn indexes_are_there_from_l_x_on() {
        let parameters = PRESETS[0].parameters();
        let mut model = Model::new(&parameters, Dialect::Postgres);
        let indexes: Vec<u64> = InsertBenchmarkStep::all(&parameters)
            .iter()
            .map(|step| {
                model.apply(step);
                model.tables[0].secondary_indexes()
            })
            .collect();
        assert_eq!(indexes, [0, 3, 3, 3, 3, 3, 3, 3, 3, 3]);
    }

    #[test]
    fn a_dbms_without_gaps_has_none() {
        let ids: Vec<(i64, i64)> =
            worked_example(Dialect::Sqlite).into_iter().map(|(_, low, high, _)| (low, high)).collect();
        let low = [1, 1, 8001, 10001, 11001, 12001, 17001, 22001, 32001, 42001];
        let high = [20000, 20100, 28100, 30100, 31100, 32100, 37100, 42100, 52100, 62100];
        assert_eq!(ids, low.into_iter().zip(high).collect::<Vec<_>>());
    }

    proptest::proptest! {
        /// The ranges agree with a set of ids that is changed one id at a time.
        #[test]
        fn ranges_agree_with_a_plain_set(moves in proptest::collection::vec((1u64..300, 0u64..300), 1..20)) {
            let mut table = TableModel::default();
            let mut ids = std::collections::BTreeSet::new();
            let mut last = 0i64;
            for (inserted, deleted) in moves {
                table.insert(inserted, 100);
                ids.extend(last + 1..=last + inserted as i64);
                last += (inserted.div_ceil(100) * 100) as i64;
                table.delete(deleted);
                for _ in 0..deleted {
                    ids.pop_first();
                }
                proptest::prop_assert_eq!(table.rows(), ids.len() as u64);
                proptest::prop_assert_eq!(table.min_id(), ids.first().copied());
                proptest::prop_assert_eq!(table.max_id(), ids.last().copied());
                proptest::prop_assert_eq!(table.last_value(), last);
            }
        }
    }
}
