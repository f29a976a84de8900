//! What a database holds, and whether that is correct.

use serde::{Deserialize, Serialize};

/// What one table holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableState {
    /// Name of the table.
    pub table: String,
    /// Number of rows; `None` if counting them would disturb what is measured next.
    pub rows: Option<u64>,
    /// Smallest primary key; `None` for an empty table.
    pub min_id: Option<i64>,
    /// Largest primary key; `None` for an empty table.
    pub max_id: Option<i64>,
    /// The sequence's last value, if the dbms has one.
    pub last_value: Option<i64>,
}

/// What all tables of a workload hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The tables in client order.
    pub tables: Vec<TableState>,
}

/// One comparison of an expected value with the actual one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What is compared, e.g. `pi1 rows`.
    pub name: String,
    /// The expected value, from the model or the client's own count.
    pub expected: String,
    /// The actual value, from the server.
    pub actual: String,
    /// Whether they agree.
    pub passed: bool,
}

impl Check {
    /// A comparison for equality.
    pub fn equal<T: PartialEq + ToString>(name: impl Into<String>, expected: &T, actual: &T) -> Self {
        Check {
            name: name.into(),
            expected: expected.to_string(),
            actual: actual.to_string(),
            passed: expected == actual,
        }
    }
}
