//! Counts of the statements of one kind.

use serde::{Deserialize, Serialize};

/// How a statement is counted, as sysbench does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatementClass {
    /// Returns rows, or could return rows.
    Read,
    /// Changes rows; counted as [`StatementClass::Other`] if it changed none.
    Write,
    /// Neither, such as BEGIN.
    Other,
}

impl StatementClass {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            StatementClass::Read => "read",
            StatementClass::Write => "write",
            StatementClass::Other => "other",
        }
    }
}

/// Sums over statements that the server executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementCounts {
    /// Statements executed.
    pub executed: u64,
    /// Statements among them that affected no row.
    pub without_effect: u64,
    /// Rows affected, as the server counted them.
    pub affected: u64,
    /// Rows among them that were rolled back, because their transaction was restarted.
    pub undone: u64,
    /// Rows fetched.
    pub fetched: u64,
    /// Replies that were not as expected.
    pub mismatches: u64,
}

impl StatementCounts {
    /// Adds all counts of `other`.
    pub fn add(&mut self, other: &StatementCounts) {
        self.executed += other.executed;
        self.without_effect += other.without_effect;
        self.affected += other.affected;
        self.undone += other.undone;
        self.fetched += other.fetched;
        self.mismatches += other.mismatches;
    }
}

/// The statements of one kind over all roles of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementRecord {
    /// Its name in the workload file, or `begin` or `commit`.
    pub name: String,
    /// How its statements are counted.
    pub class: StatementClass,
    /// In the measured window.
    pub window: StatementCounts,
    /// Before the window, while the step warmed up.
    pub warm_up: StatementCounts,
}

impl StatementRecord {
    /// In the measured window and before it.
    pub fn whole(&self) -> StatementCounts {
        let mut whole = self.window;
        whole.add(&self.warm_up);
        whole
    }

    /// Statements of the measured window that count as `class`: a write that affected no row counts as other.
    pub fn executed_as(&self, class: StatementClass) -> u64 {
        let idle = if self.class == StatementClass::Write { self.window.without_effect } else { 0 };
        let own = if self.class == class { self.window.executed - idle } else { 0 };
        own + if class == StatementClass::Other { idle } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_without_effect_counts_as_other() {
        let window = StatementCounts { executed: 10, without_effect: 4, affected: 6, ..Default::default() };
        let record_of = |class| StatementRecord { name: "delete".into(), class, window, warm_up: window };
        let counts = |class| {
            let record = record_of(class);
            [StatementClass::Read, StatementClass::Write, StatementClass::Other]
                .map(|class| record.executed_as(class))
        };
        assert_eq!(counts(StatementClass::Read), [10, 0, 0]);
        assert_eq!(counts(StatementClass::Write), [0, 6, 4]);
        assert_eq!(counts(StatementClass::Other), [0, 0, 10]);
        assert_eq!(record_of(StatementClass::Read).whole().executed, 20);
    }
}
